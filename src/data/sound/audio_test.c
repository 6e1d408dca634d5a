/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "data/dataset.h"
#include "data/sound/sound_fixture.h"

enum { MELS = 40, MOST = 400 * MELS };

static float values[MOST];

static int set_up(void **state)
{
    scratch_set_up(state);
    return setenv("XDG_CACHE_HOME", sound_path(".cache"), 1);
}

static sh_status open_audio(sh_dataset **data, const sh_read_options *options)
{
    char spec[SCRATCH_BYTES + 8];
    snprintf(spec, sizeof spec, "audio:%s", scratch_folder);
    return sh_dataset_open(data, spec, options);
}

static void make_tones(void)
{
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/%d.wav", i % 2 == 0 ? "high" : "low", i);
        sound_make(name, i % 2 == 0 ? 2500 + i : 400 + i);
    }
}

static size_t loudest(const float *row)
{
    size_t best = 0;
    for (size_t m = 0; m < MELS; m++)
        best = row[m] > row[best] ? m : best;
    return best;
}

static void a_folder_is_a_data_set(void **state)
{
    (void)state;
    sh_dataset *data;
    make_tones();
    assert_ok(open_audio(&data, NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_string_equal(info->name, "audio");
    assert_int_equal(info->channels, 1);
    assert_int_equal(info->height, 49); /* 1 + (4000 - 200) / 80, rounded up */
    assert_int_equal(info->width, MELS);
    assert_int_equal(info->element, SH_ELEMENT_FLOAT);
    assert_int_equal(info->target, SH_TARGET_CLASS);
    assert_int_equal(info->outputs, 2);
    assert_int_equal(info->count[0] + info->count[1], 6);
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < info->count[split]; i++) {
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)split, i, values, &class));
            const size_t best = loudest(values + 20 * MELS);
            assert_true(class == 0 ? best > 25 : best < 15);
        }
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    assert_non_null(about);
    const json_t *inputs = json_object_get(about, "inputs");
    assert_string_equal(json_string_value(json_object_get(inputs, "kind")), "audio");
    assert_int_equal(json_integer_value(json_object_get(inputs, "rate")), 8000);
    assert_int_equal(json_integer_value(json_object_get(inputs, "frames")), 49);
    const json_t *classes = json_object_get(about, "classes");
    assert_string_equal(json_string_value(json_array_get(classes, 1)), "low");
    json_decref(about);
    sh_dataset_close(data);
}

/* One note a line. Owned: free() it. */
static char *notes_of(const sh_dataset *data)
{
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    assert_non_null(about);
    char *notes = json_dumps(json_object_get(about, "notes"), 0);
    assert_non_null(notes);
    json_decref(about);
    return notes;
}

static void odd_recordings_are_noted(void **state)
{
    (void)state;
    sh_dataset *data;
    make_tones();
    sound_write(sound_path("high/stereo.wav"), &(sound_wave){16000, 2, 8000, 2600});
    sound_write(sound_path("low/stereo.wav"), &(sound_wave){44100, 2, 22050, 300});
    assert_ok(open_audio(&data, NULL));
    char *notes = notes_of(data);
    assert_non_null(
        strstr(notes, "2 recordings of 8000 to 44100 samples a second are resampled to 8000"));
    assert_non_null(strstr(notes, "the channels of 2 recordings are averaged"));
    free(notes);
    sh_dataset_close(data);
    assert_ok(open_audio(&data, &(sh_read_options){.rate = 48000}));
    notes = notes_of(data);
    assert_non_null(strstr(notes, "no recording has 48000 samples a second: --rate 44100 loses"));
    free(notes);
    sh_dataset_close(data);
}

static void the_length_fits_most(void **state)
{
    (void)state;
    sh_dataset *data;
    for (uint32_t i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "train/%u/%u.wav", i % 2, i);
        sound_write(sound_path(name), &(sound_wave){8000, 1, i == 7 ? 40000 : 2000 + i, 500});
    }
    sound_make("val/0/1.wav", 500);
    sound_make("val/1/1.wav", 700);
    assert_ok(open_audio(&data, NULL));
    /* 57 of 60 fit: 2057 samples are 1 + 23.2 frames. */
    assert_int_equal(sh_dataset_about(data)->height, 25);
    char *notes = notes_of(data);
    assert_non_null(
        strstr(notes, "a sample is 265 ms long: 1 longer training recordings are cut to their"));
    free(notes);
    sh_dataset_close(data);
}

