/* SPDX-License-Identifier: Apache-2.0 */
#include "data/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "data/augment.h"
#include "data/augment/distort.h"
#include "data/augment/mixing.h"
#include "data/augment/retouch.h"
#include "data/classes_fixture.h"
#include "data/dataset_impl.h"
#include "data/fixture.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE, SAMPLES = 4 };

static uint8_t level(uint32_t sample, uint32_t y, uint32_t x)
{
    return (uint8_t)((17 * y + 29 * x + 5 * y * x) % 256 + 40 * sample);
}

/* Channel c of sample i is sample 3 i + c of `level`. */
static void make_cifar(fixture *s)
{
    static uint8_t bytes[SAMPLES * (1 + PIXELS)];
    size_t used = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        bytes[used++] = (uint8_t)i;
        for (uint32_t k = 0; k < PIXELS; k++)
            bytes[used++] = level(3 * i + k / PLANE, k % PLANE / SIDE, k % SIDE);
    }
    fixture_new(s);
    assert_int_equal(mkdir(fixture_path(s, "data"), 0700), 0);
    fixture_write(s, "data/data_batch_1.bin", bytes, used);
    fixture_write(s, "data/test_batch.bin", bytes, used);
}

static void make_mnist(fixture *s, uint8_t height, uint16_t width)
{
    static uint8_t bytes[16 + 255 * 4096];
    const uint8_t header[16] = {
        0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, height, 0, 0, (uint8_t)(width >> 8), (uint8_t)width};
    const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 1, 1};
    memcpy(bytes, header, sizeof header);
    for (uint32_t k = 0; k < (uint32_t)height * width; k++)
        bytes[16 + k] = level(0, k / width, k % width);
    fixture_new(s);
    assert_int_equal(mkdir(fixture_path(s, "data"), 0700), 0);
    fixture_write(s, "data/train-images-idx3-ubyte", bytes, 16 + (size_t)height * width);
    fixture_write(s, "data/t10k-images-idx3-ubyte", bytes, 16 + (size_t)height * width);
    fixture_write(s, "data/train-labels-idx1-ubyte", labels, sizeof labels);
    fixture_write(s, "data/t10k-labels-idx1-ubyte", labels, sizeof labels);
}

static sh_pipeline *open_folder(fixture *s, const sh_pipeline_options *options)
{
    sh_pipeline *pipeline;
    assert_ok(sh_pipeline_open(&pipeline, fixture_path(s, "data"), options));
    return pipeline;
}

/* Nothing is written past the buffer. */
static const float *read_sample(const sh_pipeline *pipeline, sh_split split, uint32_t epoch,
                                uint32_t index)
{
    static float pixels[3 * 64 * 64 + 1];
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const size_t count = info->channels * info->height * info->width;
    int32_t label = -1;
    assert_in_range(count, 1, sizeof pixels / sizeof *pixels - 1);
    pixels[count] = 77.0f;
    assert_ok(sh_pipeline_read(pipeline, split, epoch, index, pixels, &label));
    assert_true(pixels[count] == 77.0f);
    assert_true(label >= 0);
    return pixels;
}

