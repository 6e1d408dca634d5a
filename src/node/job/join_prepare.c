/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/join_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/delivery/network_call.h"
#include "onnx/model_cache.h"
#include "train/job_options.h"
#include "train/lane_list.h"

/* ---- mail ------------------------------------------------------------------------------------ */

void sh_joining_observe(const joining *self, const sh_event *event)
{
    if (self->options->observer != NULL)
        self->options->observer(self->options->context, event);
}

bool sh_joining_is_end(const sh_mail *mail)
{
    return mail->kind == SH_MAIL_END || mail->kind == SH_MAIL_LOST || mail->kind == SH_MAIL_MOVED;
}

sh_status sh_joining_ended(joining *self, const sh_mail *mail)
{
    self->over = true;
    self->lost = mail->kind != SH_MAIL_END;
    if (mail->kind == SH_MAIL_MOVED && mail->data != NULL) {
        self->moved = *(const sh_endpoint *)mail->data;
        free(mail->data);
    }
    return mail->status == SH_OK ? SH_OK : sh_fail(mail->status, "%s", mail->text);
}

/* Signals of train's group also reach devices that train started; train decides. */
const sh_stop *sh_joining_stop(const joining *self)
{
    return self->options->local ? NULL : self->options->stop;
}

/* ---- preparing ------------------------------------------------------------------------------- */

sh_status sh_joining_expect(joining *self, sh_mail_kind kind, sh_mail *mail)
{
    do {
        SH_TRY(sh_mailbox_wait(self->mailbox, mail, sh_joining_stop(self), 0));
        if (sh_joining_is_end(mail)) {
            SH_TRY(sh_joining_ended(self, mail));
            self->late = true;
            return sh_fail(SH_STOPPED, "the job ended before this device could take part");
        }
    } while (mail->kind != kind);
    return mail->status == SH_OK ? SH_OK : sh_fail(mail->status, "%s", mail->text);
}

static sh_status fetch_network(joining *self, const sh_welcome *welcome)
{
    sh_mail mail;
    sh_network_call *call;
    SH_TRY(sh_network_call_start(&call, &(sh_network_call_options){.loop = self->loop,
                                                                   .mailbox = self->mailbox,
                                                                   .sources = &welcome->sources,
                                                                   .spec = welcome->job.model}));
    sh_status status = sh_joining_expect(self, SH_MAIL_NETWORK, &mail);
    if (status == SH_OK)
        status = sh_network_call_take(&self->network, call);
    sh_network_call_free(call);
    return status;
}

static sh_status open_network(joining *self, const sh_welcome *welcome)
{
    char text[SH_MESSAGE_BYTES];
    if (!sh_model_spec_is(welcome->job.model, NULL) ||
        sh_model_cache_get(&self->network, welcome->job.model) == SH_OK)
        return SH_OK;
    SH_TRY(sh_fail_in(fetch_network(self, welcome), "the job's network %s could not be fetched",
                      welcome->job.model));
    snprintf(text, sizeof text, "fetched the job's network, %s (%zu bytes)", self->network->spec,
             self->network->count);
    sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    if (sh_model_cache_put(self->network) != SH_OK) /* fetched again next time */
        sh_log(SH_LOG_WARN, "network.uncached", "reason=\"%s\"", sh_message());
    return SH_OK;
}

static sh_status fetch_data(joining *self, const sh_welcome *welcome)
{
    sh_mail mail;
    sh_dataset *dataset;
    SH_TRY(sh_delivery_start(&self->delivery,
                             &(sh_delivery_options){.loop = self->loop,
                                                    .mailbox = self->mailbox,
                                                    .sources = &welcome->sources,
                                                    .limit_bytes = self->options->cache}));
    SH_TRY(sh_joining_expect(self, SH_MAIL_DATA, &mail));
    SH_TRY(sh_delivery_open(&dataset, self->delivery, welcome->fingerprint));
    SH_TRY(sh_session_open(&self->session, &welcome->job,
                           &(sh_session_data){.network = self->network, .dataset = dataset}));
    return sh_delivery_begin(self->delivery);
}

static sh_status open_data(joining *self, const sh_welcome *welcome)
{
    const sh_status opened =
        sh_session_open(&self->session, &welcome->job,
                        &(sh_session_data){.network = self->network, .spec = self->options->data});
    /* Not here, or this build cannot read it. */
    if ((opened == SH_NOT_FOUND || opened == SH_UNSUPPORTED) && self->options->data == NULL)
        return sh_fail_in(fetch_data(self, welcome),
                          "the job's data are not on this device, and could not be fetched (if "
                          "they are elsewhere, name the place with --data)");
    if (opened == SH_NOT_FOUND)
        return sh_fail(opened, "%s; without --data they are fetched from the other devices",
                       sh_message());
    SH_TRY(opened);
    if (strcmp(sh_pipeline_about(self->session->pipeline)->fingerprint, welcome->fingerprint) == 0)
        return SH_OK;
    return sh_fail(SH_MISMATCH,
                   "%s differs from the job's data: copy the same files, or name their folder with "
                   "--data",
                   self->options->data != NULL ? self->options->data : welcome->job.data);
}

static void on_passed(void *context, const sh_stage_outcome *outcome)
{
    const joining *self = context;
    sh_agent_passed(sh_member_agent(self->member), outcome);
}

static void on_times(void *context, const sh_step_times *times)
{
    const joining *self = context;
    if (self->member != NULL)
        sh_member_step(self->member, times);
}

void sh_joining_close_session(joining *self)
{
    sh_hang_guard_watch_lanes(self->guard, NULL);
    sh_delivery_stop(self->delivery);
    sh_session_close(self->session);
    sh_delivery_free(self->delivery);
    sh_network_unref(self->network);
    self->network = NULL;
    self->session = NULL;
    self->delivery = NULL;
    self->whole = false;
}

static void set_session_callbacks(joining *self)
{
    sh_session *session = self->session;
    session->on_passed = on_passed;
    session->on_times = on_times;
    session->on_answers = NULL;
    session->context = self;
    if (session->trainer != NULL)
        sh_session_set_callbacks(session);
}

sh_status sh_joining_prepare(joining *self, const sh_welcome *welcome)
{
    if (self->session != NULL && (self->delivery == NULL || sh_delivery_is_whole(self->delivery)) &&
        sh_job_same(&self->session->job, &welcome->job)) {
        set_session_callbacks(self);
        return SH_OK;
    }
    sh_joining_close_session(self);
    SH_TRY(open_network(self, welcome));
    SH_TRY(open_data(self, welcome));
    SH_TRY(sh_bit_flip_arm(&self->session->flip, self->name));
    self->session->shared = true;
    set_session_callbacks(self);
    sh_lane_list lanes;
    SH_TRY(sh_lane_list_parse(&lanes, self->options->lanes));
    self->session->gpus = lanes.gpus;
    self->session->gpu_count = lanes.gpu_count;
    SH_TRY(sh_session_start(self->session, lanes.cores, self->options->memory));
    if (self->options->memory != 0) {
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint_print(text, sh_trainer_footprint(self->session->trainer),
                           self->options->memory);
        sh_joining_observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    }
    sh_agent *agent = sh_member_agent(self->member);
    sh_agent_watch(agent, self->session);
    const sh_status status = sh_trainer_first_grain(self->session->trainer, self->first_grain);
    sh_agent_watch(agent, NULL);
    return status;
}
