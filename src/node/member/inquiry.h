/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks devices which one coordinates the job: all at once, for SH_INQUIRY_PATIENCE_MS at most. A
 * coordinator answers with its proof, another device with the coordinator's address.
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

/* The answers, by door. */
typedef struct sh_inquiry_answers {
    uint32_t count;
    sh_heir_answer words[SH_INQUIRY_DOORS_MAX];
    sh_claimed claimed[SH_INQUIRY_DOORS_MAX]; /* if it leads */
    sh_door way[SH_INQUIRY_DOORS_MAX];        /* to its coordinator, if it follows */
} sh_inquiry_answers;

typedef struct sh_inquiry_options {
    sh_loop *loop;
    const sh_token *token; /* its secret admits to the doors; borrowed for sh_inquiry_start */
    const sh_door *doors;  /* copied; a door without a port counts as silent */
    uint32_t count;        /* at most SH_INQUIRY_DOORS_MAX */
    /* All have answered or time is up. `answers` is borrowed until on_done returns. */
    void (*on_done)(void *context, const sh_inquiry_answers *answers);
    void *context;
} sh_inquiry_options;

/* `*inquiry` is owned: sh_inquiry_stop, also after on_done but not inside it. */
sh_status sh_inquiry_start(sh_inquiry **inquiry, const sh_inquiry_options *options) SHOAL_CHECKED;

/* Frees the inquiry and ends calls of on_done. NULL is allowed. */
void sh_inquiry_stop(sh_inquiry *inquiry);

/* Asks and waits for the answers. After a failure, all doors count as silent. Any thread except the
 * loop's. */
void sh_inquiry_ask(sh_inquiry_answers *answers, const sh_inquiry_options *options);

#endif