static void without_options_samples_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *normalize;
        float mean[3], deviation[3];
    } cases[] = {
        {NULL, {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
        {"", {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
        {"dataset", {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
        {"imagenet", {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
        {"none", {0, 0, 0}, {1, 1, 1}},
    };
    fixture s;
    make_cifar(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_pipeline *pipeline =
            open_folder(&s, &(sh_pipeline_options){.normalize = cases[i].normalize});
        const sh_dataset_info *info = sh_pipeline_about(pipeline);
        const sh_dataset_info *source = sh_dataset_about(sh_pipeline_dataset(pipeline));
        assert_int_equal(info->channels, 3);
        assert_int_equal(info->height, SIDE);
        assert_int_equal(info->width, SIDE);
        assert_int_equal(info->outputs, 10);
        assert_int_equal(info->count[SH_SPLIT_TRAIN], SAMPLES);
        assert_string_equal(info->fingerprint, source->fingerprint);
        for (uint32_t index = 0; index < 2 * SAMPLES; index++) {
            const sh_split split = index < SAMPLES ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION;
            const float *pixels = read_sample(pipeline, split, 3, index % SAMPLES);
            for (uint32_t k = 0; k < PIXELS; k++) {
                const uint32_t c = k / PLANE;
                const float byte = level(index % SAMPLES * 3 + c, k % PLANE / SIDE, k % SIDE);
                const float expected = (byte / 255.0f - cases[i].mean[c]) / cases[i].deviation[c];
                assert_memory_equal(&pixels[k], &expected, sizeof expected);
            }
        }
        sh_pipeline_close(pipeline);
    }
    fixture_remove(&s);
}

/* Crops the padded image, then mirrors it. */
static float seen(uint32_t sample, sh_view view, uint32_t y, uint32_t x)
{
    const int32_t column = (int32_t)(view.mirrored ? SIDE - 1 - x : x) + view.left;
    const int32_t row = (int32_t)y + view.top;
    if (row < 0 || row >= SIDE || column < 0 || column >= SIDE)
        return 0.0f;
    return level(sample, (uint32_t)row, (uint32_t)column);
}

static void views_are_as_drawn(void **state)
{
    (void)state;
    static const char *const lists[] = {"crop", "flip", "crop,flip", "flip,crop:31", "crop:1"};
    static const float mean[] = {0.4914f, 0.4822f, 0.4465f},
                       deviation[] = {0.247f, 0.2435f, 0.2616f};
    fixture s;
    make_cifar(&s);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_augment augment;
        assert_ok(sh_augment_parse(&augment, lists[i]));
        sh_pipeline *pipeline =
            open_folder(&s, &(sh_pipeline_options){.augment = lists[i], .seed = 9});
        for (uint32_t draw = 0; draw < 24; draw++) {
            const uint32_t epoch = draw / SAMPLES, index = draw % SAMPLES;
            const sh_view view = sh_augment_draw(&augment, 9, epoch, index);
            const float *pixels = read_sample(pipeline, SH_SPLIT_TRAIN, epoch, index);
            for (uint32_t k = 0; k < PIXELS; k++) {
                const uint32_t c = k / PLANE;
                const float byte = seen(3 * index + c, view, k % PLANE / SIDE, k % SIDE);
                const float expected = (byte / 255.0f - mean[c]) / deviation[c];
                assert_memory_equal(&pixels[k], &expected, sizeof expected);
            }
        }
        sh_pipeline_close(pipeline);
    }
    fixture_remove(&s);
}

static void retouched_samples_are_moved(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "resized-crop",         "crop,flip,resized-crop:0.3",          "vflip",
        "flip,rotate:15,vflip", "jitter:0.4/0.4/0.4/0.1,erase:1,crop", "crop,flip,trivial,erase"};
    static const uint8_t colour[] = {125, 123, 114}; /* 0.4914, 0.4822, 0.4465 times 255 */
    fixture s;
    make_cifar(&s);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_augment augment;
        assert_ok(sh_augment_parse(&augment, lists[i]));
        sh_pipeline *pipeline = open_folder(
            &s, &(sh_pipeline_options){.augment = lists[i], .seed = 9, .normalize = "none"});
        for (uint32_t draw = 0; draw < 24; draw++) {
            uint8_t bytes[PIXELS], spare[PIXELS];
            const uint32_t epoch = draw / SAMPLES, index = draw % SAMPLES;
            sh_picture picture = {bytes, spare, 3, SIDE, SIDE};
            for (uint32_t k = 0; k < PIXELS; k++)
                bytes[k] = level(3 * index + k / PLANE, k % PLANE / SIDE, k % SIDE);
            sh_retouch(&picture, &augment, colour, 9, epoch, index);
            const sh_view view = sh_augment_draw(&augment, 9, epoch, index);
            const float *pixels = read_sample(pipeline, SH_SPLIT_TRAIN, epoch, index);
            for (uint32_t k = 0; k < PIXELS; k++) {
                const int32_t x = (int32_t)(view.mirrored ? SIDE - 1 - k % SIDE : k % SIDE) +
                                  view.left,
                              y = (int32_t)(k % PLANE / SIDE) + view.top;
                const bool inside = x >= 0 && x < SIDE && y >= 0 && y < SIDE;
                const uint32_t place = inside ? (uint32_t)(y * SIDE + x) : 0;
                const uint8_t byte = inside ? picture.bytes[k / PLANE * PLANE + place] : 0;
                assert_true(pixels[k] == (float)byte / 255.0f);
            }
        }
        sh_pipeline_close(pipeline);
    }
    fixture_remove(&s);
}

static void large_images_can_be_augmented(void **state)
{
    (void)state;
    enum { COUNT = 3 * 224 * 224 };
    static const char *const lists[] = {"crop,flip", "resized-crop", "resized-crop,crop,flip"};
    float *pixels = calloc(COUNT, sizeof *pixels), *plain = calloc(COUNT, sizeof *plain);
    assert_non_null(pixels);
    assert_non_null(plain);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_pipeline *pipeline;
        int32_t label;
        assert_ok(sh_pipeline_open(
            &pipeline, "noise:3x224x224/10/4/2",
            &(sh_pipeline_options){.augment = lists[i], .seed = 2, .normalize = "none"}));
        assert_ok(sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, 1, 3, pixels, &label));
        assert_int_equal(label, 3);
        assert_ok(sh_pipeline_read(pipeline, SH_SPLIT_VALIDATION, 1, 1, plain, &label));
        for (uint32_t k = 0; k < COUNT; k++)
            assert_true(pixels[k] >= 0 && pixels[k] <= 1);
        sh_pipeline_close(pipeline);
    }
    free(pixels);
    free(plain);
}

static sh_status read_numbers(const sh_dataset *dataset, sh_split split, uint32_t index,
                              void *sample, void *target)
{
    float *values = sample;
    for (size_t i = 0; i < sh_dataset_elements(&dataset->info); i++)
        values[i] = (float)i + (float)index / 8 + (float)split * 1000;
    *(int32_t *)target = (int32_t)index;
    return SH_OK;
}

static sh_status open_numbers(sh_pipeline **pipeline, size_t channels, size_t height, size_t width,
                              const sh_pipeline_options *options)
{
    static const sh_dataset_ops ops = {.read = read_numbers};
    sh_dataset *set = calloc(1, sizeof *set);
    assert_non_null(set);
    set->ops = &ops;
    set->info = (sh_dataset_info){.name = "sensors",
                                  .channels = channels,
                                  .height = height,
                                  .width = width,
                                  .element = SH_ELEMENT_FLOAT,
                                  .outputs = 9,
                                  .count = {SAMPLES, SAMPLES}};
    return sh_pipeline_adopt(pipeline, set, options);
}

static void training_numbers_are_distorted(void **state)
{
    (void)state;
    enum { COUNT = 2 * 30 };
    static const char *const lists[] = {"", "shift:5", "noise:0.1,scale:0.2,mask:0/7,shift:3"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_augment augment;
        sh_pipeline *pipeline;
        assert_ok(sh_augment_parse(&augment, lists[i]));
        assert_ok(open_numbers(&pipeline, 2, 1, 30,
                               &(sh_pipeline_options){.augment = lists[i], .seed = 6}));
        for (uint32_t draw = 0; draw < 12; draw++) {
            const uint32_t epoch = draw / SAMPLES, index = draw % SAMPLES;
            float expected[COUNT];
            for (int split = 0; split < SH_SPLITS; split++) {
                for (uint32_t k = 0; k < COUNT; k++)
                    expected[k] = (float)k + (float)index / 8 + (float)split * 1000;
                if (split == SH_SPLIT_TRAIN)
                    sh_distort(&(sh_recording){expected, 2, 1, 30}, &augment, 6, epoch, index);
                const float *values = read_sample(pipeline, (sh_split)split, epoch, index);
                assert_memory_equal(values, expected, sizeof expected);
            }
        }
        sh_pipeline_close(pipeline);
    }
}

static void numbers_are_no_images(void **state)
{
    (void)state;
    static const struct {
        sh_pipeline_options options;
        const char *part;
    } cases[] = {
        {{.augment = "flip"}, "--augment: sensors has numbers, which can use only shift, scale"},
        {{.augment = "noise:1,erase"}, "--augment: sensors has numbers, which can use only shift"},
        {{.augment = "shift:30"},
         "--augment shift: 30 must be smaller than the samples of sensors"},
        {{.augment = "mask:1/5"}, "--augment mask: 1 must be smaller than the samples"},
        {{.normalize = "imagenet"}, "--normalize imagenet: is for images; sensors has numbers"},
    };
    sh_pipeline *pipeline = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(open_numbers(&pipeline, 2, 1, 30, &cases[i].options), SH_INVALID,
                     cases[i].part);
        assert_null(pipeline);
    }
    const sh_pipeline_options cuts = {.augment = "cutmix:1"};
    assert_fails(open_numbers(&pipeline, 30, 1, 1, &cuts), SH_INVALID,
                 "--augment cutmix: cuts in time or space; sensors has single numbers, use mixup");
}

static void samples_are_mixed_with_others(void **state)
{
    (void)state;
    enum { COUNT = 2 * 30 };
    static const char *const lists[] = {"shift:5", "mixup:0.4,noise:0.1", "cutmix:1,shift:2"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_augment augment;
        sh_pipeline *pipeline;
        assert_ok(sh_augment_parse(&augment, lists[i]));
        assert_ok(open_numbers(&pipeline, 2, 1, 30,
                               &(sh_pipeline_options){.augment = lists[i], .seed = 6}));
        assert_int_equal(sh_pipeline_mixes(pipeline), i > 0);
        for (uint32_t draw = 0; draw < 12; draw++) {
            const uint32_t epoch = draw / SAMPLES, position = draw % SAMPLES;
            sh_order order;
            sh_order_init(&order, 6, epoch, SAMPLES);
            const uint32_t index = sh_order_at(&order, position);
            const sh_mix_shape shape = {2, 1, 30};
            float values[COUNT], spare[COUNT], own[COUNT], weight;
            int32_t target, other;
            assert_ok(sh_pipeline_read_mixed(pipeline, &order, position, values, spare, &target,
                                             &other, &weight));
            assert_int_equal(target, index);
            memcpy(own, read_sample(pipeline, SH_SPLIT_TRAIN, epoch, index), sizeof own);
            sh_mix mix = {.partner = index, .weight = 1};
            if (i > 0)
                mix = sh_mixing_draw(&augment, shape, SAMPLES, 6, epoch, index);
            assert_int_equal(other, mix.partner);
            assert_int_equal(sh_pipeline_partner(pipeline, &order, position), mix.partner);
            assert_int_equal(other == target, i == 0);
            assert_true(weight == mix.weight);
            sh_mixing_apply(&mix, own, read_sample(pipeline, SH_SPLIT_TRAIN, epoch, mix.partner),
                            shape);
            assert_memory_equal(values, own, sizeof own);
        }
        sh_pipeline_close(pipeline);
    }
}

static void repeated_samples_are_augmented_apart(void **state)
{
    (void)state;
    enum { COUNT = 2 * 30 };
    static const int32_t classes[SAMPLES] = {0, 1, 1, 1};
    classes_set set;
    sh_class_index *index;
    sh_order order;
    sh_pipeline *pipeline;
    float values[SAMPLES][COUNT], spare[COUNT], weight;
    int32_t target, other;
    uint32_t last = SAMPLES, times = 0;
    classes_init(&set, classes, SAMPLES, 2);
    assert_ok(sh_class_index_new(&index, &set.base));
    sh_order_init(&order, 6, 0, SAMPLES);
    sh_order_balance(&order, index);
    assert_ok(open_numbers(&pipeline, 2, 1, 30,
                           &(sh_pipeline_options){.augment = "noise:0.1,mixup:1", .seed = 6}));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_ok(sh_pipeline_read_mixed(pipeline, &order, i, values[i], spare, &target, &other,
                                         &weight));
        assert_int_equal(target, sh_order_at(&order, i));
        assert_int_equal(other, sh_pipeline_partner(pipeline, &order, i));
        assert_ok(sh_pipeline_read_at(pipeline, &order, i, values[i], &target));
        if (target != 0)
            continue;
        times++;
        assert_true(last == SAMPLES || memcmp(values[i], values[last], sizeof values[i]) != 0);
        last = i;
    }
    assert_int_equal(times, 2);
    sh_pipeline_close(pipeline);
    sh_class_index_free(index);
}

