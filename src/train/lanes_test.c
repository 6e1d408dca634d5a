/* SPDX-License-Identifier: Apache-2.0 */
#include "train/lanes.h"

#include <stdlib.h>

#include "base/test.h"

#define TENSORS 4
#define MOST_LANES 5

static float w1[4 * 12], b1[4], w2[3 * 4], b2[3];
static float *const parameters[TENSORS] = {w1, b1, w2, b2};

static const sh_lane_size some_sizes[] = {
    {SH_MODEL_TRAIN, 8},    {SH_MODEL_TRAIN, 3}, {SH_MODEL_TRAIN, 8}, {SH_MODEL_EVALUATE, 0},
    {SH_MODEL_EVALUATE, 8}, {SH_MODEL_TRAIN, 0}, {SH_MODEL_TRAIN, 3},
};

static sh_lanes_options some_options(const sh_kernels *kernels, uint32_t count)
{
    for (size_t i = 0; i < sizeof w1 / sizeof *w1; i++)
        w1[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < sizeof w2 / sizeof *w2; i++)
        w2[i] = (float)(i % 5) - 2;
    return (sh_lanes_options){
        .model = {.spec = "mlp:12-4-3", .problem = {1, 3, 4, 3, SH_TARGET_CLASS}},
        .kernels = kernels,
        .parameters = parameters,
        .count = count,
        .sizes = some_sizes,
        .size_count = sizeof some_sizes / sizeof *some_sizes,
    };
}

static const sh_kernels *best(void)
{
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    return kernels;
}

static void what_was_announced_is_ready_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        sh_model_mode mode;
        uint32_t samples;
        bool ready;
    } asked[] = {
        {SH_MODEL_TRAIN, 8, true},     {SH_MODEL_TRAIN, 3, true},  {SH_MODEL_EVALUATE, 8, true},
        {SH_MODEL_EVALUATE, 3, false}, {SH_MODEL_TRAIN, 0, false}, {SH_MODEL_EVALUATE, 0, false},
        {SH_MODEL_TRAIN, 9, false},
    };
    const sh_kernels *kernels = best();
    for (uint32_t count = 1; count <= MOST_LANES; count += 2) {
        sh_lanes *lanes = NULL;
        const sh_lanes_options options = some_options(kernels, count);
        assert_ok(sh_lanes_new(&lanes, &options));
        assert_int_equal(sh_lanes_count(lanes), count);
        assert_int_equal(sh_team_size(sh_lanes_team(lanes)), count);
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
            for (uint32_t lane = 0; lane < count; lane++) {
                sh_execution *execution =
                    sh_lanes_execution(lanes, lane, asked[i].mode, asked[i].samples);
                assert_int_equal(execution != NULL, asked[i].ready);
                for (uint32_t other = 0; execution != NULL && other < lane; other++)
                    assert_ptr_not_equal(execution, sh_lanes_execution(lanes, other, asked[i].mode,
                                                                       asked[i].samples));
            }
        sh_lanes_free(lanes);
    }
    sh_lanes_free(NULL);
}

static void bytes_are_those_of_the_largest_programs(void **state)
{
    (void)state;
    static const sh_lane_size repeated[] = {
        {SH_MODEL_TRAIN, 8}, {SH_MODEL_TRAIN, 8}, {SH_MODEL_EVALUATE, 0}, {SH_MODEL_TRAIN, 8}};
    static float weights[500 * 800]; /* as the largest tensor; nothing is computed */
    static float *const lenet[] = {weights, weights, weights, weights,
                                   weights, weights, weights, weights};
    const sh_kernels *kernels = best();
    sh_lanes_options options = some_options(kernels, 1);
    sh_lanes *lanes = NULL;
    size_t bytes[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        options.count = 1 + i;
        assert_ok(sh_lanes_new(&lanes, &options));
        bytes[i] = sh_lanes_bytes(lanes);
        sh_lanes_free(lanes);
    }
    const size_t lane_bytes = bytes[1] - bytes[0];
    assert_int_equal(bytes[2] - bytes[1], lane_bytes);
    assert_in_range(lane_bytes, (8 * 12 + 8 * 4 + 8 * 3) * sizeof(float), bytes[0]);

    options = (sh_lanes_options){
        .model = {.spec = "lenet", .problem = {1, 28, 28, 10, SH_TARGET_CLASS}},
        .kernels = kernels,
        .parameters = lenet,
        .count = 1,
        .sizes = repeated,
        .size_count = 1,
    };
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(sh_lanes_new(&lanes, &options));
        bytes[i] = sh_lanes_bytes(lanes);
        sh_lanes_free(lanes);
        options.size_count = sizeof repeated / sizeof *repeated;
    }
    assert_int_equal(bytes[0], bytes[1]);
}

typedef struct results {
    const sh_lanes *lanes;
    float loss[MOST_LANES][8];
    float gradients[MOST_LANES];
    sh_status status[MOST_LANES];
} results;

