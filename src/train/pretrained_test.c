/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/program.h"
#include "base/scratch.h"
#include "base/test.h"
#include "train/snapshot.h"

static const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};

#define TENSORS 4 /* of the model: fc1.weight, fc1.bias, fc2.weight, fc2.bias */
#define MAX_STORED 16

static float numbers[784 * 8];

typedef struct stored {
    sh_stored_tensor items[MAX_STORED];
    size_t count;
} stored;

static void store(stored *s, const char *name, size_t rank, size_t a, size_t b)
{
    assert_in_range(s->count, 0, MAX_STORED - 1);
    s->items[s->count++] =
        (sh_stored_tensor){name, {SH_F32, sh_shape_of(rank, (size_t[]){a, b})}, numbers};
}

/* The tensors of mlp:784-8-CLASSES. */
static stored fitting(size_t classes)
{
    stored s = {.count = 0};
    store(&s, "fc1.weight", 2, 8, 784);
    store(&s, "fc1.bias", 1, 8, 0);
    store(&s, "fc2.weight", 2, classes, 8);
    store(&s, "fc2.bias", 1, classes, 0);
    return s;
}

static sh_replica *new_replica(const char *freeze)
{
    sh_job job;
    sh_replica *replica;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:784-8-10");
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.freeze, sizeof job.freeze, "%s", freeze);
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, &problem));
    return replica;
}

static sh_status load(char note[SH_MESSAGE_BYTES], sh_replica *replica, const stored *s,
                      sh_pretrained_rule rule)
{
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 16];
    sh_safetensors *file;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/p", folder);
    assert_ok(sh_safetensors_write(path, s->items, s->count, NULL, 0));
    assert_ok(sh_safetensors_open(&file, path));
    const sh_status status = sh_pretrained_load(note, replica, file, rule);
    sh_safetensors_close(file);
    scratch_remove(folder);
    return status;
}

static bool is_loaded(const sh_replica *replica, uint32_t tensor)
{
    return memcmp(replica->parameters[tensor], numbers,
                  sh_type_bytes(sh_replica_tensor_type(replica, tensor))) == 0;
}

static void what_fits_is_loaded(void **state)
{
    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        char note[SH_MESSAGE_BYTES] = "?";
        sh_replica *replica = new_replica(rule == 0 ? "" : "fc1.*");
        stored s = fitting(10);
        store(&s, "bn1.num_batches_tracked", 1, 1, 0);
        assert_ok(load(note, replica, &s, (sh_pretrained_rule)rule));
        assert_string_equal(note, "");
        for (uint32_t t = 0; t < TENSORS; t++)
            assert_true(is_loaded(replica, t));
        sh_replica_free(replica);
    }
}

static void what_the_model_has_not_is_noted(void **state)
{
    (void)state;
    static const char *const more[] = {"a", "b", "c.d", "e", "f", "optimizer.0.fc1.bias"};
    char note[SH_MESSAGE_BYTES];
    sh_replica *replica = new_replica("");
    stored s = fitting(10);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        store(&s, more[i], 1, 3, 0);
    assert_ok(load(note, replica, &s, SH_PRETRAINED_WHOLE));
    assert_non_null(strstr(note, "/p: not used: a, b, c.d, e and 2 more"));
    assert_true(is_loaded(replica, 3));
    sh_replica_free(replica);
}

static void a_checkpoint_is_a_file_of_weights(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 32], note[SH_MESSAGE_BYTES];
    sh_replica *replica = new_replica(""), *other = new_replica("fc1.weight");
    sh_safetensors *file;
    sh_job job;
    sh_job_init(&job);
    replica->weights[5] = 7;
    scratch_make(folder);
    assert_ok(sh_snapshot_save(folder, &job, &(sh_snapshot_data){"f", NULL}, replica));
    snprintf(path, sizeof path, "%s/last.safetensors", folder);
    assert_ok(sh_safetensors_open(&file, path));
    assert_ok(sh_pretrained_load(note, other, file, SH_PRETRAINED_WHOLE));
    assert_string_equal(note, "");
    assert_true(other->parameters[0][5] == 7);
    sh_safetensors_close(file);
    sh_replica_free(replica);
    sh_replica_free(other);
    scratch_remove(folder);
}