static void stack_is_known(void **state)
{
    (void)state;
    static const struct {
        sh_pipeline_options options;
        size_t least, most;
    } cases[] = {
        {{.augment = ""}, 0, 0},
        {{.augment = "crop"}, 784, 784},
        {{.resize = 64}, 784, 784 + 16384},
        {{.augment = "erase"}, 2 * 784, 2 * 784 + 40000},
        {{.augment = "trivial,flip", .resize = 64}, 2 * 784, 2 * 784 + 56384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_pipeline *pipeline;
        assert_ok(sh_pipeline_open(&pipeline, "digits:7/3", &cases[i].options));
        assert_in_range(sh_pipeline_stack_bytes(pipeline), cases[i].least, cases[i].most);
        sh_pipeline_close(pipeline);
    }
    sh_pipeline *pipeline;
    assert_ok(open_numbers(&pipeline, 2, 1, 30, &(sh_pipeline_options){.augment = "noise:1"}));
    assert_int_equal(sh_pipeline_stack_bytes(pipeline), 0);
    sh_pipeline_close(pipeline);
}

static void validation_is_never_augmented(void **state)
{
    (void)state;
    fixture s;
    make_cifar(&s);
    sh_pipeline *plain = open_folder(&s, &(sh_pipeline_options){.resize = 0});
    sh_pipeline *moved =
        open_folder(&s, &(sh_pipeline_options){.augment = "crop:8,flip,resized-crop"});
    uint32_t differ = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        float held[PIXELS];
        memcpy(held, read_sample(plain, SH_SPLIT_VALIDATION, 0, i), sizeof held);
        assert_memory_equal(held, read_sample(moved, SH_SPLIT_VALIDATION, i, i), sizeof held);
        memcpy(held, read_sample(plain, SH_SPLIT_TRAIN, 0, i), sizeof held);
        differ += memcmp(held, read_sample(moved, SH_SPLIT_TRAIN, i, i), sizeof held) != 0;
    }
    assert_int_equal(differ, SAMPLES);
    sh_pipeline_close(plain);
    sh_pipeline_close(moved);
    fixture_remove(&s);
}

