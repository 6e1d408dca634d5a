/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the coordinator is lost, or the others continued without this device, it keeps what it
 * prepared, asks the other devices who coordinates (cluster/succession.h), and joins that device or
 * becomes the coordinator. A leader that finds another one ahead becomes a follower.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "data/trained.h"
#include "node/job/backoff.h"
#include "node/job/join_impl.h"
#include "node/job/lead.h"
#include "node/job/model_file.h"
#include "node/job/training_loop.h"
#include "node/member/discovery.h"
#include "store/file.h"
#include "train/job_options.h"
#include "train/strategy.h"

#define RETRY_MS 500 /* between attempts without successors to ask */
#define ASK_AGAIN_MS 50
#define ALONE_MS 3000 /* for answers, if no device may succeed the coordinator */
#define MOVES_MAX 8

static bool may_lead(const joining *self)
{
    return !self->options->never_lead && !self->options->local && self->options->reconnect_s > 0;
}

static sh_status start_hang_guard(joining *self)
{
    return sh_hang_guard_start(&self->guard, &(sh_hang_guard_options){
                                                 .stop = sh_joining_stop(self),
                                                 .others = "the coordinator and the other devices",
                                                 .observer = self->options->observer,
                                                 .observer_context = self->options->context,
                                             });
}

/* ---- the part in the job --------------------------------------------------------------------- */

static void leave_when_asked(joining *self)
{
    if (self->said_leave || !sh_stop_requested(sh_joining_stop(self)))
        return;
    self->said_leave = true;
    sh_agent_notify(sh_member_agent(self->member),
                    &(sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
}

static sh_status on_idle(void *context, bool wait, bool *over)
{
    joining *self = context;
    sh_mail mail;
    *over = false;
    leave_when_asked(self);
    for (;;) {
        if (!sh_mailbox_take(self->mailbox, &mail)) {
            if (!wait)
                return SH_OK;
            const sh_stop *stop = self->said_leave ? NULL : sh_joining_stop(self);
            const sh_occupation before =
                sh_hang_guard_set_occupation(self->guard, SH_OCCUPATION_WAIT);
            const sh_status status = sh_agent_wait(sh_member_agent(self->member), &mail, stop);
            sh_hang_guard_set_occupation(self->guard, before);
            if (status == SH_STOPPED) {
                leave_when_asked(self);
                return SH_OK;
            }
            SH_TRY(status);
        }
        if (sh_joining_is_end(&mail)) {
            *over = true;
            return sh_joining_ended(self, &mail);
        }
        self->on_standby = self->on_standby || mail.kind == SH_MAIL_STANDBY;
        if (mail.kind == SH_MAIL_NOTE || mail.kind == SH_MAIL_STANDBY)
            sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = mail.text});
        wait = wait && mail.kind != SH_MAIL_TASK;
    }
}

static void on_view(void *context, uint32_t view, uint32_t devices)
{
    joining *self = context;
    const sh_schedule *schedule = sh_trainer_schedule(self->session->trainer);
    (void)view;
    self->on_standby = false;
    if (self->delivery != NULL)
        sh_delivery_complete(self->delivery);
    if (self->started)
        return;
    self->started = true;
    sh_progress_pace_start(&self->pace, sh_clock_now_ns(sh_clock_system()));
    sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_STARTED,
                                         .devices = devices,
                                         .epoch_steps = schedule->epoch_steps,
                                         .total_step = self->session->replica->steps,
                                         .total_steps = schedule->total_steps});
}

static sh_status on_step(void *context, const sh_progress_report *report)
{
    joining *self = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    sh_event event = sh_progress_event(SH_EVENT_STEP, report, &self->pace, now_ns);
    event.samples_per_second =
        sh_progress_rate(&self->pace, sh_schedule_batch(report->schedule, 0).samples.count, now_ns);
    self->result.train_loss = event.loss;
    sh_joining_observe(self, &event);
    self->seen_rate = event.samples_per_second;
    return SH_OK;
}

