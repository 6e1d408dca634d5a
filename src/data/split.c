/* SPDX-License-Identifier: Apache-2.0 */
#include "data/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static sh_status draw(uint64_t *drawn, const char *name)
{
    uint8_t digest[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(digest, name, strlen(name)));
    *drawn = 0;
    for (int i = 0; i < 8; i++)
        *drawn = *drawn << 8 | digest[i];
    return SH_OK;
}

static void mend_class(sh_split_item *items, const uint64_t *drawn, size_t count, uint32_t class)
{
    const sh_split_item *least = NULL, *most = NULL;
    size_t in[SH_SPLITS] = {0};
    for (size_t i = 0; i < count; i++) {
        if (items[i].class != class)
            continue;
        in[items[i].split]++;
        if (least == NULL || drawn[i] < drawn[least - items])
            least = &items[i];
        if (most == NULL || drawn[i] > drawn[most - items])
            most = &items[i];
    }
    if (least == NULL || (in[SH_SPLIT_TRAIN] > 0 && in[SH_SPLIT_VALIDATION] > 0) ||
        drawn[least - items] == drawn[most - items])
        return;
    const sh_split lacking = in[SH_SPLIT_TRAIN] == 0 ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION;
    const sh_split_item *moved = lacking == SH_SPLIT_TRAIN ? most : least;
    const uint64_t place = drawn[moved - items];
    for (size_t i = 0; i < count; i++)
        if (drawn[i] == place)
            items[i].split = lacking;
}

sh_status sh_split_assign(sh_split_item *items, size_t count, uint32_t classes, double part)
{
    const uint64_t limit = (uint64_t)(part * 0x1p64);
    size_t bytes, in[SH_SPLITS] = {0};
    sh_status status = SH_OK;
    if (!sh_size_mul(count, sizeof(uint64_t), &bytes))
        return sh_fail_memory(SIZE_MAX, "the split of the data");
    uint64_t *drawn = malloc(bytes > 0 ? bytes : 1);
    if (drawn == NULL)
        return sh_fail_memory(bytes, "the split of the data");
    for (size_t i = 0; i < count; i++) {
        SH_TRY_DONE(draw(&drawn[i], items[i].name));
        items[i].split = drawn[i] < limit ? SH_SPLIT_VALIDATION : SH_SPLIT_TRAIN;
    }
    for (uint32_t class = 0; class < classes; class ++)
        mend_class(items, drawn, count, class);
    for (size_t i = 0; i < count; i++)
        in[items[i].split]++;
    if (in[SH_SPLIT_TRAIN] == 0 || in[SH_SPLIT_VALIDATION] == 0)
        status = sh_fail(SH_INVALID,
                         "its %zu samples cannot be divided into training and "
                         "validation: they all share one name, or there is only one",
                         count);
done:
    free(drawn);
    return status;
}
