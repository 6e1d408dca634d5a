/* SPDX-License-Identifier: Apache-2.0 */
#include "train/lane_list.h"

#include <stdlib.h>
#include <string.h>

#include "train/lanes.h"

static sh_status refuse(const char *text)
{
    return sh_fail(SH_INVALID,
                   "--lanes %s: must be a number of cores, or GPUs and cores, such as gpu:0,cpu:4",
                   text);
}

/* Reads a whole number that ends at a comma or the end of the text; *end points there. */
static bool read_number(const char *text, uint64_t *number, const char **end)
{
    char *behind;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *number = strtoull(text, &behind, 10); /* saturates */
    *end = behind;
    return *behind == '\0' || *behind == ',';
}

static sh_status add_cores(sh_lane_list *list, uint64_t cores, const char *text)
{
    if (list->cores != 0)
        return sh_fail(SH_INVALID, "--lanes %s: gives the number of cores twice", text);
    if (cores == 0)
        return sh_fail(SH_INVALID, "--lanes %s: must be at least 1", text);
    if (cores > SH_LANES_MAX)
        return sh_fail(SH_INVALID, "--lanes %s: must be at most %d", text, SH_LANES_MAX);
    list->cores = (uint32_t)cores;
    return SH_OK;
}

static sh_status add_gpu(sh_lane_list *list, uint64_t gpu, const char *text)
{
    if (gpu >= SH_GPU_MAX)
        return sh_fail(SH_INVALID, "--lanes %s: GPUs have numbers from 0 to %d", text,
                       SH_GPU_MAX - 1);
    for (uint32_t i = 0; i < list->gpu_count; i++)
        if (list->gpus[i] == gpu)
            return sh_fail(SH_INVALID, "--lanes %s: names GPU %u twice", text, list->gpus[i]);
    list->gpus[list->gpu_count++] = (uint32_t)gpu;
    return SH_OK;
}

sh_status sh_lane_list_parse(sh_lane_list *list, const char *text)
{
    sh_lane_list read = {0};
    const char *end = text;
    uint64_t number;
    if (text != NULL && read_number(text, &number, &end) && *end == '\0')
        SH_TRY(add_cores(&read, number, text));
    else
        for (const char *at = text; at != NULL; at = *end == ',' ? end + 1 : NULL) {
            const bool is_gpu = strncmp(at, "gpu:", 4) == 0;
            if ((!is_gpu && strncmp(at, "cpu:", 4) != 0) || !read_number(at + 4, &number, &end))
                return refuse(text);
            SH_TRY(is_gpu ? add_gpu(&read, number, text) : add_cores(&read, number, text));
        }
    *list = read;
    return SH_OK;
}
