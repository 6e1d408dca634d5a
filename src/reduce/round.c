/* SPDX-License-Identifier: Apache-2.0 */
/* An announcement posts a *look* to the loop unless one is pending. */
#include "reduce/round.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void sh_round_init(sh_round *round, const sh_engine *engine, sh_loop *loop,
                   const sh_round_events *events)
{
    memset(round, 0, sizeof *round);
    round->engine = *engine;
    round->loop = loop;
    round->events = *events;
    pthread_mutex_init(&round->lock, NULL);
    pthread_cond_init(&round->ended, NULL);
}

void sh_round_release(sh_round *round)
{
    pthread_cond_destroy(&round->ended);
    pthread_mutex_destroy(&round->lock);
}

void sh_round_fail(sh_round *round, sh_status status, const char *reason)
{
    pthread_mutex_lock(&round->lock);
    if (round->failure == SH_OK) {
        round->failure = status;
        snprintf(round->reason, sizeof round->reason, "%s", reason);
    }
    sh_round_wake(round);
    pthread_mutex_unlock(&round->lock);
}

/* ---- the loop's side ------------------------------------------------------------------------- */

static void look(void *context)
{
    sh_round *round = context;
    bool news[SH_ENGINE_MAX_SPANS];
    pthread_mutex_lock(&round->lock);
    round->posted = false;
    const bool begins = round->number != round->begun;
    if (begins) {
        assert(round->spans_left == 0);
        round->number = round->begun;
        round->watching = round->watcher;
        round->deciding = round->decider;
        round->asked = false;
        round->decided = round->decider.decide == NULL;
        round->spans = round->begun_spans;
        round->span_count = round->spans_left = round->begun_count;
    }
    memcpy(news, round->announced, sizeof news);
    memset(round->announced, 0, sizeof round->announced);
    pthread_mutex_unlock(&round->lock);
    if (begins)
        round->events.on_begin(round);
    for (uint32_t i = 0; i < round->span_count; i++)
        if (news[i])
            round->events.on_ready(round, i);
    round->events.on_look(round);
}

static bool is_last(const sh_round *round, uint32_t span)
{
    return span + 1 == round->span_count;
}

bool sh_round_settle(sh_round *round, uint32_t span)
{
    uint64_t word = 0;
    if (round->decided || !is_last(round, span))
        return true;
    const bool last = round->spans_left == 1;
    if (round->asked && !last)
        return false;
    round->asked = true;
    round->decided = round->deciding.decide(round->deciding.context, last, &word);
    if (round->decided)
        *(uint64_t *)round->spans[span].total += word;
    return round->decided;
}

void sh_round_complete(const sh_round *round, uint32_t span)
{
    const sh_engine_watcher *watching = &round->watching;
    if ((round->decided || !is_last(round, span)) && watching->on_span != NULL)
        watching->on_span(watching->context, span, &round->spans[span]);
}

void sh_round_leave(sh_round *round)
{
    round->spans_left--;
    if (round->spans_left == 1 && !round->decided)
        round->events.on_last(round);
    if (round->spans_left > 0)
        return;
    pthread_mutex_lock(&round->lock);
    round->finished++;
    sh_round_wake(round);
    pthread_mutex_unlock(&round->lock);
}

void sh_round_add_gathered(sh_round *round, size_t words)
{
    pthread_mutex_lock(&round->lock);
    round->gathered += words;
    sh_round_wake(round);
    pthread_mutex_unlock(&round->lock);
}

/* ---- the other threads' side ----------------------------------------------------------------- */

/* Caller locks. */
static sh_status post_look(sh_round *round)
{
    if (round->posted)
        return SH_OK;
    SH_TRY(sh_loop_post(round->loop, look, round));
    round->posted = true;
    return SH_OK;
}

sh_status sh_round_begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    sh_round *round = (sh_round *)engine;
    assert(count > 0 && count <= SH_ENGINE_MAX_SPANS);
    pthread_mutex_lock(&round->lock);
    assert(round->begun == round->finished || round->failure != SH_OK);
    round->begun++;
    round->begun_spans = spans;
    round->begun_count = count;
    round->gathered = 0;
    const sh_status status = round->failure == SH_OK ? post_look(round) : SH_OK;
    pthread_mutex_unlock(&round->lock);
    return status;
}

void sh_round_ready(sh_engine *engine, uint32_t span)
{
    sh_round *round = (sh_round *)engine;
    pthread_mutex_lock(&round->lock);
    round->announced[span] = true;
    const bool posted = round->failure != SH_OK || post_look(round) == SH_OK;
    pthread_mutex_unlock(&round->lock);
    if (!posted)
        sh_round_fail(round, SH_LIMIT, sh_message());
}

void sh_round_await(sh_round *round)
{
    round->waiting = true;
    pthread_cond_wait(&round->ended, &round->lock);
}

void sh_round_wake(sh_round *round)
{
    round->waiting = false;
    pthread_cond_broadcast(&round->ended);
}

bool sh_round_waits(sh_round *round)
{
    pthread_mutex_lock(&round->lock);
    const bool waits = round->waiting;
    pthread_mutex_unlock(&round->lock);
    return waits;
}

void sh_round_call(sh_round *round)
{
    pthread_mutex_lock(&round->lock);
    if (round->waiting)
        sh_round_wake(round);
    pthread_mutex_unlock(&round->lock);
}

sh_status sh_round_wait(sh_engine *engine)
{
    sh_round *round = (sh_round *)engine;
    pthread_mutex_lock(&round->lock);
    while (round->finished != round->begun && round->failure == SH_OK)
        sh_round_await(round);
    const bool done = round->finished == round->begun;
    pthread_mutex_unlock(&round->lock);
    /* Once set, `failure` does not change, so it may be read without the lock. */
    return done ? SH_OK : sh_fail(round->failure, "%s", round->reason);
}

sh_status sh_round_gathered(sh_engine *engine, size_t have, size_t *words)
{
    sh_round *round = (sh_round *)engine;
    pthread_mutex_lock(&round->lock);
    while (round->gathered <= have && round->failure == SH_OK)
        sh_round_await(round);
    const size_t gathered = round->gathered;
    pthread_mutex_unlock(&round->lock);
    if (gathered <= have)
        return sh_fail(round->failure, "%s", round->reason);
    *words = gathered;
    return SH_OK;
}

void sh_round_watch(sh_engine *engine, const sh_engine_watcher *watcher)
{
    sh_round *round = (sh_round *)engine;
    pthread_mutex_lock(&round->lock);
    round->watcher = *watcher;
    pthread_mutex_unlock(&round->lock);
}

void sh_round_abort(sh_engine *engine, sh_status status, const char *reason)
{
    sh_round_fail((sh_round *)engine, status, reason);
}

void sh_round_decide(sh_round *round, const sh_engine_decider *decider)
{
    pthread_mutex_lock(&round->lock);
    round->decider = *decider;
    pthread_mutex_unlock(&round->lock);
}
