/* SPDX-License-Identifier: Apache-2.0 */
#include "train/recipe.h"

#include "base/test.h"
#include "train/job_options.h"

static const sh_dataset_info flowers = {
    .name = "photos", .channels = 3, .height = 64, .width = 64, .count = {325, 125}};

static sh_job ready(const char *model)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "photos:flowers");
    return job;
}

static void a_small_folder_gets_small_batches(void **state)
{
    (void)state;
    sh_recipe recipe;
    sh_job job = ready("resnet:8");
    assert_ok(sh_job_complete(&job));
    assert_int_equal(job.grain, 16);
    assert_ok(sh_recipe_choose(&recipe, &job, NULL, &flowers));
    assert_string_equal(recipe.text, "16 samples a step, 48 epochs, adamw with --lr 0.002, "
                                     "one-cycle, crop:8,flip");
    assert_int_equal(job.batch_size, 16);
    assert_int_equal(job.grain, 8);
    assert_int_equal(job.epochs, 48); /* of 21 steps */
    assert_string_equal(job.optimizer, "adamw");
    assert_string_equal(job.schedule, "one-cycle");
    assert_string_equal(job.augment, "crop:8,flip");
    assert_true(job.lr == 0.002F);
}

static void sizes_decide(void **state)
{
    (void)state;
    static const struct {
        uint32_t samples, batch, epochs;
    } cases[] = {{1, 16, 100},   {142, 16, 100},  {999, 16, 16},        {1000, 32, 32},
                 {9999, 32, 10}, {10000, 64, 10}, {UINT32_MAX, 64, 10}, {640, 16, 25}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_recipe recipe;
        sh_job job = ready("mlp:h32");
        sh_dataset_info table = {.name = "table", .channels = 1, .height = 1, .width = 13};
        table.count[SH_SPLIT_TRAIN] = cases[i].samples;
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_recipe_choose(&recipe, &job, NULL, &table));
        assert_int_equal(job.batch_size, cases[i].batch);
        assert_int_equal(job.epochs, cases[i].epochs);
        assert_string_equal(job.augment, "");
    }
}

static void what_is_given_stays(void **state)
{
    (void)state;
    sh_recipe recipe;
    sh_job_given given = {0};
    sh_job job = ready("resnet:8");
    job.steps = 7; /* differs from its default */
    given.lr = given.batch_size = given.augment = given.grain = true;
    assert_ok(sh_job_complete(&job));
    const sh_job before = job;
    assert_ok(sh_recipe_choose(&recipe, &job, &given, &flowers));
    assert_string_equal(recipe.text, "");
    assert_true(sh_job_same(&job, &before));

    memset(&given, 0, sizeof given);
    given.grain = true;
    assert_ok(sh_recipe_choose(&recipe, &job, &given, &flowers));
    assert_int_equal(job.grain, 16); /* the whole batch */
    assert_int_equal(job.steps, 7);
    assert_int_equal(job.epochs, before.epochs);
}

/* Neither small photos nor other data are augmented. */
static void augmentation_is_for_photos(void **state)
{
    (void)state;
    sh_dataset_info cases[] = {flowers, flowers, flowers};
    cases[0].height = 31;
    cases[1].height = cases[1].width = 512;
    cases[2].name = "mnist";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_recipe recipe;
        sh_job job = ready("resnet:8");
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_recipe_choose(&recipe, &job, NULL, &cases[i]));
        assert_string_equal(job.augment, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_folder_gets_small_batches),
        cmocka_unit_test(sizes_decide),
        cmocka_unit_test(what_is_given_stays),
        cmocka_unit_test(augmentation_is_for_photos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
