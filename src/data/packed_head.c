/* SPDX-License-Identifier: Apache-2.0 */
#include "data/packed_head.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAGIC_BYTES 8
#define VERSION 1
#define ALIGNMENT 4096 /* of the samples: a page */
#define FINGERPRINT (SH_DIGEST_TEXT - 1)

static const char magic[MAGIC_BYTES] = {'s', 'h', 'o', 'a', 'l', 's', 'e', 't'};

static uint64_t samples_of(const sh_dataset_info *info)
{
    return (uint64_t)info->count[SH_SPLIT_TRAIN] + info->count[SH_SPLIT_VALIDATION];
}

void sh_packed_layout(sh_packed_head *head)
{
    const sh_dataset_info *info = &head->info;
    const uint64_t about = SH_PACKED_ABOUT_AT + (uint64_t)head->about_bytes;
    head->samples_at = (about + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    head->targets_at = head->samples_at + samples_of(info) * sh_dataset_bytes(info);
    head->bytes =
        head->targets_at + samples_of(info) * sh_target_bytes(info->target, info->outputs);
}

/* --- the head --- */

static void put(uint8_t **at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*at)++ = (uint8_t)(value >> 8 * i);
}

static uint64_t take(const uint8_t **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(*at)[i] << 8 * i;
    *at += bytes;
    return value;
}

static void put_real(uint8_t **at, float real)
{
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    put(at, bits, 4);
}

static float take_real(const uint8_t **at)
{
    const uint32_t bits = (uint32_t)take(at, 4);
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

void sh_packed_encode(uint8_t bytes[SH_PACKED_ABOUT_AT], const sh_packed_head *head)
{
    const sh_dataset_info *info = &head->info;
    uint8_t *at = bytes;
    memcpy(at, magic, MAGIC_BYTES);
    at += MAGIC_BYTES;
    put(&at, VERSION, 4);
    put(&at, head->samples_at, 4);
    put(&at, head->targets_at, 8);
    put(&at, head->bytes, 8);
    memcpy(at, head->kind, sizeof head->kind);
    at += sizeof head->kind;
    memcpy(at, info->fingerprint, FINGERPRINT);
    at += FINGERPRINT;
    const uint64_t numbers[] = {info->channels,
                                info->height,
                                info->width,
                                info->element,
                                info->target,
                                info->outputs,
                                info->count[SH_SPLIT_TRAIN],
                                info->count[SH_SPLIT_VALIDATION]};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put(&at, numbers[i], 4);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        put_real(&at, info->mean[i]);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        put_real(&at, info->deviation[i]);
    put(&at, head->about_bytes, 4);
    assert(at == bytes + SH_PACKED_ABOUT_AT);
}

sh_contents sh_packed_contents(const sh_packed_head *head)
{
    const sh_dataset_info *info = &head->info;
    const uint64_t sample = sh_dataset_bytes(info);
    const uint64_t target = sh_target_bytes(info->target, info->outputs);
    const uint64_t train = info->count[SH_SPLIT_TRAIN];
    return (sh_contents){
        .files = 1,
        .file = {{"packed", head->bytes}},
        .sample = {{0, head->samples_at, sample}, {0, head->samples_at + train * sample, sample}},
        .target = {{0, head->targets_at, target}, {0, head->targets_at + train * target, target}},
        .target_bytes = (uint32_t)target,
    };
}

sh_status sh_packed_decode(sh_packed_head *head, const uint8_t bytes[SH_PACKED_ABOUT_AT])
{
    const uint8_t *at = bytes;
    sh_packed_head fresh = {0}, expected;
    sh_dataset_info *info = &fresh.info;
    if (memcmp(at, magic, MAGIC_BYTES) != 0)
        return sh_fail(SH_FORMAT, "is not a packed set: it does not begin with '%.*s'", MAGIC_BYTES,
                       magic);
    at += MAGIC_BYTES;
    const uint32_t version = (uint32_t)take(&at, 4);
    if (version != VERSION)
        return sh_fail(SH_VERSION, "is a packed set of version %u; this shoal knows %d", version,
                       VERSION);
    fresh.samples_at = take(&at, 4);
    fresh.targets_at = take(&at, 8);
    fresh.bytes = take(&at, 8);
    memcpy(fresh.kind, at, sizeof fresh.kind);
    at += sizeof fresh.kind;
    memcpy(info->fingerprint, at, FINGERPRINT);
    at += FINGERPRINT;
    info->channels = (size_t)take(&at, 4);
    info->height = (size_t)take(&at, 4);
    info->width = (size_t)take(&at, 4);
    info->element = (sh_element)take(&at, 4);
    info->target = (sh_target)take(&at, 4);
    info->outputs = (uint32_t)take(&at, 4);
    for (int split = 0; split < SH_SPLITS; split++)
        info->count[split] = (uint32_t)take(&at, 4);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        info->mean[i] = take_real(&at);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        info->deviation[i] = take_real(&at);
    fresh.about_bytes = (uint32_t)take(&at, 4);
    if (fresh.kind[sizeof fresh.kind - 1] != '\0' ||
        strspn(info->fingerprint, "0123456789abcdef") != FINGERPRINT ||
        fresh.about_bytes > SH_PACKED_HEAD_MOST - SH_PACKED_ABOUT_AT - ALIGNMENT)
        return sh_fail(SH_FORMAT, "is a damaged packed set: its header is invalid");
    const sh_contents contents = sh_packed_contents(&fresh);
    SH_TRY(sh_fail_in(sh_contents_check(&contents, info), "is a damaged packed set"));
    for (size_t i = 0; i < info->channels && info->element == SH_ELEMENT_BYTE; i++)
        if (!isfinite(info->mean[i]) || !(info->deviation[i] > 0))
            return sh_fail(SH_FORMAT, "is a damaged packed set: channel %zu has no mean", i);
    expected = fresh;
    sh_packed_layout(&expected);
    if (expected.samples_at != fresh.samples_at || expected.targets_at != fresh.targets_at ||
        expected.bytes != fresh.bytes)
        return sh_fail(SH_FORMAT, "is a damaged packed set: the offset of the samples is invalid");
    *head = fresh;
    return SH_OK;
}