/*
 * torch.nn.functional.interpolate(image / 255, size, mode="bilinear", align_corners=False) of
 * PyTorch 1.13 for the image level(0, y, x).
 */
static const struct {
    uint8_t height, width, size;
    float expected[81];
} resized[] = {
    {5, 3, 8, {0.000000f, 0.007108f, 0.049755f, 0.092402f, 0.135049f, 0.177696f, 0.220343f,
               0.227451f, 0.029167f, 0.036811f, 0.082675f, 0.128539f, 0.174403f, 0.220267f,
               0.266131f, 0.273775f, 0.070833f, 0.079243f, 0.129703f, 0.180162f, 0.230622f,
               0.281081f, 0.331541f, 0.339951f, 0.112500f, 0.121676f, 0.176731f, 0.231786f,
               0.286841f, 0.341896f, 0.396952f, 0.406127f, 0.154167f, 0.164108f, 0.223759f,
               0.283410f, 0.343061f, 0.402711f, 0.462362f, 0.472304f, 0.195833f, 0.206541f,
               0.270787f, 0.335034f, 0.399280f, 0.463526f, 0.527773f, 0.538480f, 0.237500f,
               0.248974f, 0.317816f, 0.386657f, 0.455499f, 0.524341f, 0.593183f, 0.604657f,
               0.266667f, 0.278676f, 0.350735f, 0.422794f, 0.494853f, 0.566912f, 0.638971f,
               0.650980f}},
    {13, 11, 8, {0.043306f, 0.208104f, 0.372901f, 0.537699f, 0.702497f, 0.847687f, 0.416406f,
                 0.192969f, 0.157613f, 0.366222f, 0.574832f, 0.783441f, 0.344991f, 0.255561f,
                 0.405346f, 0.613955f, 0.271921f, 0.524341f, 0.776762f, 0.327221f, 0.277681f,
                 0.530101f, 0.782521f, 0.576118f, 0.386229f, 0.682460f, 0.802221f, 0.271002f,
                 0.567234f, 0.624249f, 0.155775f, 0.452007f, 0.500536f, 0.840579f, 0.239445f,
                 0.516743f, 0.856786f, 0.192907f, 0.532950f, 0.872993f, 0.614844f, 0.433992f,
                 0.378631f, 0.625230f, 0.318888f, 0.526271f, 0.717969f, 0.395941f, 0.717387f,
                 0.564660f, 0.580561f, 0.651363f, 0.431970f, 0.738067f, 0.283379f, 0.660064f,
                 0.655224f, 0.311014f, 0.782491f, 0.250046f, 0.721523f, 0.189078f, 0.660555f,
                 0.316345f}},
    {9, 20, 9, {0.069499f, 0.322222f, 0.574946f, 0.827669f, 0.076471f, 0.329194f, 0.581917f,
                0.834641f, 0.083442f, 0.148148f, 0.444444f, 0.740741f, 0.758170f, 0.329412f,
                0.625708f, 0.922004f, 0.214379f, 0.510675f, 0.226797f, 0.566667f, 0.850762f,
                0.242484f, 0.582353f, 0.922222f, 0.258170f, 0.598039f, 0.547494f, 0.305447f,
                0.688889f, 0.068410f, 0.451852f, 0.835294f, 0.214815f, 0.598257f, 0.814378f,
                0.361220f, 0.384096f, 0.811111f, 0.234205f, 0.661220f, 0.586274f, 0.511329f,
                0.938344f, 0.361438f, 0.788453f, 0.462745f, 0.933333f, 0.400000f, 0.591721f,
                0.337255f, 0.807843f, 0.274510f, 0.745098f, 0.211765f, 0.541394f, 0.218954f,
                0.565795f, 0.076035f, 0.590196f, 0.379302f, 0.614597f, 0.124837f, 0.638998f,
                0.620044f, 0.341176f, 0.731591f, 0.285403f, 0.843137f, 0.396950f, 0.954684f,
                0.508497f, 0.675816f, 0.698693f, 0.296078f, 0.841612f, 0.494771f, 0.594117f,
                0.693464f, 0.290850f, 0.724836f, 0.489543f}},
};