static sh_status on_validated(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation)
{
    joining *self = context;
    sh_event event =
        sh_progress_validated(report, validation, &self->pace, sh_clock_now_ns(sh_clock_system()));
    event.samples_per_second = self->seen_rate;
    self->result.train_loss = event.loss;
    self->result.val_loss = event.val_loss;
    self->result.val_accuracy = event.val_accuracy;
    self->result.val_mae = event.val_mae;
    self->result.numbers = event.numbers;
    sh_joining_observe(self, &event);
    return SH_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static sh_status save(void *context)
{
    const joining *self = context;
    sh_model_format format = SH_MODEL_AS_SAFETENSORS;
    char *trained = NULL;
    if (self->options->save == NULL)
        return SH_OK;
    (void)sh_model_format_of_file(&format, self->options->save);
    SH_TRY(sh_trained_text(&trained, sh_pipeline_dataset(self->session->pipeline)));
    const sh_status status =
        sh_model_file_write(NULL, self->options->save, format,
                            &(sh_model_source){.job = &self->session->job,
                                               .replica = self->session->replica,
                                               .trained_text = trained});
    free(trained);
    return status;
}

static sh_status conclude_without(const joining *self)
{
    if (self->options->save == NULL)
        return SH_OK;
    return sh_fail(SH_PEER_LOST,
                   "%s is not written: the job continued or ended without this device, which lacks "
                   "the last weights",
                   self->options->save);
}

static sh_status conclude(joining *self, const sh_training_loop *training_loop, sh_outcome outcome)
{
    sh_join_result *result = &self->result;
    const sh_replica *replica = self->session->replica;
    if (!training_loop->whole || outcome == SH_OUTCOME_DISMISSED)
        return conclude_without(self);
    result->took_part = true;
    result->complete = outcome == SH_OUTCOME_COMPLETE;
    result->steps = replica->steps;
    result->epochs =
        (uint32_t)(replica->steps / sh_trainer_schedule(self->session->trainer)->epoch_steps);
    SH_TRY(sh_replica_hash(replica, result->weights_hash));
    return save(self);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* If devices make steps apart, each has its own weights until it receives those of others. */
static bool can_keep(const joining *self)
{
    sh_strategy strategy;
    return sh_strategy_parse(&strategy, self->session->job.strategy) == SH_OK &&
           !strategy.row->apart;
}

static sh_status live(joining *self)
{
    sh_mail mail;
    SH_TRY(sh_joining_expect(self, SH_MAIL_WELCOME, &mail));
    sh_welcome *welcome = mail.data;
    self->known = self->welcomed = true;
    const sh_status status = sh_joining_prepare(self, welcome);
    sh_mail_drop(&mail);
    SH_TRY(status);
    const bool keeps = self->whole && can_keep(self);
    if (keeps)
        sh_session_reopen(self->session);
    sh_member_ready(self->member, self->session, self->first_grain, self->delivery, keeps);
    if (!self->started)
        sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE,
                                             .text = "joined; this device takes part once all "
                                                     "devices are there and have the weights"});
    self->whole = false;
    sh_outcome outcome = SH_OUTCOME_COMPLETE;
    sh_training_loop training_loop = {
        .session = self->session,
        .agent = sh_member_agent(self->member),
        .on_idle = on_idle,
        .on_view = on_view,
        .on_step = on_step,
        .on_validated = on_validated,
        .context = self,
    };
    sh_hang_guard_watch_lanes(self->guard, sh_trainer_lanes(self->session->trainer));
    sh_hang_guard_set_occupation(self->guard, SH_OCCUPATION_STEPS);
    const sh_status ran = sh_training_loop_run(&training_loop, &outcome);
    self->whole = training_loop.whole;
    sh_hang_guard_set_occupation(self->guard, SH_OCCUPATION_FILES);
    SH_TRY(ran);
    if (outcome == SH_OUTCOME_DISMISSED && self->said_leave)
        return sh_fail(SH_STOPPED, "left on request");
    return conclude(self, &training_loop, outcome);
}

