/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: small data sets of a few blocks, of every on-disk kind.
 *
 *     fixture s;
 *     sh_dataset *data = set_open(&s, SET_MNIST);
 *     sh_dataset_close(data);
 *     fixture_remove(&s);
 *
 * Threads: one. Errors fail the test.
 */
#ifndef SHOAL_DATA_DELIVERY_FIXTURE_H
#define SHOAL_DATA_DELIVERY_FIXTURE_H

#include "base/random.h"
#include "data/dataset.h"
#include "data/fixture.h"

typedef enum set_kind {
    SET_MNIST, /* 1200 + 300 images of 28 x 28, half of the files gzipped */
    SET_CIFAR10,
    SET_CIFAR100,
    SET_KINDS,
} set_kind;

enum { SET_IMAGE_MOST = 3 * 32 * 32, SET_SIDE = 28 };

static inline void set_fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    const uint32_t key[2] = {seed, 7};
    for (size_t i = 0; i < count; i += 16) {
        const uint32_t counter[4] = {(uint32_t)(i / 16), 0, 0, 0};
        uint32_t block[4];
        sh_philox(counter, key, block);
        memcpy(bytes + i, block, count - i < 16 ? count - i : 16);
    }
}

static inline void set_put_idx(fixture *s, const char *name, uint32_t count, bool images,
                               bool packed)
{
    const size_t head = images ? 16 : 8;
    const size_t bytes = head + count * (images ? (size_t)SET_SIDE * SET_SIDE : 1);
    uint8_t *content = calloc(1, bytes);
    assert_non_null(content);
    set_fill(content + head, bytes - head, count + images);
    for (size_t i = head; !images && i < bytes; i++)
        content[i] %= 10;
    content[2] = 8;
    content[3] = images ? 3 : 1;
    content[6] = (uint8_t)(count >> 8);
    content[7] = (uint8_t)count;
    if (images)
        content[11] = content[15] = SET_SIDE;
    if (packed)
        fixture_gzip(s, name, content, bytes);
    else
        fixture_write(s, name, content, bytes);
    free(content);
}

static inline void set_put_cifar(fixture *s, const char *name, uint32_t count, bool hundred)
{
    static const uint8_t ten_classes[] = {10}, hundred_classes[] = {20, 100};
    const uint8_t *classes = hundred ? hundred_classes : ten_classes;
    const size_t labels = hundred ? 2 : 1, record = labels + SET_IMAGE_MOST;
    uint8_t *content = malloc(count * record);
    assert_non_null(content);
    set_fill(content, count * record, count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < labels; k++)
            content[i * record + k] = (uint8_t)(content[i * record + k] % classes[k]);
    fixture_write(s, name, content, count * record);
    free(content);
}

static inline void set_make(fixture *s, set_kind kind)
{
    fixture_new(s);
    assert_int_equal(mkdir(fixture_path(s, "data"), 0700), 0);
    if (kind == SET_MNIST) {
        set_put_idx(s, "data/train-images-idx3-ubyte.gz", 1200, true, true);
        set_put_idx(s, "data/train-labels-idx1-ubyte", 1200, false, false);
        set_put_idx(s, "data/t10k-images-idx3-ubyte", 300, true, false);
        set_put_idx(s, "data/t10k-labels-idx1-ubyte.gz", 300, false, true);
    } else if (kind == SET_CIFAR10) {
        set_put_cifar(s, "data/data_batch_1.bin", 90, false);
        set_put_cifar(s, "data/data_batch_2.bin", 1, false);
        set_put_cifar(s, "data/data_batch_5.bin", 120, false);
        set_put_cifar(s, "data/test_batch.bin", 50, false);
    } else {
        set_put_cifar(s, "data/train.bin", 100, true);
        set_put_cifar(s, "data/test.bin", 30, true);
    }
}

static inline sh_dataset *set_open(fixture *s, set_kind kind)
{
    sh_dataset *data;
    set_make(s, kind);
    assert_ok(sh_dataset_open(&data, fixture_path(s, "data"), NULL));
    return data;
}

#endif
