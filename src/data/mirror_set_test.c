/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a mirror's data set with a simulated network. */
#include <pthread.h>
#include <sched.h>

#include "data/delivery_fixture.h"
#include "data/fetch.h"
#include "data/mirror.h"
#include "data/order.h"
#include "data/pipeline.h"
#include "data/prefetch.h"

enum { SOURCES = 3, BATCH = 64 };

typedef struct courier {
    const sh_dataset *data; /* complete */
    bool tampers[SOURCES];  /* sends wrong bytes */
    sh_fetch *fetch;
    sh_mirror *mirror;
    sh_dataset *set;
    pthread_mutex_t lock; /* guards `fetch` and all below */
    bool stands;          /* delivers only when called */
    uint32_t brought, next;
    bool ending;
} courier;

/* False if no block is waiting. */
static bool bring(courier *c)
{
    uint8_t bytes[SH_MANIFEST_BLOCK_BYTES];
    uint32_t block, source = 0;
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < SOURCES && !found; i++) {
        source = c->next++ % SOURCES;
        found = sh_fetch_next(&block, c->fetch, source);
    }
    pthread_mutex_unlock(&c->lock);
    if (!found)
        return false;
    const sh_block about = sh_manifest_block(sh_mirror_manifest(c->mirror), block);
    assert_ok(sh_contents_read(c->data, about.file, about.offset, bytes, about.bytes));
    if (c->tampers[source])
        bytes[about.bytes / 3] ^= 0x10;
    const sh_status status = sh_mirror_put(c->mirror, block, bytes, about.bytes);
    pthread_mutex_lock(&c->lock);
    if (status == SH_OK)
        sh_fetch_done(c->fetch, block);
    else
        sh_fetch_refuse(c->fetch, block, source);
    c->brought++;
    pthread_mutex_unlock(&c->lock);
    return true;
}

static void want(void *context, uint32_t block, bool now)
{
    courier *c = context;
    pthread_mutex_lock(&c->lock);
    sh_fetch_need(c->fetch, block, now ? SH_FETCH_NOW : SH_FETCH_SOON);
    const bool by_itself = !c->stands;
    pthread_mutex_unlock(&c->lock);
    while (by_itself && now && !sh_mirror_has(c->mirror, block))
        assert_true(bring(c));
}

static void courier_open(courier *c, const sh_dataset *data)
{
    *c = (courier){.data = data};
    sh_manifest *whole, *manifest;
    assert_ok(sh_manifest_make(&whole, data));
    assert_ok(sh_manifest_parse(&manifest, whole->packed, whole->packed_bytes, whole->root));
    sh_manifest_free(whole);
    assert_ok(sh_fetch_new(&c->fetch, manifest->blocks));
    pthread_mutex_init(&c->lock, NULL);
    const sh_mirror_options options = {.want = want, .context = c};
    assert_ok(sh_mirror_open(&c->mirror, manifest, &options));
    c->set = sh_mirror_dataset(c->mirror);
}

static void need_all(courier *c)
{
    for (uint32_t i = 0; i < sh_mirror_manifest(c->mirror)->blocks; i++)
        if (!sh_mirror_has(c->mirror, i))
            sh_fetch_need(c->fetch, i, SH_FETCH_LATER);
}

static void courier_close(courier *c)
{
    sh_dataset_close(c->set);
    sh_fetch_free(c->fetch);
    pthread_mutex_destroy(&c->lock);
}

static void assert_sample(const courier *c, sh_split split, uint32_t index)
{
    uint8_t bytes[SET_IMAGE_MOST], expected[SET_IMAGE_MOST];
    int32_t label, class;
    const sh_dataset_info *info = sh_dataset_about(c->set);
    assert_ok(sh_dataset_read(c->set, split, index, bytes, &label));
    assert_ok(sh_dataset_read(c->data, split, index, expected, &class));
    assert_int_equal(label, class);
    assert_memory_equal(bytes, expected, info->channels * info->height * info->width);
}

