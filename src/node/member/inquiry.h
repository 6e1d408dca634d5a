/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks devices at their doors who coordinates the job: all at once, and not for long. A coordinator
 * answers with its proof, another device with its whereabouts.
 *
 *     SH_TRY(sh_inquiry_start(&inquiry, &options));
 *     ... on_done(context, answers), once ...
 *     sh_inquiry_stop(inquiry);
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_SURVEY_H
#define SHOAL_NODE_SURVEY_H

#include "net/loop.h"
#include "node/mail/claims.h"
#include "node/member/legacy.h"

#define SH_INQUIRY_DOORS_MAX (SH_HEIRS_MAX + 1)
#define SH_INQUIRY_PATIENCE_MS 400

typedef struct sh_inquiry sh_inquiry;

/* What came of it, by door. */
typedef struct sh_inquiry_answers {
    uint32_t count;
    sh_heir_answer words[SH_INQUIRY_DOORS_MAX];
    sh_claimed claimed[SH_INQUIRY_DOORS_MAX]; /* of one that leads */
    sh_door way[SH_INQUIRY_DOORS_MAX];        /* to the coordinator of one that follows */
} sh_inquiry_answers;

typedef struct sh_inquiry_options {
    sh_loop *loop;
    const sh_token *token; /* whose secret lets in; borrowed for sh_inquiry_start */
    const sh_door *doors;  /* copied; one without a port is not asked, and silent */
    uint32_t count;        /* at most SH_INQUIRY_DOORS_MAX */
    /* All have answered, or time is up. `answers` is borrowed until it returns. */
    void (*on_done)(void *context, const sh_inquiry_answers *answers);
    void *context;
} sh_inquiry_options;

/* *inquiry is owned: stop it, after on_done too, but not inside. */
sh_status sh_inquiry_start(sh_inquiry **inquiry, const sh_inquiry_options *options) SHOAL_CHECKED;

/* on_done does not come any more. NULL is fine. */
void sh_inquiry_stop(sh_inquiry *inquiry);

/* As a call of any thread but the loop's: waits for the answers. A failure is as if all were
 * silent. */
void sh_inquiry_ask(sh_inquiry_answers *answers, const sh_inquiry_options *options);

#endif
