/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of two donors, each after a byte that names the donor. Refused frames have a message,
 * accepted ones stay within their sink, and a replica reported complete is a valid one.
 */
#include "train/replica_receiver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 2, STEPS = 6, SAMPLES = 16, BATCH = 8, TENSORS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* 23 weights, three of them frozen; in chunks of 3, 7, 7 and 6. */
static sh_job small_job(uint32_t wire)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:4-3-2");
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.optimizer, sizeof job.optimizer, "adam");
    snprintf(job.schedule, sizeof job.schedule, "cosine");
    snprintf(job.freeze, sizeof job.freeze, "fc1.bias");
    job.clip_norm = 0.5f;
    job.wire = wire;
    job.batch_size = BATCH;
    job.steps = STEPS;
    must(sh_job_complete(&job) == SH_OK);
    return job;
}

static void check_complete(const sh_replica_receiver *receiver, const sh_replica *replica)
{
    float envelopes[TENSORS];
    int32_t exponents[TENSORS];
    if (!sh_replica_receiver_complete(receiver))
        return;
    must(replica->steps == sh_replica_receiver_position(receiver).steps && replica->steps <= STEPS);
    must(isfinite(replica->epoch.loss) && replica->epoch.samples <= SAMPLES);
    must(sh_replica_receiver_left_bytes(receiver) == 0);
    sh_sum_state_get(replica->sum, envelopes, exponents);
    must(sh_sum_state_set(replica->sum, envelopes, exponents) == SH_OK);
}

static sh_status feed(sh_replica_receiver *receiver, const sh_replica *replica, const uint8_t *data,
                      size_t size)
{
    while (size > SH_FRAME_BYTES) {
        sh_frame head;
        sh_sink sink;
        const uint32_t stream = data[0] % STREAMS;
        SH_TRY(sh_frame_decode(&head, data + 1));
        data += 1 + SH_FRAME_BYTES;
        size -= 1 + SH_FRAME_BYTES;
        SH_TRY(sh_replica_receiver_frame(receiver, stream, &head, &sink));
        must(sink.adds == 0 && sink.bytes == head.bytes && sink.data != NULL);
        must(!sh_replica_receiver_complete(receiver));
        const size_t got = size < sink.bytes ? size : sink.bytes;
        memset(sink.data, 0, sink.bytes); /* zeros appended to the input */
        memcpy(sink.data, data, got);
        data += got;
        size -= got;
        SH_TRY(sh_replica_receiver_done(receiver, stream, &head));
        check_complete(receiver, replica);
    }
    return SH_OK;
}

/* The same frames fit both wires, except the sums. */
static void take_over(sh_replica **kept, uint32_t wire, const uint8_t *data, size_t size)
{
    const sh_problem problem = {1, 2, 2, 2, SH_TARGET_CLASS};
    const sh_job job = small_job(wire);
    const sh_schedule schedule = sh_schedule_of(&job, SAMPLES);
    sh_replica_receiver *receiver;
    if (*kept == NULL)
        must(sh_replica_new(kept, &job, &problem) == SH_OK && (*kept)->summed == TENSORS);
    sh_replica *replica = *kept;
    replica->steps = 0; /* the rest is the receiver's to fill */
    must(sh_replica_receiver_new(&receiver, &(sh_replica_receiver_options){.replica = replica,
                                                                           .job = &job,
                                                                           .schedule = &schedule,
                                                                           .transfer = 7,
                                                                           .streams = STREAMS,
                                                                           .chunk_elements = 7}) ==
         SH_OK);
    if (feed(receiver, replica, data, size) != SH_OK)
        must(sh_message()[0] != '\0');
    sh_replica_receiver_free(receiver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sh_replica *wide, *narrow;
    take_over(&wide, 32, data, size);
    take_over(&narrow, 8, data, size);
    return 0;
}