static void assert_same(const courier *c)
{
    const sh_dataset_info *info = sh_dataset_about(c->set), *whole = sh_dataset_about(c->data);
    assert_string_equal(info->fingerprint, whole->fingerprint);
    assert_string_equal(info->name, whole->name);
    assert_int_equal(info->outputs, whole->outputs);
    assert_int_equal(info->channels, whole->channels);
    assert_int_equal(info->height, whole->height);
    assert_int_equal(info->width, whole->width);
    assert_memory_equal(info->mean, whole->mean, sizeof info->mean);
    assert_memory_equal(info->deviation, whole->deviation, sizeof info->deviation);
    for (int split = 0; split < SH_SPLITS; split++) {
        assert_int_equal(info->count[split], whole->count[split]);
        for (uint32_t i = 0; i < info->count[split]; i++)
            assert_sample(c, (sh_split)split, i);
    }
}

static void it_is_the_data_set_of_the_others(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        courier c;
        sh_dataset *data = set_open(&s, kind);
        courier_open(&c, data);
        assert_same(&c);
        assert_int_equal(sh_mirror_missing(c.mirror), 0);
        assert_int_equal(c.brought, sh_mirror_manifest(c.mirror)->blocks);
        sh_manifest *again;
        assert_ok(sh_manifest_make(&again, c.set));
        assert_string_equal(again->root, sh_mirror_manifest(c.mirror)->root);
        sh_manifest_free(again);
        courier_close(&c);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
}

static void a_block_from_a_liar_is_asked_of_others(void **state)
{
    (void)state;
    fixture s;
    courier c;
    sh_dataset *data = set_open(&s, SET_CIFAR10);
    courier_open(&c, data);
    c.tampers[1] = true;
    need_all(&c);
    assert_same(&c);
    const uint32_t blocks = sh_mirror_manifest(c.mirror)->blocks;
    const uint32_t refused = sh_mirror_counted(c.mirror).refused;
    assert_true(refused > 0);
    assert_int_equal(c.brought, blocks + refused);
    assert_int_equal(sh_mirror_counted(c.mirror).put, blocks);
    courier_close(&c);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void what_is_missing_is_not_provided_to_others(void **state)
{
    (void)state;
    fixture s;
    courier c;
    uint8_t byte;
    sh_manifest *none = NULL;
    sh_dataset *data = set_open(&s, SET_CIFAR100);
    courier_open(&c, data);
    c.stands = true;
    assert_fails(sh_contents_read(c.set, 1, 70000, &byte, 1), SH_NOT_FOUND,
                 "byte 70000 of validation.bin has not arrived yet");
    assert_fails(sh_manifest_make(&none, c.set), SH_NOT_FOUND, "has not arrived yet");
    while (bring(&c))
        ;
    assert_ok(sh_contents_read(c.set, 1, 70000, &byte, 1));
    courier_close(&c);
    sh_dataset_close(data);
    fixture_remove(&s);
}

/* Returns the number of blocks delivered before the batch was read, with `link` background blocks
 * per sample. */
static uint32_t brought_before_batch(courier *c, uint32_t batch, uint32_t link)
{
    sh_order order;
    sh_order_init(&order, 1, 0, sh_dataset_about(c->set)->count[SH_SPLIT_TRAIN]);
    for (uint32_t i = 0; i < (batch + 1) * BATCH; i++) {
        assert_sample(c, SH_SPLIT_TRAIN, sh_order_at(&order, i));
        for (uint32_t k = 0; k < link; k++)
            (void)bring(c);
    }
    return c->brought;
}

/* Skips the test without SHOAL_TEST_DATA. */
static sh_dataset *open_real(fixture *s, const char *name)
{
    char path[SCRATCH_BYTES];
    find_real_data(path, sizeof path, name);
    sh_dataset *data;
    fixture_new(s);
    assert_ok(sh_dataset_open(&data, path, NULL));
    return data;
}

static void real_data_are_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"mnist", "cifar10"};
    for (int i = 0; i < 2; i++) {
        fixture s;
        courier c;
        sh_dataset *data = open_real(&s, names[i]);
        courier_open(&c, data);
        need_all(&c);
        const uint32_t blocks = sh_mirror_manifest(c.mirror)->blocks;
        const uint32_t first = brought_before_batch(&c, 0, 1);
        assert_true(first < blocks / 2);
        assert_same(&c);
        assert_int_equal(c.brought, blocks);
        print_message("%s: %u of %u blocks when the first batch was read\n", names[i], first,
                      blocks);
        courier_close(&c);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
}