static void equal_sources_are_equal_sets(void **state)
{
    (void)state;
    char prints[4][SH_DIGEST_TEXT];
    static const uint32_t rates[] = {0, 0, 8000, 16000};
    make_tones();
    for (int i = 0; i < 4; i++) {
        sh_dataset *data;
        if (i == 1)
            scratch_remove(sound_path(".cache/shoal"));
        assert_ok(open_audio(&data, &(sh_read_options){.rate = rates[i]}));
        snprintf(prints[i], SH_DIGEST_TEXT, "%s", sh_dataset_about(data)->fingerprint);
        sh_dataset_close(data);
    }
    assert_string_equal(prints[0], prints[1]);
    assert_string_equal(prints[0], prints[2]);
    assert_string_not_equal(prints[0], prints[3]);
}

static void a_folder_is_recognised(void **state)
{
    (void)state;
    sh_dataset *data;
    make_tones();
    assert_ok(sh_dataset_open(&data, scratch_folder, NULL));
    assert_string_equal(sh_dataset_about(data)->name, "audio");
    sh_dataset_close(data);
}

static void damaged_recordings_are_named(void **state)
{
    (void)state;
    sh_dataset *data = NULL;
    make_tones();
    scratch_write(sound_path("high/text.wav"), "This is no sound.", 17);
    scratch_write(sound_path("low/empty.wav"), "", 0);
    assert_int_equal(truncate(sound_path("low/3.wav"), 1000), 0);
    assert_fails(open_audio(&data, NULL), SH_CORRUPT, "3 of 8 samples cannot be read");
    assert_fails(open_audio(&data, NULL), SH_CORRUPT,
                 "high/text.wav: is not in WAV, FLAC, AIFF or OGG");
    assert_fails(open_audio(&data, NULL), SH_CORRUPT, "low/empty.wav: is empty");
    assert_fails(open_audio(&data, NULL), SH_CORRUPT,
                 "low/3.wav: is cut off: its header promises 8000 bytes of samples, 956 are there");
    assert_null(data);
    assert_ok(open_audio(&data, &(sh_read_options){.skip_damaged = true}));
    assert_int_equal(sh_dataset_about(data)->count[0] + sh_dataset_about(data)->count[1], 5);
    sh_dataset_close(data);
}

static void what_makes_no_set_is_refused(void **state)
{
    (void)state;
    sh_dataset *data = NULL;
    make_tones();
    assert_fails(open_audio(&data, &(sh_read_options){.rate = 999}), SH_INVALID,
                 "--rate 999: must be 1000 to 192000 samples a second");
    assert_fails(open_audio(&data, &(sh_read_options){.task = "regression"}), SH_INVALID,
                 "--task regression: only classes can be learned from recordings");
    assert_fails(open_audio(&data, &(sh_read_options){.label_from = "{label}_{}.wav"}), SH_INVALID,
                 "high/0.wav: its name is not of the form --label-from {label}_{}.wav");
    assert_fails(sh_dataset_open(&data, "audio", NULL), SH_INVALID, "write audio:DIR");
    for (int i = 0; i < 6; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/%d.wav", i % 2 == 0 ? "high" : "low", i);
        scratch_write(sound_path(name), "", 0);
    }
    assert_fails(open_audio(&data, NULL), SH_CORRUPT,
                 "no training recording can be read: the last one: ");
    assert_null(data);
}

/* Six people; two of them are in the validation split. */
static void real_recordings_are_read(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], spec[SCRATCH_BYTES + 8];
    sh_dataset *data;
    find_real_data(folder, sizeof folder, "speech");
    snprintf(spec, sizeof spec, "audio:%s", folder);
    assert_ok(
        sh_dataset_open(&data, spec, &(sh_read_options){.label_from = "{label}_{group}_{}.wav"}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->outputs, 10);
    assert_int_equal(info->count[0] + info->count[1], 3000);
    assert_int_equal(info->count[1] % 500, 0);
    double sum = 0, squares = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < info->count[0]; i += 50) {
        int32_t class;
        static float sample[MOST];
        assert_in_range(info->height * MELS, 1, MOST);
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, i, sample, &class));
        for (size_t k = 0; k < info->height * MELS; k++) {
            sum += (double)sample[k];
            squares += (double)sample[k] * (double)sample[k];
        }
        count += info->height * MELS;
    }
    const double mean = sum / (double)count;
    assert_true(fabs(mean) < 2 && sqrt(squares / (double)count - mean * mean) < 2);
    sh_dataset_close(data);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(a_folder_is_a_data_set),       in_a_folder(odd_recordings_are_noted),
        in_a_folder(the_length_fits_most),         in_a_folder(equal_sources_are_equal_sets),
        in_a_folder(a_folder_is_recognised),       in_a_folder(damaged_recordings_are_named),
        in_a_folder(what_makes_no_set_is_refused), in_a_folder(real_recordings_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