/* A device that fetches data loses its source together with the coordinator, and may notice that
 * first. */
static void see_end(joining *self)
{
    sh_mail mail;
    while (!self->over && sh_mailbox_take(self->mailbox, &mail)) {
        const bool end = sh_joining_is_end(&mail);
        self->late = mail.kind == SH_MAIL_END && mail.status == SH_OK && !self->started;
        if (end) {
            const sh_status status = sh_joining_ended(self, &mail);
            (void)status;
        } else {
            sh_mail_drop(&mail);
        }
    }
}

static void close_member(joining *self)
{
    sh_hang_guard_set_occupation(self->guard, SH_OCCUPATION_WAIT);
    sh_member_close(self->member);
    sh_hang_guard_set_occupation(self->guard, SH_OCCUPATION_START);
    self->member = NULL;
}

/* If the coordinator is lost, the member stays open to answer inquiries. */
static sh_status live_at(joining *self, const sh_token *token)
{
    close_member(self);
    self->over = self->lost = self->welcomed = false;
    self->moved.port = 0;
    SH_TRY(sh_member_connect(&self->member,
                             &(sh_member_options){.loop = self->loop,
                                                  .mailbox = self->mailbox,
                                                  .token = token,
                                                  .name = self->name,
                                                  .origin = self->origin,
                                                  .key = self->key,
                                                  .term = self->known ? self->failover.term : 0,
                                                  .port = self->options->port,
                                                  .last_port = self->failover.own.port,
                                                  .may_lead = may_lead(self),
                                                  .local = self->options->local}));
    const sh_status status = live(self);
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    if (status == SH_NETWORK || status == SH_PEER_LOST ||
        (status == SH_STOPPED && !sh_stop_requested(sh_joining_stop(self))))
        see_end(self);
    if (status != SH_OK && status != SH_STOPPED && !self->over)
        sh_member_fail(self->member, message);
    if (self->lost && self->welcomed)
        sh_member_failover_state(self->member, &self->failover);
    else
        close_member(self);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

/* Follows redirections from devices that do not coordinate. */
static sh_status connect_and_live(joining *self, const sh_endpoint *endpoint)
{
    sh_token token = self->token;
    sh_status status = SH_OK;
    sh_endpoint next = *endpoint;
    for (uint32_t i = 0; i < MOVES_MAX && next.port != 0; i++) {
        sh_token_redirect(&token, next.host, next.port);
        status = live_at(self, &token);
        next = self->moved;
        if (self->welcomed) /* the caller decides what follows */
            break;
    }
    sh_token_wipe(&token);
    return status;
}

/* SH_LIMIT: the time is over. */
static sh_status pause_for(joining *self, uint32_t delay_ms)
{
    sh_mail mail;
    while (sh_mailbox_take(self->mailbox, &mail)) /* of the last attempt */
        sh_mail_drop(&mail);
    SH_TRY(sh_mailbox_wait(self->mailbox, &mail, sh_joining_stop(self), delay_ms));
    sh_mail_drop(&mail);
    return SH_OK;
}

static void say_waiting(const joining *self)
{
    const sh_token *token = &self->token;
    char text[SH_MESSAGE_BYTES];
    size_t used = 0;
    for (uint32_t i = 0; i < token->address_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.200s, port %u",
                                 i == 0 ? "waiting for a coordinator at " : "; ",
                                 token->addresses[i].host, (unsigned)token->addresses[i].port);
    if (used < sizeof text)
        snprintf(text + used, sizeof text - used, "; stop with Ctrl-C");
    sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

static sh_status wait_and_live(joining *self)
{
    sh_backoff backoff;
    uint32_t delay_ms;
    bool said = false;
    sh_endpoint endpoint;
    sh_backoff_start(&backoff, sh_clock_now_ns(sh_clock_system()), self->options->wait_s);
    for (;;) {
        sh_discovery_find(&endpoint, self->loop, &self->token);
        const sh_status status = connect_and_live(self, &endpoint);
        if (status != SH_NETWORK || !self->lost || self->known ||
            !sh_backoff_next(&delay_ms, &backoff, sh_clock_now_ns(sh_clock_system())))
            return status;
        sh_log(SH_LOG_INFO, "join.waits", "delay_ms=%u reason=\"%s\"", delay_ms, sh_message());
        if (!said)
            say_waiting(self);
        said = true;
        const sh_status paused = pause_for(self, delay_ms);
        if (paused != SH_LIMIT)
            SH_TRY(paused);
    }
}

/* ---- the coordinator is lost ----------------------------------------------------------------- */

static uint64_t now_ms(void)
{
    return sh_clock_now_ns(sh_clock_system()) / 1000000;
}

/* Returns the number of successors if this device is not one or cannot lead. */
static uint32_t own_place(const joining *self)
{
    const sh_failover_state *failover = &self->failover;
    for (uint32_t i = 0; i < failover->successor_count; i++)
        if (failover->successors[i].device == failover->device)
            return may_lead(self) && failover->chain.count > 0 && self->whole
                       ? i
                       : failover->successor_count;
    return failover->successor_count;
}

static uint32_t add_asked(sh_endpoint endpoints[SH_DISCOVERY_ENDPOINTS_MAX], uint32_t count,
                          const sh_endpoint *endpoint)
{
    for (uint32_t i = 0; i < count; i++)
        if (sh_endpoint_equals(&endpoints[i], endpoint))
            return count;
    endpoints[count] = *endpoint;
    return count + 1;
}

/* Lists the successors by their places, the coordinator's address, then other addresses of the
 * job. */
static uint32_t list_asked(sh_endpoint endpoints[SH_DISCOVERY_ENDPOINTS_MAX], const joining *self)
{
    const sh_failover_state *failover = &self->failover;
    uint32_t count = failover->successor_count;
    memcpy(endpoints, failover->successors, count * sizeof *endpoints);
    endpoints[count++] = sh_endpoint_of(&failover->token.addresses[0]);
    for (uint32_t i = 0; i < failover->known.count; i++)
        count = add_asked(endpoints, count, &failover->known.items[i]);
    for (uint32_t i = 0; i < self->token.address_count; i++) {
        const sh_endpoint endpoint = sh_endpoint_of(&self->token.addresses[i]);
        count = add_asked(endpoints, count, &endpoint);
    }
    for (uint32_t i = 0; i < failover->successor_count; i++)
        if (endpoints[i].device == failover->device)
            endpoints[i].port = 0; /* not itself */
    return count;
}

/* Without successors, the coordinator has more time to answer. */
static sh_succession_choice choose(joining *self, uint64_t lost_ms, sh_endpoint *endpoint)
{
    const sh_failover_state *failover = &self->failover;
    sh_strategy strategy;
    sh_discovery_answers answers;
    sh_endpoint endpoints[SH_DISCOVERY_ENDPOINTS_MAX];
    sh_endpoint heard;
    uint32_t whom;
    if (self->member != NULL && sh_member_caller(self->member, &heard))
        sh_endpoints_add(&self->failover.known, &heard);
    const bool alone = failover->successor_count == 0;
    const uint32_t count = list_asked(endpoints, self);
    sh_succession state = {
        .term = failover->term,
        .successors = failover->successor_count,
        .others = count - failover->successor_count - 1,
        .own = own_place(self),
        .devices = failover->devices,
        .lost_ms = lost_ms,
    };
    state.majority = self->session != NULL &&
                     sh_strategy_parse(&strategy, self->session->job.strategy) == SH_OK &&
                     strategy.row->apart;
    sh_discovery_ask(&answers,
                     &(sh_discovery_options){.loop = self->loop,
                                             .token = &self->token,
                                             .endpoints = endpoints,
                                             .count = count,
                                             .patience_ms = alone ? ALONE_MS : 0,
                                             .awaited = alone ? 0 : failover->successor_count + 1,
                                             .first = alone});
    const sh_succession_choice choice =
        sh_succession_choose(&whom, &state, answers.words, now_ms());
    if (choice == SH_SUCCESSION_FOLLOW)
        *endpoint = endpoints[whom];
    for (uint32_t i = 0; i < answers.count; i++) /* asked next time */
        if (answers.words[i].word == SH_SUCCESSOR_FOLLOWS &&
            answers.words[i].term >= failover->term)
            sh_endpoints_add(&self->failover.known, &answers.address[i]);
    return choice;
}

/* The folder of the user's choice has one run, so this device needs another if it leads again. */
static const char *run_folder(joining *self, char path[SH_PATH_BYTES])
{
    const char *chosen = self->options->run;
    if (self->times_led++ == 0 || chosen == NULL)
        return chosen;
    snprintf(path, SH_PATH_BYTES, "%s-%u", chosen, self->times_led);
    return path;
}

static sh_status lead(joining *self, bool handed_over)
{
    sh_summary summary = {0};
    sh_join_result *result = &self->result;
    char text[SH_MESSAGE_BYTES], message[SH_MESSAGE_BYTES], run[SH_PATH_BYTES];
    close_member(self);
    sh_hang_guard_stop(self->guard); /* a training has its own */
    self->guard = NULL;
    snprintf(text, sizeof text,
             "the coordinator %s: this device replaces it from step %llu. Earlier checkpoints and "
             "figures stay on %s",
             handed_over ? "hands over" : "is lost",
             (unsigned long long)self->session->replica->steps,
             handed_over ? "the other device" : "the lost one");
    sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    const sh_status status = sh_lead(&summary, &self->moved, &self->whole,
                                     &(sh_lead_options){.failover = &self->failover,
                                                        .session = self->session,
                                                        .name = self->name,
                                                        .device = self->options,
                                                        .run = run_folder(self, run),
                                                        .at_end = save,
                                                        .context = self});
    snprintf(message, sizeof message, "%s", sh_message());
    self->lost = self->moved.port != 0;
    self->moved.device = 0; /* a number of the job that this device led, where its own is 0 */
    self->over = true;
    if (status == SH_OK || status == SH_STOPPED) {
        *result = (sh_join_result){
            .took_part = true,
            .led = true,
            .complete = status == SH_OK,
            .epochs = summary.epochs,
            .steps = summary.steps,
            .train_loss = summary.train_loss,
            .val_loss = summary.val_loss,
            .val_accuracy = summary.val_accuracy,
            .numbers = summary.numbers,
            .val_mae = summary.val_mae,
        };
        memcpy(result->weights_hash, summary.weights_hash, sizeof result->weights_hash);
    }
    sh_summary_release(&summary);
    SH_TRY(start_hang_guard(self));
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

/* Follows or leads until that ends. *tried: this device took part again. */
static sh_status go_on(joining *self, sh_succession_choice choice, const sh_endpoint *endpoint,
                       bool *tried)
{
    self->started = false;
    if (choice == SH_SUCCESSION_LEAD) {
        *tried = true;
        return lead(self, endpoint->device != 0);
    }
    const sh_status status = connect_and_live(self, endpoint);
    *tried = self->started || (self->welcomed && self->lost);
    return status;
}

/* Looks for the job until time is up; *tried: this device took part again. */
static sh_status come_back(joining *self, const char *reason, bool *tried)
{
    const uint64_t lost_ms = now_ms(), patience_ms = (uint64_t)self->options->reconnect_s * 1000;
    sh_status status = SH_PEER_LOST;
    *tried = false;
    while (!*tried && now_ms() - lost_ms < patience_ms) {
        sh_endpoint endpoint;
        sh_succession_choice choice = SH_SUCCESSION_FOLLOW;
        const uint32_t delay_ms = self->failover.successor_count > 0 ? ASK_AGAIN_MS : RETRY_MS;
        if (self->moved.port != 0) {
            const bool own = self->moved.device != 0 &&
                             self->moved.device == self->failover.device &&
                             own_place(self) < self->failover.successor_count;
            choice = own ? SH_SUCCESSION_LEAD : choice;
            endpoint = self->moved;
            sh_token_redirect(&self->failover.token, endpoint.host, endpoint.port);
            self->moved.port = 0;
        } else {
            choice = choose(self, lost_ms, &endpoint);
        }
        if (choice != SH_SUCCESSION_ASK) {
            status = go_on(self, choice, &endpoint, tried);
            if (*tried || status == SH_OK || status == SH_REFUSED || status == SH_STOPPED)
                return status;
        }
        status = pause_for(self, delay_ms);
        if (status != SH_LIMIT)
            SH_TRY(status);
    }
    return sh_fail(SH_PEER_LOST, "%s", reason);
}

/* After the welcome, a lost connection does not end the job. */
static sh_status live_on(joining *self, sh_status status)
{
    bool tried = true;
    while (status != SH_OK && tried && self->lost && self->known &&
           self->options->reconnect_s > 0) {
        char reason[SH_MESSAGE_BYTES], text[SH_MESSAGE_BYTES + 64];
        snprintf(reason, sizeof reason, "%s", sh_message());
        snprintf(text, sizeof text, "%.800s; trying to rejoin for %u s", reason,
                 self->options->reconnect_s);
        sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
        self->lost = false;
        status = come_back(self, reason, &tried);
    }
    return status;
}

static sh_status begin(joining *self)
{
    SH_TRY(sh_key_random(self->origin, sizeof self->origin));
    SH_TRY(sh_key_make(self->key));
    SH_TRY(sh_mailbox_new(&self->mailbox));
    SH_TRY(sh_loop_start(&self->loop));
    return start_hang_guard(self);
}

static sh_status finish(joining *self, sh_status status, sh_join_result *result)
{
    char message[SH_MESSAGE_BYTES];
    status = status != SH_OK && self->late ? conclude_without(self) : status;
    if (result != NULL) {
        *result = self->result.took_part ? self->result : (sh_join_result){0};
        result->stood_by = self->on_standby;
    }
    snprintf(message, sizeof message, "%s", sh_message());
    close_member(self);
    sh_key_wipe(self->key, sizeof self->key);
    sh_key_wipe(&self->failover, sizeof self->failover);
    sh_token_wipe(&self->token);
    sh_joining_close_session(self);
    sh_loop_stop(self->loop);
    sh_hang_guard_stop(self->guard);
    sh_mailbox_free(self->mailbox);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

static const sh_join_result no_result = {
    .train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};

sh_status sh_join(const sh_join_options *options, sh_join_result *result)
{
    joining self = {.options = options, .result = no_result};
    if (options->name != NULL)
        snprintf(self.name, sizeof self.name, "%.*s", SH_NAME_BYTES - 1, options->name);
    else
        sh_host_name(self.name);
    sh_status status = sh_token_parse(&self.token, options->token, strlen(options->token));
    if (status == SH_OK)
        status = begin(&self);
    if (status == SH_OK)
        status = live_on(&self, wait_and_live(&self));
    return finish(&self, status, result);
}

sh_status sh_follow(sh_join_result *result, const sh_follow_options *options)
{
    joining self = {
        .options = options->device,
        .token = *options->token,
        .failover = {.token = *options->token, .own = {.port = options->token->addresses[0].port}},
        .session = options->session,
        .whole = options->whole,
        .moved = options->endpoint,
        .known = true,
        .lost = true,
        .result = no_result};
    snprintf(self.name, sizeof self.name, "%s", options->name);
    sh_status status = sh_trainer_first_grain(self.session->trainer, self.first_grain);
    if (status == SH_OK)
        status = begin(&self);
    if (status == SH_OK)
        status = live_on(&self, sh_fail(SH_PEER_LOST, "another device coordinates the job now"));
    return finish(&self, status, result);
}