static void resizing_is_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof resized / sizeof *resized; i++) {
        fixture s;
        make_mnist(&s, resized[i].height, resized[i].width);
        sh_pipeline *pipeline =
            open_folder(&s, &(sh_pipeline_options){.resize = resized[i].size, .normalize = "none"});
        const sh_dataset_info *info = sh_pipeline_about(pipeline);
        assert_int_equal(info->height, resized[i].size);
        assert_int_equal(info->width, resized[i].size);
        for (int split = 0; split < SH_SPLITS; split++) {
            const float *pixels = read_sample(pipeline, (sh_split)split, 0, 0);
            for (uint32_t k = 0; k < info->height * info->width; k++)
                if (fabsf(pixels[k] - resized[i].expected[k]) > 2e-6f)
                    fail_msg("%u x %u to %u: pixel %u is %.6f, PyTorch has %.6f", resized[i].height,
                             resized[i].width, resized[i].size, k, (double)pixels[k],
                             (double)resized[i].expected[k]);
        }
        sh_pipeline_close(pipeline);
        fixture_remove(&s);
    }
}

static void views_are_resized(void **state)
{
    (void)state;
    fixture s;
    make_cifar(&s);
    sh_pipeline *small = open_folder(&s, &(sh_pipeline_options){.augment = "crop,flip"});
    sh_pipeline *large =
        open_folder(&s, &(sh_pipeline_options){.augment = "crop,flip", .resize = 64});
    for (uint32_t i = 0; i < SAMPLES; i++) {
        float from[PIXELS];
        memcpy(from, read_sample(small, SH_SPLIT_TRAIN, 5, i), sizeof from);
        const float *to = read_sample(large, SH_SPLIT_TRAIN, 5, i);
        for (uint32_t k = 0; k < 3 * 64 * 64; k++) {
            const uint32_t c = k / 4096, y = k % 4096 / 64, x = k % 64;
            if (y == 0 || y == 63 || x == 0 || x == 63)
                continue;
            const uint32_t y0 = (y - 1) / 2, x0 = (x - 1) / 2;
            const float v = y % 2 == 1 ? 0.25f : 0.75f, h = x % 2 == 1 ? 0.25f : 0.75f;
            const float *at = from + c * PLANE + y0 * SIDE + x0;
            const float expected = (1 - v) * ((1 - h) * at[0] + h * at[1]) +
                                   v * ((1 - h) * at[SIDE] + h * at[SIDE + 1]);
            assert_memory_equal(&to[k], &expected, sizeof expected);
        }
    }
    sh_pipeline_close(small);
    sh_pipeline_close(large);
    fixture_remove(&s);
}

