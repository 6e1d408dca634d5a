/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/digest.h"
#include "base/team.h"
#include "base/test.h"
#include "data/pipeline.h"

enum { DRAWN = 2000, SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

typedef struct drawing {
    uint8_t pixels[PIXELS];
    int32_t label;
} drawing;

static void draw(drawing *all, sh_split split, uint32_t count)
{
    sh_dataset *data;
    assert_ok(sh_dataset_open(&data, "digits", NULL));
    for (uint32_t i = 0; i < count; i++)
        assert_ok(sh_dataset_read(data, split, i, all[i].pixels, &all[i].label));
    sh_dataset_close(data);
}

static drawing *draw_all(sh_split split)
{
    drawing *all = calloc(DRAWN, sizeof *all);
    assert_non_null(all);
    draw(all, split, DRAWN);
    return all;
}

/* A change here changes every run with digits. */
static void golden_pixels(void **state)
{
    (void)state;
    static const char *const golden[SH_SPLITS] = {
        "096935de748c560749765245965e2de9154a1358a1e3c7badb6905b84afd8472",
        "85e56a18d60a185c296fc839734b1daeafd0295a6c1fa2a1c9599fb931578503",
    };
    for (int split = 0; split < SH_SPLITS; split++) {
        drawing all[100];
        sh_digest *digest;
        draw(all, (sh_split)split, 100);
        assert_ok(sh_digest_new(&digest));
        for (uint32_t i = 0; i < 100; i++) {
            const uint8_t label = (uint8_t)all[i].label;
            sh_digest_add(digest, &label, 1);
            sh_digest_add(digest, all[i].pixels, sizeof all[i].pixels);
        }
        char hex[SH_DIGEST_TEXT];
        assert_ok(sh_digest_finish(digest, hex));
        assert_string_equal(hex, golden[split]);
    }
}

static void classes_are_balanced(void **state)
{
    (void)state;
    for (int split = 0; split < SH_SPLITS; split++) {
        drawing *all = draw_all((sh_split)split);
        int count[CLASSES] = {0};
        for (uint32_t i = 0; i < DRAWN; i++) {
            assert_in_range(all[i].label, 0, CLASSES - 1);
            count[all[i].label]++;
        }
        for (int i = 0; i < CLASSES; i++)
            assert_in_range(count[i], 140, 260); /* 4.5 sigma */
        free(all);
    }
}

static void every_sample_has_ink_and_paper(void **state)
{
    (void)state;
    drawing *all = draw_all(SH_SPLIT_TRAIN);
    for (uint32_t i = 0; i < DRAWN; i++) {
        int dark = 0, light = 0, edge = 0;
        for (int k = 0; k < PIXELS; k++) {
            dark += all[i].pixels[k] >= 80;
            light += all[i].pixels[k] < 60;
            const int x = k % SIDE, y = k / SIDE;
            if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1)
                edge += all[i].pixels[k] >= 80;
        }
        assert_in_range(dark, 15, 400);
        assert_true(light > PIXELS / 3);
        assert_true(edge < 30);
    }
    free(all);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, PIXELS);
}

static void no_two_samples_are_equal(void **state)
{
    (void)state;
    drawing *all = calloc(2 * DRAWN, sizeof *all);
    assert_non_null(all);
    for (int split = 0; split < SH_SPLITS; split++)
        draw(all + split * DRAWN, (sh_split)split, DRAWN);
    qsort(all, 2 * DRAWN, sizeof *all, compare);
    for (uint32_t i = 1; i < 2 * DRAWN; i++)
        assert_true(compare(&all[i - 1], &all[i]) != 0);
    free(all);
}

static void mean_and_deviation_are_normal(void **state)
{
    (void)state;
    sh_pipeline *data;
    assert_ok(sh_pipeline_open(&data, "digits", &(sh_pipeline_options){.resize = 0}));
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < DRAWN; i++) {
        float pixels[PIXELS];
        int32_t label;
        assert_ok(sh_pipeline_read(data, SH_SPLIT_TRAIN, 0, i, pixels, &label));
        for (int k = 0; k < PIXELS; k++) {
            sum += (double)pixels[k];
            squares += (double)pixels[k] * (double)pixels[k];
        }
    }
    const double count = (double)DRAWN * PIXELS;
    const double mean = sum / count, variance = squares / count - mean * mean;
    assert_true(mean > -0.02 && mean < 0.02);
    assert_true(variance > 0.96 && variance < 1.04);
    sh_pipeline_close(data);
}

typedef struct race {
    const sh_dataset *data;
    uint8_t pixels[2][100][PIXELS];
    int32_t labels[2][100];
    sh_status status[2];
} race;

static void read_hundred(void *context, uint32_t worker)
{
    race *r = context;
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t index = worker == 0 ? i : 99 - i;
        const sh_status status =
            sh_dataset_read(r->data, SH_SPLIT_VALIDATION, index, r->pixels[worker][index],
                            &r->labels[worker][index]);
        if (status != SH_OK)
            r->status[worker] = status;
    }
}

static void two_threads_read_the_same(void **state)
{
    (void)state;
    race *r = calloc(1, sizeof *r);
    assert_non_null(r);
    sh_dataset *data;
    assert_ok(sh_dataset_open(&data, "digits:1/100", NULL));
    r->data = data;
    sh_team *team;
    assert_ok(sh_team_start(&team, 2));
    sh_team_run(team, read_hundred, r);
    sh_team_stop(team);
    assert_int_equal(r->status[0], SH_OK);
    assert_int_equal(r->status[1], SH_OK);
    assert_memory_equal(r->pixels[0], r->pixels[1], sizeof r->pixels[0]);
    assert_memory_equal(r->labels[0], r->labels[1], sizeof r->labels[0]);
    sh_dataset_close(data);
    free(r);
}

static void fingerprints_tell_sizes_apart(void **state)
{
    (void)state;
    sh_dataset *a, *b, *c;
    assert_ok(sh_dataset_open(&a, "digits", NULL));
    assert_ok(sh_dataset_open(&b, "digits:10000/2000", NULL));
    assert_ok(sh_dataset_open(&c, "digits:10000/2001", NULL));
    const char *print = sh_dataset_about(a)->fingerprint;
    assert_int_equal(strlen(print), SH_DIGEST_TEXT - 1);
    assert_string_equal(print, sh_dataset_about(b)->fingerprint);
    assert_string_not_equal(print, sh_dataset_about(c)->fingerprint);
    sh_dataset_close(a);
    sh_dataset_close(b);
    sh_dataset_close(c);
}

static void wrong_counts_are_refused(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "digits:",     "digits:5",    "digits:5/",    "digits:/5",          "digits:0/5",
        "digits:5/0",  "digits:-5/5", "digits:5/5/5", "digits:100000001/5", "digits:5/4294967297",
        "digits: 5/5", "digits:5/5 ", "digits:0x5/5", "digits:1e3/5",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        sh_dataset *data = NULL;
        assert_fails(sh_dataset_open(&data, specs[i], NULL), SH_INVALID,
                     "write digits or digits:TRAIN/VALIDATION");
        assert_null(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_pixels),
        cmocka_unit_test(classes_are_balanced),
        cmocka_unit_test(every_sample_has_ink_and_paper),
        cmocka_unit_test(no_two_samples_are_equal),
        cmocka_unit_test(mean_and_deviation_are_normal),
        cmocka_unit_test(two_threads_read_the_same),
        cmocka_unit_test(fingerprints_tell_sizes_apart),
        cmocka_unit_test(wrong_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