static void add_gradient(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    *(float *)context += (float)(parameter + 1) * gradient->values[0];
}

/* Each lane has samples of its own: (lane + 1) / 8. */
static void compute(void *context, uint32_t lane)
{
    results *r = context;
    sh_execution *execution = sh_lanes_execution(r->lanes, lane, SH_MODEL_TRAIN, 8);
    float *samples = sh_execution_input(execution, 0), *scale = sh_execution_input(execution, 2);
    int32_t *labels = sh_execution_input(execution, 1);
    for (size_t i = 0; i < (size_t)8 * 12; i++)
        samples[i] = (float)(lane + 1) / 8;
    for (int i = 0; i < 8; i++) {
        labels[i] = i % 3;
        scale[i] = 0.125f;
    }
    r->status[lane] = sh_execution_run(execution, add_gradient, &r->gradients[lane]);
    memcpy(r->loss[lane], sh_execution_output(execution, 0), sizeof r->loss[lane]);
}

static void lanes_do_not_disturb_each_other(void **state)
{
    (void)state;
    sh_lanes *lanes = NULL;
    results together = {0}, apart = {0};
    const sh_kernels *kernels = best();
    const sh_lanes_options options = some_options(kernels, MOST_LANES);
    assert_ok(sh_lanes_new(&lanes, &options));
    assert_ok(sh_execution_prepare(sh_lanes_execution(lanes, 0, SH_MODEL_TRAIN, 8)));
    together.lanes = apart.lanes = lanes;
    for (uint32_t lane = 0; lane < MOST_LANES; lane++)
        compute(&apart, lane);
    for (int turn = 0; turn < 20; turn++) {
        memset(together.gradients, 0, sizeof together.gradients);
        sh_team_run(sh_lanes_team(lanes), compute, &together);
        for (uint32_t lane = 0; lane < MOST_LANES; lane++) {
            assert_int_equal(together.status[lane], SH_OK);
            assert_memory_equal(together.loss[lane], apart.loss[lane], sizeof apart.loss[lane]);
            assert_true(together.gradients[lane] == apart.gradients[lane]);
        }
    }
    assert_true(apart.loss[0][0] != apart.loss[1][0]); /* so the test can fail */
    sh_lanes_free(lanes);
}

static void progress_is_what_lanes_do(void **state)
{
    (void)state;
    sh_lanes *lanes = NULL;
    results r = {0};
    const sh_lanes_options options = some_options(best(), 2);
    assert_ok(sh_lanes_new(&lanes, &options));
    r.lanes = lanes;
    assert_int_equal(sh_lanes_progress(lanes), 0);
    assert_ok(sh_execution_prepare(sh_lanes_execution(lanes, 0, SH_MODEL_TRAIN, 8)));
    const uint64_t prepared = sh_lanes_progress(lanes);
    compute(&r, 0);
    const uint64_t of_one = sh_lanes_progress(lanes) - prepared;
    assert_in_range(of_one, 8, 1000);
    compute(&r, 1);
    compute(&r, 0);
    assert_int_equal(sh_lanes_progress(lanes), prepared + 3 * of_one);
    sh_lanes_note_turn(lanes);
    assert_int_equal(sh_lanes_progress(lanes), prepared + 3 * of_one + 1);

    assert_false(sh_lanes_are_reading(lanes));
    sh_lanes_begin_reading(lanes);
    sh_lanes_begin_reading(lanes);
    sh_lanes_end_reading(lanes);
    assert_true(sh_lanes_are_reading(lanes));
    sh_lanes_end_reading(lanes);
    assert_false(sh_lanes_are_reading(lanes));
    sh_lanes_free(lanes);
}