static void large_images_can_be_read_as_they_are(void **state)
{
    (void)state;
    fixture s;
    int32_t label = -1;
    make_mnist(&s, 255, 4000);
    sh_pipeline *pipeline = open_folder(&s, &(sh_pipeline_options){.normalize = "none"});
    float *pixels = calloc(255 * 4000, sizeof *pixels);
    assert_non_null(pixels);
    assert_ok(sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, 0, 0, pixels, &label));
    for (uint32_t k = 0; k < 255 * 4000; k++)
        assert_true(pixels[k] == (float)level(0, k / 4000, k % 4000) / 255.0f);
    free(pixels);
    sh_pipeline_close(pipeline);
    fixture_remove(&s);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        sh_pipeline_options options;
        bool data; /* detected only with data */
        const char *part;
    } cases[] = {
        {{.augment = "turn"},
         false,
         "--augment turn: unknown 'turn'; known are: resized-crop[:MIN], "},
        {{.resize = 7}, false, "--resize 7: must be 8 to 1024 pixels"},
        {{.resize = 1025}, false, "--resize 1025: must be 8 to 1024 pixels"},
        {{.normalize = "batch"},
         false,
         "--normalize batch: unknown; use dataset, imagenet or none"},
        {{.normalize = "imagenet"},
         true,
         "--normalize imagenet: is for images of 3 channels, digits has 1; use dataset or none"},
        {{.augment = "jitter:0.1/0.1/0.1"},
         true,
         "--augment jitter: saturation and hue are for images of 3 channels, digits has 1; write "
         "jitter:B/C"},
        {{.augment = "crop,noise:1"},
         true,
         "--augment: shift, scale, noise and mask are for numbers; digits has images"},
        {{.augment = "crop:28"},
         true,
         "--augment crop:28: must be smaller than the images, which have 28 x 28 pixels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_pipeline *pipeline = NULL;
        assert_fails(sh_pipeline_open(&pipeline, "digits", &cases[i].options), SH_INVALID,
                     cases[i].part);
        assert_null(pipeline);
        if (cases[i].data)
            assert_ok(sh_pipeline_check(&cases[i].options));
        else
            assert_fails(sh_pipeline_check(&cases[i].options), SH_INVALID, cases[i].part);
    }
    sh_pipeline *pipeline = NULL;
    assert_fails(sh_pipeline_open(&pipeline, "cats", &(sh_pipeline_options){.resize = 0}),
                 SH_INVALID, "unknown data 'cats'");
    assert_null(pipeline);
    sh_pipeline_close(NULL);
}