static void another_last_layer_begins_untrained(void **state)
{
    (void)state;
    char note[SH_MESSAGE_BYTES];
    sh_replica *replica = new_replica("fc1.*"), *untouched = new_replica("fc1.*");
    stored s = fitting(100);
    assert_ok(load(note, replica, &s, SH_PRETRAINED_BUT_LAST));
    assert_non_null(
        strstr(note, "/p: of another shape: fc2.weight is F32 100x8, not F32 10x8, fc2.bias is F32 "
                     "100, not F32 10; starts untrained: the last layer, fc2"));
    assert_true(is_loaded(replica, 0) && is_loaded(replica, 1));

    stored half = fitting(10);
    half.count--;
    assert_ok(load(note, replica, &half, SH_PRETRAINED_BUT_LAST));
    assert_non_null(strstr(note, "missing: fc2.bias; starts untrained: the last layer, fc2"));
    for (uint32_t t = 2; t < TENSORS; t++)
        assert_memory_equal(replica->parameters[t], untouched->parameters[t],
                            sh_type_bytes(sh_replica_tensor_type(replica, t)));
    sh_replica_free(untouched);
    sh_replica_free(replica);
}

static void what_does_not_fit_is_listed(void **state)
{
    (void)state;
    static const char *const names[TENSORS] = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
    static const struct {
        const char *freeze;
        int left_out, resized; /* index of a tensor in the file, or -1 */
        size_t classes;
        sh_pretrained_rule rule;
        const char *part;
    } bad[] = {
        {"", 0, -1, 10, SH_PRETRAINED_BUT_LAST, "/p: does not fit the model: missing: fc1.weight"},
        {"", -1, 1, 10, SH_PRETRAINED_BUT_LAST,
         "does not fit the model: of another shape: fc1.bias is F32 3, not F32 8"},
        {"", 0, 1, 7, SH_PRETRAINED_BUT_LAST,
         "missing: fc1.weight; of another shape: fc1.bias is F32 3, not F32 8, fc2.weight is F32 "
         "7x8, not F32 10x8, fc2.bias is F32 7, not F32 10; not in the model: more"},
        {"", -1, -1, 7, SH_PRETRAINED_WHOLE, "fc2.weight is F32 7x8, not F32 10x8"},
        {"fc2.bias", -1, -1, 7, SH_PRETRAINED_BUT_LAST,
         "does not fit the model, whose last layer --freeze keeps untrained: of another shape: "
         "fc2.weight"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char note[SH_MESSAGE_BYTES] = "?", before[SH_DIGEST_TEXT], after[SH_DIGEST_TEXT];
        sh_replica *replica = new_replica(bad[i].freeze);
        const stored whole = fitting(bad[i].classes);
        stored s = {.count = 0};
        for (int t = 0; t < TENSORS; t++)
            if (t == bad[i].resized)
                store(&s, names[t], 1, 3, 0);
            else if (t != bad[i].left_out)
                s.items[s.count++] = whole.items[t];
        store(&s, "more", 1, 1, 0);
        assert_ok(sh_replica_hash(replica, before));
        assert_fails(load(note, replica, &s, bad[i].rule), SH_MISMATCH, bad[i].part);
        assert_string_equal(note, "?");
        assert_ok(sh_replica_hash(replica, after));
        assert_string_equal(before, after);
        sh_replica_free(replica);
    }
}

static void numbers_and_types_are_checked(void **state)
{
    (void)state;
    char note[SH_MESSAGE_BYTES];
    sh_replica *replica = new_replica("");
    stored s = fitting(10);
    s.items[1].type.dtype = SH_I32;
    assert_fails(load(note, replica, &s, SH_PRETRAINED_BUT_LAST), SH_MISMATCH,
                 "fc1.bias is I32 8, not F32 8");
    s = fitting(10);
    float bias[8] = {0};
    bias[7] = INFINITY;
    s.items[1].data = bias;
    assert_fails(load(note, replica, &s, SH_PRETRAINED_BUT_LAST), SH_CORRUPT,
                 "/p: tensor fc1.bias has values that are not finite");
    sh_replica_free(replica);
}

static void long_lists_are_cut(void **state)
{
    (void)state;
    char note[SH_MESSAGE_BYTES];
    sh_job job;
    sh_replica *replica;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "resnet:110");
    assert_ok(sh_replica_new(&replica, &job, &(sh_problem){3, 32, 32, 10, SH_TARGET_CLASS}));
    const stored s = fitting(10);
    assert_fails(load(note, replica, &s, SH_PRETRAINED_BUT_LAST), SH_MISMATCH,
                 "missing: conv1.weight, bn1.weight, bn1.bias, bn1.running_mean and 543 more; not "
                 "in the model: fc1.weight, fc1.bias, fc2.weight, fc2.bias");
    sh_replica_free(replica);
}

