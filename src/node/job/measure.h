/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the weights of a session on the validation samples, in one pass on this device. Figures
 * depend only on weights and samples, to the bit.
 *
 *     session->on_answers = collect; // calls sh_measure_add; before the session starts
 *     SH_TRY(sh_measure_new(&measure, session, 100));
 *     SH_TRY(sh_measure_run(measure, session, &found));
 *     puts(found.metrics);
 *     sh_measured_release(&found);
 *     sh_measure_free(measure);
 *
 * Threads: any for sh_measure_add; else as the trainer.
 */
#ifndef SHOAL_NODE_MEASURE_H
#define SHOAL_NODE_MEASURE_H

#include "train/session.h"

typedef struct sh_measure sh_measure;

typedef struct sh_measured {
    uint64_t samples;
    sh_figures figures;
    char *metrics;  /* JSON (node/record/assessment.h); owned */
    char *worst;    /* CSV; NULL: not requested; owned */
    char *pictures; /* JSON (node/record/worst_pictures.h); likewise */
} sh_measured;

/* `*measure` is owned. `worst`: number of samples with the largest losses to keep. SH_NO_MEMORY. */
sh_status sh_measure_new(sh_measure **measure, const sh_session *session,
                         uint32_t worst) SHOAL_CHECKED;
void sh_measure_free(sh_measure *measure);

/* Any lane. Accepts a NULL measure. */
void sh_measure_add(sh_measure *measure, const sh_answers *answers);

/* Once per measure. The session has started, and its on_answers calls sh_measure_add. The replica
 * counts the pass as a validation. Fails as sh_trainer_evaluate. */
sh_status sh_measure_run(sh_measure *measure, sh_session *session,
                         sh_measured *found) SHOAL_CHECKED;
void sh_measured_release(sh_measured *found);

#endif
