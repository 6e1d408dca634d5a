/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test starts itself with mpirun, once for every number of ranks, and each rank checks every
 * sum.
 */
#include "reduce/mpi.h"
#include "reduce/words.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"

#define MAX_RANKS 5
#define SPANS 4
#define ROUNDS 4
#define WORDS_MOST 70001

static const size_t lengths[SPANS] = {0, 1, 5, WORDS_MOST}; /* the U64 span after them has 7 */

typedef struct world {
    sh_engine *engine;
    uint32_t rank, ranks, round;
    uint32_t *narrow[SPANS]; /* own words, then the total */
    uint64_t wide[2 * 7];
    sh_span spans[SPANS + 1];
} world;

static uint64_t word_of(uint32_t rank, uint32_t round, uint32_t span, size_t i)
{
    const uint64_t which = (rank * 16u + round) * 16u + span + 1;
    const uint64_t word = which * 0x9e3779b97f4a7c15u + (i + 1) * 0xc2b2ae3d27d4eb4fu;
    return (word ^ word >> 29) * 0xbf58476d1ce4e5b9u;
}

static uint64_t sum_of(const world *w, uint32_t round, uint32_t span, size_t i)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < w->ranks; r++)
        sum += word_of(r, round, span, i);
    return sum;
}

static sh_word kind_of(uint32_t round, uint32_t span)
{
    static const sh_word narrow[] = {SH_WORD_I32, SH_WORD_I16, SH_WORD_I8};
    return span == SPANS ? SH_WORD_U64 : narrow[(round + span) % 3];
}

static uint64_t get(const void *words, sh_word word, size_t i)
{
    switch (word) {
    case SH_WORD_I8:
        return ((const uint8_t *)words)[i];
    case SH_WORD_I16:
        return ((const uint16_t *)words)[i];
    case SH_WORD_I32:
        return ((const uint32_t *)words)[i];
    case SH_WORD_U64:
        break;
    }
    return ((const uint64_t *)words)[i];
}

static void put(void *words, sh_word word, size_t i, uint64_t value)
{
    switch (word) {
    case SH_WORD_I8:
        ((uint8_t *)words)[i] = (uint8_t)value;
        break;
    case SH_WORD_I16:
        ((uint16_t *)words)[i] = (uint16_t)value;
        break;
    case SH_WORD_I32:
        ((uint32_t *)words)[i] = (uint32_t)value;
        break;
    case SH_WORD_U64:
        ((uint64_t *)words)[i] = value;
        break;
    }
}

static uint64_t cut(uint64_t value, sh_word word)
{
    return value & UINT64_MAX >> (64 - 8 * sh_words_bytes(word));
}

/* Uses the last round's memory, which must not be read before a span is ready. */
static void lay_out(world *w)
{
    const bool alone = w->ranks == 1;
    for (uint32_t s = 0; s < SPANS; s++) {
        const sh_word word = kind_of(w->round, s);
        unsigned char *own = (unsigned char *)w->narrow[s];
        w->spans[s] = (sh_span){.own = own,
                                .total = own + (alone ? 0 : lengths[s] * sh_words_bytes(word)),
                                .count = lengths[s],
                                .word = word};
    }
    w->spans[SPANS] = (sh_span){
        .own = w->wide, .total = w->wide + (alone ? 0 : 7), .count = 7, .word = SH_WORD_U64};
}

static void make_ready(world *w, uint32_t span)
{
    void *own = span < SPANS ? (void *)w->narrow[span] : (void *)w->wide;
    for (size_t i = 0; i < w->spans[span].count; i++)
        put(own, w->spans[span].word, i, word_of(w->rank, w->round, span, i));
    sh_engine_ready(w->engine, span);
}

static void check(const world *w, uint32_t round)
{
    for (uint32_t s = 0; s <= SPANS; s++)
        for (size_t i = 0; i < w->spans[s].count; i++) {
            const sh_span *span = &w->spans[s];
            if (get(span->total, span->word, i) != cut(sum_of(w, round, s, i), span->word))
                fail_msg("%u ranks, span %u, word %zu of %zu", w->ranks, s, i, span->count);
            if (w->ranks > 1)
                assert_true(get(span->own, span->word, i) ==
                            cut(word_of(w->rank, round, s, i), span->word));
        }
}

static void *make_odd_ready(void *context)
{
    for (uint32_t s = 1; s <= SPANS; s += 2)
        make_ready(context, s);
    return NULL;
}

static void run_round(world *w, uint32_t round)
{
    pthread_t lane;
    w->round = round;
    lay_out(w);
    assert_ok(sh_engine_begin(w->engine, w->spans, SPANS + 1));
    assert_int_equal(pthread_create(&lane, NULL, make_odd_ready, w), 0);
    for (uint32_t i = 0; i <= SPANS; i += 2)
        make_ready(w, (w->rank + round) % 2 == 0 ? i : SPANS - i);
    assert_ok(sh_engine_wait(w->engine));
    pthread_join(lane, NULL);
    check(w, round);
}

