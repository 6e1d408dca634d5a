/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary JSON as the job, the position and the best validation of a checkpoint with valid
 * tensors: training can go on from an accepted one. A zero byte separates the parts.
 */
#include "train/snapshot.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/checkpoint.h"

enum { TENSORS_MOST = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sh_replica *replica;
static char path[SH_PATH_BYTES];
static sh_safetensors *good;

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A written checkpoint, kept in memory. */
static void make_good(void)
{
    const sh_problem problem = {1, 2, 2, 2, SH_TARGET_CLASS};
    char folder[] = "/tmp/shoal-fuzz-XXXXXX", name[64];
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:4-3-2");
    snprintf(job.data, sizeof job.data, "digits");
    job.steps = 6;
    must(mkdtemp(folder) != NULL && sh_job_complete(&job) == SH_OK);
    must(sh_replica_new(&replica, &job, &problem) == SH_OK);
    must(sh_snapshot_save(folder, &job, &(sh_snapshot_data){"f1", NULL}, replica) == SH_OK);
    must(sh_checkpoint_open(&good, path, folder) == SH_OK);
    snprintf(name, sizeof name, "%s/last.safetensors", folder);
    (void)unlink(name); /* the file stays open */
    (void)rmdir(folder);
}

/* A file with the valid tensors and other metadata. */
static size_t compose(uint8_t *bytes, size_t room, const char *job, const char *position)
{
    json_t *header = json_pack("{s:{s:s, s:s, s:s}}", "__metadata__", "shoal.job", job,
                               "shoal.position", position, "shoal.data", "f1");
    uint64_t at = 0;
    uint8_t tensors[8192];
    for (size_t i = 0; header != NULL && i < sh_safetensors_count(good); i++) {
        sh_type type;
        must(i < TENSORS_MOST && sh_safetensors_type(&type, good, i) == SH_OK);
        const size_t count = sh_type_bytes(&type);
        must(at + count <= sizeof tensors);
        must(sh_safetensors_read(good, i, tensors + at, count) == SH_OK);
        json_t *shape = json_array();
        for (size_t k = 0; k < type.shape.rank; k++)
            json_array_append_new(shape, json_integer((json_int_t)type.shape.dim[k]));
        json_object_set_new(header, sh_safetensors_name(good, i),
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", sh_dtype_text(type.dtype),
                                      "shape", shape, "data_offsets", (json_int_t)at,
                                      (json_int_t)(at + count)));
        at += count;
    }
    char *text = header == NULL ? NULL : json_dumps(header, JSON_COMPACT);
    json_decref(header);
    const size_t length = text == NULL ? 0 : strlen(text);
    const bool fits = text != NULL && 8 + length + at <= room;
    for (int i = 0; fits && i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    if (fits) {
        memcpy(bytes + 8, text, length);
        memcpy(bytes + 8 + length, tensors, at);
    }
    free(text);
    return fits ? 8 + length + at : 0;
}

static void read_back(const uint8_t *bytes, size_t count)
{
    sh_safetensors *file;
    sh_job job;
    uint64_t steps;
    if (sh_safetensors_open_bytes(&file, "input", bytes, count) != SH_OK)
        return;
    const sh_status status = sh_snapshot_read_job(&job, file);
    must(status == SH_OK || sh_message()[0] != '\0');
    if (sh_snapshot_read_steps(&steps, file) == SH_OK && sh_snapshot_load(replica, file) == SH_OK)
        must(replica->steps == steps && isfinite(replica->epoch.loss) &&
             sh_best_is_possible(&replica->best, steps));
    sh_safetensors_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[1 << 16];
    char text[8192];
    if (replica == NULL)
        make_good();
    const size_t kept = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, kept);
    text[kept] = '\0';
    const char *position = text + strlen(text) + (strlen(text) < kept);
    const size_t count = compose(bytes, sizeof bytes, text, position);
    if (count > 0)
        read_back(bytes, count);
    return 0;
}