/* --- a published network ------------------------------------------------------------------------
 */

#define IMAGES 8

/* Version 1 (numpy.lib.format): magic, version, header length, header, data. */
static void read_npy(const char *path, const char *shape, float *values, size_t count)
{
    char head[256] = "";
    unsigned char lead[10];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(lead, 1, sizeof lead, file), sizeof lead);
    assert_memory_equal(lead, "\x93NUMPY\x01", 7);
    const size_t length = lead[8] + (size_t)lead[9] * 256;
    assert_in_range(length, 1, sizeof head - 1);
    assert_int_equal(fread(head, 1, length, file), length);
    assert_non_null(strstr(head, "'descr': '<f4'"));
    assert_non_null(strstr(head, "'fortran_order': False"));
    assert_non_null(strstr(head, shape));
    assert_int_equal(fread(values, sizeof *values, count, file), count);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

static void compute_logits(float *logits, const sh_replica *replica, const sh_job *job,
                           const sh_kernels *kernels, const float *pixels)
{
    const sh_problem cifar = {3, 32, 32, 10, SH_TARGET_CLASS};
    const sh_model_options options = sh_replica_model(job, &cifar, NULL);
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_model_build(&graph, &options, IMAGES, SH_MODEL_EVALUATE));
    assert_ok(sh_program_compile(&program, graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "a test"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, replica->parameters));
    memcpy(sh_execution_input(execution, SH_MODEL_SAMPLES), pixels,
           IMAGES * 3 * 32 * 32 * sizeof(float));
    memset(sh_execution_input(execution, SH_MODEL_TARGETS), 0, IMAGES * sizeof(int32_t));
    assert_ok(sh_execution_prepare(execution));
    assert_ok(sh_execution_run(execution, NULL, NULL));
    memcpy(logits, sh_execution_output(execution, 3), IMAGES * 10 * sizeof(float));
    sh_execution_free(execution);
    sh_program_free(program);
    sh_graph_free(graph);
    free(shared);
    free(lane);
}

/* ResNet-20 of akamaster/pytorch_resnet_cifar10: eight images of CIFAR-10 and PyTorch's logits.
 * Needs SHOAL_TEST_DATA. */
static void a_published_resnet_20_computes_its_logits(void **state)
{
    (void)state;
    char path[4096], note[SH_MESSAGE_BYTES];
    find_real_data(path, sizeof path, "pretrained/resnet20-12fca82f.safetensors");
    float *pixels = malloc(IMAGES * 3 * 32 * 32 * sizeof *pixels);
    float expected[IMAGES * 10], logits[IMAGES * 10];
    sh_safetensors *file;
    sh_replica *replica;
    sh_job job;
    assert_non_null(pixels);
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "resnet:20");
    assert_ok(sh_replica_new(&replica, &job, &(sh_problem){3, 32, 32, 10, SH_TARGET_CLASS}));
    assert_ok(sh_safetensors_open(&file, path));
    assert_ok(sh_pretrained_load(note, replica, file, SH_PRETRAINED_WHOLE));
    assert_string_equal(note, "");
    sh_safetensors_close(file);
    find_real_data(path, sizeof path, "pretrained/ref_input_first8test_nchw_imagenetnorm.npy");
    read_npy(path, "(8, 3, 32, 32)", pixels, IMAGES * 3 * 32 * 32);
    find_real_data(path, sizeof path, "pretrained/resnet20-12fca82f.ref_logits_first8test.npy");
    read_npy(path, "(8, 10)", expected, IMAGES * 10);
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        float worst = 0;
        if (!sh_variant_runs((*all)->variant))
            continue;
        compute_logits(logits, replica, &job, *all, pixels);
        for (size_t i = 0; i < IMAGES * 10; i++)
            worst = fmaxf(worst, fabsf(logits[i] - expected[i]));
        print_message("%s: logits within %.1e\n", (*all)->name, (double)worst);
        assert_true(worst <= 1e-3f);
    }
    sh_replica_free(replica);
    free(pixels);
}

int main(void)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = (float)i * 0.25f + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_loaded),
        cmocka_unit_test(what_the_model_has_not_is_noted),
        cmocka_unit_test(a_checkpoint_is_a_file_of_weights),
        cmocka_unit_test(another_last_layer_begins_untrained),
        cmocka_unit_test(what_does_not_fit_is_listed),
        cmocka_unit_test(numbers_and_types_are_checked),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(a_published_resnet_20_computes_its_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
