/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_world.h"

static const char usage[] = "usage: cluster_sim [--first SEED] [--seeds N] [--trace]\n";

static const char *const counted[] = {
    "stages passed",   "left", "replicas taken", "bits flipped", "coordinators killed",
    "machines killed", "hung"};

int main(int argc, char **argv)
{
    unsigned long long first = 1, seeds = 1000;
    uint64_t counts[8] = {0};
    bool trace = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0) {
            trace = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--first") == 0) {
            first = strtoull(argv[++i], NULL, 10);
        } else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0) {
            seeds = strtoull(argv[++i], NULL, 10);
        } else {
            fputs(usage, stderr);
            return 2;
        }
    }
    for (unsigned long long seed = first; seed < first + seeds; seed++) {
        sim_world *world = world_new(seed, trace);
        if (world == NULL)
            return 1;
        const char *broken = world_run(world);
        if (broken != NULL) {
            printf(
                "seed %llu broke %s after %.3f ms: %s\nagain: %s --first %llu --seeds 1 --trace\n",
                seed, broken, (double)world->now_us / 1e3, world->detail, argv[0], seed);
            return 1;
        }
        for (int i = 0; i < 8; i++)
            counts[i] += world->counts[i];
        sh_membership_free(world->membership);
        free(world);
    }
    printf("%llu seeds hold", seeds);
    for (int i = 0; i < 7; i++)
        printf("%s %llu %s", i == 0 ? ":" : ",", (unsigned long long)counts[i], counted[i]);
    printf("\n");
    return 0;
}
