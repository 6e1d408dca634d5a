/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sum_layout.h"

#include <stdlib.h>

#include "base/memory.h"

static const sh_sum_form forms[] = {
    {.wire = 32,
     .word = SH_WORD_I32,
     .bound_shift = 8,
     .limit_bits = 23, /* 2^31 units: the sum may wrap */
     .redo_bits = 22,
     .coarse_bits = 10,
     .exponent_max = SH_SUM_EXPONENT_MAX,
     .envelope_bits = 24,
     .of_bound = 0x1p-4f},
    {.wire = 16,
     .word = SH_WORD_I16,
     .narrow = SH_NARROW_16,
     .bound_shift = -8,
     .limit_bits = 38, /* SH_NARROW_LARGEST units: terms may be clamped */
     .redo_bits = 22,
     .coarse_bits = 16,
     .exponent_max = SH_SUM_EXPONENT_MAX_NARROW,
     .envelope_bits = 11,
     .of_bound = 0x1p-6f},
    {.wire = 8,
     .word = SH_WORD_I8,
     .narrow = SH_NARROW_8,
     .bound_shift = -8,
     .limit_bits = 38,
     .redo_bits = 14,
     .coarse_bits = 11,
     .exponent_max = SH_SUM_EXPONENT_MAX_NARROW,
     .envelope_bits = 5,
     .of_bound = 0x1p-6f},
};
#define FORMS (sizeof forms / sizeof *forms)

sh_status sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options)
{
    const sh_sum_form *wide_form = &forms[0], *form = wide_form;
    *layout = (sh_sum_layout){.tensors = options->tensors};
    if (options->tensors == 0)
        return sh_fail(SH_INVALID, "a sum of gradients needs at least one tensor");
    layout->places = calloc(options->tensors, sizeof *layout->places);
    layout->buckets = calloc(options->tensors, sizeof *layout->buckets);
    if (layout->places == NULL || layout->buckets == NULL)
        return sh_fail_memory(options->tensors * sizeof *layout->buckets, "the sum of gradients");
    while (options->wire != 0 && form < forms + FORMS && form->wire != options->wire)
        form++;
    if (form == forms + FORMS)
        return sh_fail(SH_INVALID, "gradients cannot be summed in %u bits", options->wire);
    layout->narrow_bytes = sh_words_bytes(form->word);
    for (uint32_t t = 0; t < layout->tensors; t++) {
        const size_t elements = options->tensor_elements[t];
        const bool wide = form == wide_form || t < options->wide;
        size_t end, bytes;
        if (elements == 0)
            return sh_fail(SH_INVALID, "the gradient of tensor %u has no elements", t);
        if (__builtin_add_overflow(layout->elements, elements, &end) ||
            !sh_size_mul(end, sizeof(int32_t), &bytes) ||
            (!wide && elements >= UINT32_MAX)) /* the check has 32 bits per place */
            return sh_fail_memory(SIZE_MAX, "the sum of gradients");
        layout->places[t] = (sh_sum_place){layout->elements, elements, wide ? wide_form : form};
        layout->elements = end;
        if (wide)
            layout->wide_elements = end;
    }
    sh_sum_bucket *bucket = NULL;
    for (uint32_t t = layout->tensors; t-- > 0;) {
        const sh_sum_place *place = &layout->places[t];
        if (bucket == NULL || bucket->word != place->form->word)
            bucket = &layout->buckets[layout->bucket_count++];
        bucket->word = place->form->word;
        bucket->first_tensor = t;
        bucket->first_element = place->first_element;
        bucket->tensors++;
        bucket->elements += place->elements;
        if (bucket->elements * sh_words_bytes(bucket->word) >= options->bucket_bytes)
            bucket = NULL;
    }
    return SH_OK;
}

void sh_layout_release(sh_sum_layout *layout)
{
    free(layout->places);
    free(layout->buckets);
    *layout = (sh_sum_layout){0};
}

size_t sh_layout_offset(const sh_sum_layout *layout, size_t element)
{
    const size_t wide = element < layout->wide_elements ? element : layout->wide_elements;
    return wide * sizeof(int32_t) + (element - wide) * layout->narrow_bytes;
}

const int32_t *sh_layout_integers(const sh_sum_layout *layout, const void *accumulator,
                                  size_t first_element, size_t count, int32_t *room)
{
    const void *place =
        (const unsigned char *)accumulator + sh_layout_offset(layout, first_element);
    if (first_element < layout->wide_elements)
        return place;
    const int16_t *words = place;
    const uint8_t *bytes = place;
    if (layout->narrow_bytes == sizeof *words)
        for (size_t i = 0; i < count; i++)
            room[i] = words[i];
    else
        for (size_t i = 0; i < count; i++)
            room[i] = (bytes[i] ^ 0x80) - 0x80; /* as int8_t */
    return room;
}