static void ranks_add_up(void **state)
{
    sh_engine *again;
    uint32_t rank;
    world w = {.rank = 0};
    (void)state;
    assert_ok(sh_mpi_open(&w.engine, &w.rank));
    w.ranks = w.engine->devices;
    assert_int_equal(w.ranks, strtoul(getenv("MPI_TEST_RANKS"), NULL, 10));
    assert_int_equal(w.rank, strtoul(getenv("OMPI_COMM_WORLD_RANK"), NULL, 10));
    assert_fails(sh_mpi_open(&again, &rank), SH_INVALID, "once in a process");
    for (uint32_t s = 0; s < SPANS; s++)
        assert_non_null(w.narrow[s] = calloc(2 * lengths[s] + 1, sizeof(uint32_t)));
    for (uint32_t round = 0; round < ROUNDS; round++)
        run_round(&w, round);
    sh_engine_close(w.engine);
    for (uint32_t s = 0; s < SPANS; s++)
        free(w.narrow[s]);
}

/* Rank 0 waits for idle ranks until it is aborted. */
static void a_round_is_given_up(void **state)
{
    sh_engine *engine;
    uint32_t rank;
    uint64_t words[2] = {1, 0};
    const sh_span span = {.own = words, .total = words + 1, .count = 1, .word = SH_WORD_U64};
    (void)state;
    signal(SIGTERM, SIG_IGN); /* from mpirun if the other rank exits first */
    assert_ok(sh_mpi_open(&engine, &rank));
    if (rank == 0) {
        assert_ok(sh_engine_begin(engine, &span, 1));
        sh_engine_ready(engine, 0);
    }
    sh_engine_abort(engine, SH_STOPPED, "enough of it");
    sh_engine_abort(engine, SH_INTERNAL, "the first reason stays");
    if (rank == 0)
        assert_fails(sh_engine_wait(engine), SH_STOPPED, "enough of it");
    sh_engine_close(engine);
    printf("gave up\n");
    fflush(stdout);
    _exit(0); /* without finalizing */
}

static void one_leaves_in_haste(void **state)
{
    sh_engine *engine;
    uint32_t rank;
    (void)state;
    assert_ok(sh_mpi_open(&engine, &rank));
    if (rank == 1)
        pause(); /* until mpirun ends it */
    sh_mpi_close_within(engine, 10);
    printf("left in haste\n");
    fflush(stdout);
    _exit(0);
}

static bool has_mpirun(void)
{
    return system("command -v mpirun >/dev/null 2>&1") == 0;
}

/* Runs a part of the test. Returns the number of output lines with `word`. */
static int count_lines(uint32_t ranks, const char *part, const char *word)
{
    char self[1024], command[2048], line[1024];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int count = 0;
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "MPI_TEST_PART=%s MPI_TEST_RANKS=%u mpirun -n %u '%s' 2>&1",
             part, ranks, ranks, self);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    while (fgets(line, sizeof line, output) != NULL) {
        printf("%s", line);
        count += strstr(line, word) != NULL;
    }
    pclose(output); /* not checked: mpirun fails if ranks gave up */
    return count;
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    if (!has_mpirun())
        skip_because("the command mpirun is missing");
    for (uint32_t ranks = 1; ranks <= MAX_RANKS; ranks++)
        assert_int_equal(count_lines(ranks, "sums", "[  PASSED  ] 1 test"), ranks);
}

static void given_up(void **state)
{
    (void)state;
    if (!has_mpirun())
        skip_because("the command mpirun is missing");
    assert_int_equal(count_lines(2, "given-up", "gave up"), 2);
}

static void left_in_haste(void **state)
{
    (void)state;
    if (!has_mpirun())
        skip_because("the command mpirun is missing");
    assert_int_equal(count_lines(2, "haste", "left in haste"), 1);
    assert_int_equal(count_lines(1, "haste", "left in haste"), 1);
}

int main(void)
{
    const char *part = getenv("MPI_TEST_PART");
    const struct CMUnitTest sums[] = {cmocka_unit_test(ranks_add_up)};
    const struct CMUnitTest aborts[] = {cmocka_unit_test(a_round_is_given_up)};
    const struct CMUnitTest haste[] = {cmocka_unit_test(one_leaves_in_haste)};
    const struct CMUnitTest all[] = {
        cmocka_unit_test(any_number_of_ranks),
        cmocka_unit_test(given_up),
        cmocka_unit_test(left_in_haste),
    };
    if (part != NULL && strcmp(part, "sums") == 0)
        return cmocka_run_group_tests(sums, NULL, NULL);
    if (part != NULL && strcmp(part, "haste") == 0)
        return cmocka_run_group_tests(haste, NULL, NULL);
    if (part != NULL)
        return cmocka_run_group_tests(aborts, NULL, NULL);
    /* Stays on this machine, and allows root and few cores. */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    setenv("OMPI_MCA_btl", "self,vader", 1);
    setenv("OMPI_MCA_oob_tcp_if_include", "lo", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* ignores the library's leaks */
    return cmocka_run_group_tests(all, NULL, NULL);
}
