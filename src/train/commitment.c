/* SPDX-License-Identifier: Apache-2.0 */
#include "train/commitment.h"

sh_sum_check sh_commitment_of(const sh_sum *sum, const sh_sum_block *block, uint32_t key)
{
    const sh_sum_layout *layout = sh_sum_layout_of(sum);
    const size_t wide = layout->wide_elements, narrow = block->elements - wide;
    const unsigned char *accumulator = block->accumulator;
    sh_sum_check check = {0};
    sh_sum_check_add(&check, key, 0, accumulator, wide, sizeof(int32_t));
    if (narrow > 0)
        sh_sum_check_add(&check, key, wide, accumulator + sh_layout_offset(layout, wide), narrow,
                         (uint32_t)layout->narrow_bytes);
    sh_sum_check_add(&check, key, block->elements, block->trailer + SH_SUM_NOTE_WORDS,
                     block->words - SH_SUM_NOTE_WORDS, sizeof(uint64_t));
    return check;
}

void sh_commitment_falsify(sh_sum *sum)
{
    const sh_sum_block own = sh_sum_own(sum);
    const sh_sum_layout *layout = sh_sum_layout_of(sum);
    const size_t last = own.elements - 1;
    ((unsigned char *)own.accumulator)[sh_layout_offset(layout, last)] ^= 1 << 4;
}
