/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#define VALIDATION_STEPS 4

uint32_t grains_at(const sim_world *world, sh_position position)
{
    if (position.phase == SH_PHASE_VALIDATION || position.steps >= world->step_count)
        return 0;
    const bool short_batch = position.steps % VALIDATION_STEPS == VALIDATION_STEPS - 1;
    return short_batch ? world->grains / 2 + 1 : world->grains;
}

uint32_t full_mask(uint32_t grains)
{
    return grains >= 32 ? UINT32_MAX : (1u << grains) - 1;
}

bool is_redo(const sim_world *world, sh_position position)
{
    return position.phase < 3 && mix(mix(world->seed, position.steps), position.phase) % 6 == 0;
}

uint64_t contribution(uint64_t weights, sh_position position, uint32_t grain)
{
    return mix(mix(weights, position.steps * 8 + position.phase), grain);
}

uint64_t weights_of(const sim_replica *replica)
{
    uint64_t weights = replica->base;
    for (uint32_t i = 0; i < STRIPES; i++)
        weights += replica->flips[i] * (2 * i + 3);
    return weights;
}

sh_position after(const sim_world *world, sh_position position, bool redo, bool *finished)
{
    *finished = false;
    if (position.phase == SH_PHASE_VALIDATION) {
        *finished = position.steps >= world->step_count;
        return (sh_position){position.steps, SH_PHASE_FIRST};
    }
    if (redo)
        return (sh_position){position.steps, position.phase + 1};
    const uint64_t steps = position.steps + 1;
    const bool due = steps % VALIDATION_STEPS == 0 || steps == world->step_count;
    return (sh_position){steps, due ? SH_PHASE_VALIDATION : SH_PHASE_FIRST};
}

void make_reference(sim_world *world)
{
    world->reference[0] = mix(world->seed, 1);
    for (uint64_t steps = 0; steps < world->step_count; steps++) {
        sh_position position = {steps, SH_PHASE_FIRST};
        uint64_t sum = 0;
        while (is_redo(world, position))
            position.phase++;
        for (uint32_t grain = 0; grain < grains_at(world, position); grain++)
            sum += contribution(world->reference[steps], position, grain);
        world->reference[steps + 1] = mix(world->reference[steps], sum);
    }
}

sh_ranges ranges_of(uint32_t mask)
{
    sh_ranges ranges = {0};
    for (uint32_t i = 0; i < 32; i++)
        if (mask >> i & 1)
            (void)sh_ranges_add(&ranges, (sh_range){i, 1});
    return ranges;
}

uint32_t mask_of(const sh_ranges *ranges)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        for (uint32_t j = 0; j < ranges->items[i].count; j++)
            mask |= 1u << ((ranges->items[i].first + j) & 31);
    return mask;
}