/* 20000 images in 240 blocks; a batch needs those of its samples. */
static void training_begins_before_half_has_come(void **state)
{
    (void)state;
    fixture s;
    courier c;
    fixture_new(&s);
    sh_dataset *data;
    static const char *const names[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"};
    static const char *const labels[] = {"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"};
    assert_int_equal(mkdir(fixture_path(&s, "data"), 0700), 0);
    for (int split = 0; split < SH_SPLITS; split++) {
        char name[64];
        snprintf(name, sizeof name, "data/%s", names[split]);
        set_put_idx(&s, name, split == 0 ? 20000 : 300, true, false);
        snprintf(name, sizeof name, "data/%s", labels[split]);
        set_put_idx(&s, name, split == 0 ? 20000 : 300, false, false);
    }
    assert_ok(sh_dataset_open(&data, fixture_path(&s, "data"), NULL));
    courier_open(&c, data);
    need_all(&c);
    const uint32_t blocks = sh_mirror_manifest(c.mirror)->blocks;
    assert_true(brought_before_batch(&c, 0, 0) <=
                BATCH + 2 + BATCH / 16); /* some samples span blocks */
    assert_true(c.brought < blocks / 2);
    assert_true(brought_before_batch(&c, 1, 1) <= blocks);
    courier_close(&c);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void *courier_main(void *argument)
{
    courier *c = argument;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        const bool ending = c->ending;
        pthread_mutex_unlock(&c->lock);
        if (ending)
            return NULL;
        if (!bring(c))
            sched_yield();
    }
}

static void lanes_read_while_blocks_come(void **state)
{
    (void)state;
    fixture s;
    courier c;
    pthread_t network;
    sh_prefetch *prefetch;
    sh_order order;
    sh_dataset *data = set_open(&s, SET_CIFAR10);
    courier_open(&c, data);
    c.stands = true;
    const uint32_t count = sh_dataset_about(data)->count[SH_SPLIT_TRAIN];
    sh_order_init(&order, 1, 0, count);
    assert_true(sh_dataset_touches(c.set));
    assert_ok(sh_prefetch_start(&prefetch, c.set, NULL));
    sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, &order, 0, count);
    assert_int_equal(pthread_create(&network, NULL, courier_main, &c), 0);
    for (uint32_t i = 0; i < count; i++)
        assert_sample(&c, SH_SPLIT_TRAIN, sh_order_at(&order, i));
    sh_prefetch_stop(prefetch);
    pthread_mutex_lock(&c.lock);
    c.ending = true;
    pthread_mutex_unlock(&c.lock);
    pthread_join(network, NULL);
    courier_close(&c);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void a_pipeline_takes_it(void **state)
{
    (void)state;
    fixture s;
    courier c;
    sh_pipeline *mine, *theirs;
    sh_dataset *data = set_open(&s, SET_CIFAR10);
    courier_open(&c, data);
    const sh_pipeline_options options = {.augment = "crop,flip", .resize = 40, .seed = 3};
    assert_ok(sh_pipeline_adopt(&mine, c.set, &options));
    assert_ok(sh_pipeline_open(&theirs, fixture_path(&s, "data"), &options));
    for (uint32_t i = 0; i < 20; i++) {
        float pixels[3 * 40 * 40], expected[3 * 40 * 40];
        int32_t label, class;
        assert_ok(sh_pipeline_read(mine, SH_SPLIT_TRAIN, 2, i * 10, pixels, &label));
        assert_ok(sh_pipeline_read(theirs, SH_SPLIT_TRAIN, 2, i * 10, expected, &class));
        assert_int_equal(label, class);
        assert_memory_equal(pixels, expected, sizeof pixels);
    }
    sh_pipeline_close(mine);
    c.set = NULL;
    courier_close(&c);
    sh_pipeline_close(theirs);
    sh_dataset_close(data);
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_data_set_of_the_others),
        cmocka_unit_test(a_block_from_a_liar_is_asked_of_others),
        cmocka_unit_test(what_is_missing_is_not_provided_to_others),
        cmocka_unit_test(training_begins_before_half_has_come),
        cmocka_unit_test(lanes_read_while_blocks_come),
        cmocka_unit_test(a_pipeline_takes_it),
        cmocka_unit_test(real_data_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