/* The lane prepares and uses them, and the footprint includes its memory. */
static void a_lane_may_have_weights_of_its_own(void **state)
{
    (void)state;
    enum { LANES = 3 };
    static float copies[LANES][4 * 12];
    static float *sets[LANES][TENSORS];
    float *const *own[LANES];
    sh_lanes *lanes = NULL;
    results apart = {0}, common = {0};
    const sh_kernels *kernels = best();
    sh_lanes_options options = some_options(kernels, LANES);
    assert_ok(sh_lanes_new(&lanes, &options));
    const sh_footprint shared = *sh_lanes_footprint(lanes);
    common.lanes = lanes;
    assert_ok(sh_execution_prepare(sh_lanes_execution(lanes, 0, SH_MODEL_TRAIN, 8)));
    for (uint32_t lane = 0; lane < LANES; lane++)
        compute(&common, lane);
    sh_lanes_free(lanes);

    for (uint32_t lane = 0; lane < LANES; lane++) {
        memcpy(sets[lane], parameters, sizeof parameters);
        sets[lane][0] = copies[lane];
        own[lane] = sets[lane];
    }
    options.own = own;
    options.own_bytes = 1000;
    assert_ok(sh_lanes_new(&lanes, &options));
    apart.lanes = lanes;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        for (size_t i = 0; i < sizeof w1 / sizeof *w1; i++)
            copies[lane][i] = lane == 1 ? w1[i] : -w1[i];
        assert_ok(sh_execution_prepare(sh_lanes_execution(lanes, lane, SH_MODEL_TRAIN, 8)));
    }
    for (uint32_t lane = 0; lane < LANES; lane++)
        compute(&apart, lane);
    assert_memory_equal(apart.loss[1], common.loss[1], sizeof apart.loss[1]);
    assert_memory_not_equal(apart.loss[0], common.loss[0], sizeof apart.loss[0]);
    assert_memory_not_equal(apart.loss[2], common.loss[2], sizeof apart.loss[2]);
    const sh_footprint whole = *sh_lanes_footprint(lanes);
    assert_int_equal(whole.prepared, LANES * shared.prepared);
    assert_int_equal(whole.own, 1000);
    assert_int_equal(whole.lane, shared.lane);
    assert_int_equal(sh_footprint_total(&whole) - whole.base, sh_footprint_total(&shared) -
                                                                  shared.base + LANES * 1000 +
                                                                  (LANES - 1) * shared.prepared);
    sh_lanes_free(lanes);
}

/*
 * The limit falls: first more is recomputed, then lanes are dropped, and finally the last lane is
 * refused. Lanes without a limit give the size of the process itself.
 */
static void limits_are_kept_as_long_as_can_be(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip_because("the sanitizer keeps what is freed, so the process only grows");
#endif
    static const sh_lane_size sizes[] = {{SH_MODEL_TRAIN, 16}, {SH_MODEL_EVALUATE, 16}};
    static float weights[64 * 64 * 9];
    static float *all[256];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = weights;
    const sh_kernels *kernels = best();
    sh_lanes *lanes = NULL;
    sh_lanes_options options = {
        .model = {.spec = "resnet:20", .problem = {3, 32, 32, 10, SH_TARGET_CLASS}},
        .kernels = kernels,
        .parameters = all,
        .count = 3,
        .sizes = sizes,
        .size_count = 2,
    };
    assert_ok(sh_lanes_new(&lanes, &options));
    const sh_footprint whole = *sh_lanes_footprint(lanes);
    assert_int_equal(sh_lanes_bytes(lanes), whole.prepared + 3 * whole.lane);
    assert_int_equal(whole.segments, 1);
    sh_lanes_free(lanes);

    bool segments = false, fewer = false, two = false, refused = false;
    for (int part = 24; part > 0 && !refused; part--) {
        options.memory = whole.base + 3 * whole.lane * (uint64_t)part / 24;
        const sh_status status = sh_lanes_new(&lanes, &options);
        if (status != SH_OK) {
            assert_int_equal(status, SH_LIMIT);
            assert_non_null(strstr(sh_message(), "this job needs at least "));
            refused = true;
            continue;
        }
        const sh_footprint got = *sh_lanes_footprint(lanes);
        assert_true(sh_footprint_total(&got) <= options.memory);
        assert_int_equal(sh_lanes_count(lanes), got.lanes);
        assert_int_equal(sh_team_size(sh_lanes_team(lanes)), got.lanes);
        assert_int_equal(got.lanes_asked, 3);
        segments |= got.segments > 1;
        fewer |= got.lanes < 3;
        two |= got.lanes == 2;
        assert_true(!fewer || segments);
        sh_lanes_free(lanes);
    }
    assert_true(segments && fewer && two);
    options.memory = 1 << 20;
    assert_fails(sh_lanes_new(&lanes, &options), SH_LIMIT, "--memory 1.0 MiB: this job needs at ");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const sh_kernels *kernels = best();
    sh_lanes *lanes = NULL;
    sh_lanes_options options = some_options(kernels, 0);
    assert_fails(sh_lanes_new(&lanes, &options), SH_INVALID, "--lanes 0: must be 1 to 1024");
    options.count = SH_LANES_MAX + 1;
    assert_fails(sh_lanes_new(&lanes, &options), SH_INVALID, "--lanes 1025: must be 1 to 1024");
    options = some_options(kernels, 2);
    options.model.spec = "mlp:12-4-5";
    assert_fails(sh_lanes_new(&lanes, &options), SH_INVALID, "5");
    assert_null(lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_announced_is_ready_and_nothing_else),
        cmocka_unit_test(bytes_are_those_of_the_largest_programs),
        cmocka_unit_test(lanes_do_not_disturb_each_other),
        cmocka_unit_test(progress_is_what_lanes_do),
        cmocka_unit_test(a_lane_may_have_weights_of_its_own),
        cmocka_unit_test(limits_are_kept_as_long_as_can_be),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