static void images_too_large_to_move_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t height;
        uint16_t width;
        sh_pipeline_options options;
        const char *part;
    } cases[] = {
        {255,
         1030,
         {.augment = "flip"},
         "images of 1 x 255 x 1030 are too large for --augment and --resize: at most 262144 bytes, "
         "and 1024 pixels each way"},
        {8, 1025, {.resize = 64}, "images of 1 x 8 x 1025 are too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        sh_pipeline *pipeline = NULL;
        make_mnist(&s, cases[i].height, cases[i].width);
        assert_fails(sh_pipeline_open(&pipeline, fixture_path(&s, "data"), &cases[i].options),
                     SH_INVALID, cases[i].part);
        assert_null(pipeline);
        fixture_remove(&s);
    }
}

static void samples_that_are_not_there_are_refused(void **state)
{
    (void)state;
    static const sh_pipeline_options options[] = {{.resize = 0}, {.augment = "flip", .resize = 8}};
    for (int i = 0; i < 2; i++) {
        sh_pipeline *pipeline;
        float pixels[28 * 28];
        int32_t label = -7;
        assert_ok(sh_pipeline_open(&pipeline, "digits:7/3", &options[i]));
        assert_fails(sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, 0, 7, pixels, &label), SH_INVALID,
                     "digits has no training sample 7: there are 7");
        assert_int_equal(label, -7);
        sh_pipeline_close(pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_samples_are_as_published),
        cmocka_unit_test(views_are_as_drawn),
        cmocka_unit_test(retouched_samples_are_moved),
        cmocka_unit_test(large_images_can_be_augmented),
        cmocka_unit_test(training_numbers_are_distorted),
        cmocka_unit_test(numbers_are_no_images),
        cmocka_unit_test(samples_are_mixed_with_others),
        cmocka_unit_test(repeated_samples_are_augmented_apart),
        cmocka_unit_test(stack_is_known),
        cmocka_unit_test(validation_is_never_augmented),
        cmocka_unit_test(resizing_is_pytorchs),
        cmocka_unit_test(views_are_resized),
        cmocka_unit_test(large_images_can_be_read_as_they_are),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(images_too_large_to_move_are_refused),
        cmocka_unit_test(samples_that_are_not_there_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
