/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of sh_join: an absent coordinator, a wrong key, a job that ends meanwhile. */
#include "shoal/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "base/test.h"
#include "net/listener.h"
#include "net/message.h"
#include "node/coordinator/invitation.h"

#define CHANNELS 8

typedef struct host {
    sh_loop *loop;
    sh_listener *listener;
    sh_invitation invitation;
    sh_status status;
    uint32_t notes;
    char note[SH_MESSAGE_BYTES];
    sh_stop *stop;
    sh_channel *channels[CHANNELS];
} host;

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    host *here = context;
    (void)why;
    (void)reason;
    for (int i = 0; i < CHANNELS; i++)
        if (here->channels[i] == channel)
            here->channels[i] = NULL;
}

static void keep(host *here, sh_channel *channel)
{
    int i = 0;
    while (i < CHANNELS && here->channels[i] != NULL)
        i++;
    assert_true(i < CHANNELS);
    here->channels[i] = channel;
}

static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    static const sh_channel_events events = {.on_close = on_close};
    Shoal__End end = SHOAL__END__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(END, end, &end);
    (void)identity;
    host *here = context;
    end.reason = (char *)(uintptr_t) "";
    sh_channel_own(channel, &events, here);
    keep(here, channel);
    here->status = sh_invitation_prove(&here->invitation, channel, 0);
    if (here->status == SH_OK)
        here->status = sh_message_send(channel, &message);
    sh_channel_flush_close(channel);
}

static void do_open(void *context)
{
    host *here = context;
    sh_invitation *invitation = &here->invitation;
    unsigned char key[SH_KEY_BYTES];
    here->status =
        sh_listener_open(&here->listener, here->loop,
                         &(sh_listener_options){.host = "127.0.0.1",
                                                .port = invitation->token.addresses[0].port,
                                                .on_accept = on_accept,
                                                .context = here});
    if (here->status != SH_OK)
        return;
    if (invitation->token.addresses[0].port == 0)
        here->status = sh_invitation_read(invitation, NULL);
    if (here->status == SH_OK && invitation->token.addresses[0].port == 0)
        here->status = sh_invitation_issue(invitation, sh_listener_port(here->listener), NULL, 0);
    if (here->status == SH_OK)
        here->status = sh_token_key(key, &invitation->token);
    if (here->status == SH_OK)
        here->status = sh_listener_allow(here->listener, SH_TOKEN_IDENTITY, key);
}

static void do_close(void *context)
{
    host *here = context;
    for (int i = 0; i < CHANNELS; i++)
        sh_channel_close(here->channels[i]);
    sh_listener_close(here->listener);
    here->listener = NULL;
}

static void open_host(host *here)
{
    assert_ok(sh_loop_start(&here->loop));
    sh_loop_call(here->loop, do_open, here);
    assert_int_equal(here->status, SH_OK);
}

static void close_host(host *here)
{
    sh_loop_call(here->loop, do_close, here);
    sh_loop_stop(here->loop);
}

static void keep_note(host *here, const sh_event *event)
{
    assert_int_equal(event->kind, SH_EVENT_NOTE);
    here->notes++;
    snprintf(here->note, sizeof here->note, "%s", event->text);
}

static void open_when_awaited(void *context, const sh_event *event)
{
    host *here = context;
    keep_note(here, event);
    sh_loop_call(here->loop, do_open, here);
}

static void stop_when_awaited(void *context, const sh_event *event)
{
    host *here = context;
    keep_note(here, event);
    sh_stop_request(here->stop);
}

static void a_job_that_ends_as_the_device_comes_is_no_failure(void **state)
{
    (void)state;
    host here = {0};
    sh_join_result result = {.took_part = true};
    open_host(&here);
    assert_ok(sh_join(&(sh_join_options){.token = here.invitation.text}, &result));
    assert_false(result.took_part);
    assert_fails(
        sh_join(&(sh_join_options){.token = here.invitation.text, .save = "last.npz"}, NULL),
        SH_PEER_LOST, "last.npz is not written: the job continued or ended without");
    close_host(&here);
}

static void waits_for_a_coordinator_that_comes_later(void **state)
{
    (void)state;
    host here = {0};
    char expected[SH_MESSAGE_BYTES];
    open_host(&here);
    sh_loop_call(here.loop, do_close, &here);
    assert_ok(sh_join(&(sh_join_options){.token = here.invitation.text,
                                         .wait_s = SH_JOIN_WAIT_EVER,
                                         .observer = open_when_awaited,
                                         .context = &here},
                      NULL));
    assert_int_equal(here.notes, 1);
    snprintf(expected, sizeof expected,
             "waiting for a coordinator at 127.0.0.1, port %u; stop with Ctrl-C",
             here.invitation.token.addresses[0].port);
    assert_string_equal(here.note, expected);
    close_host(&here);
}

static void a_request_to_stop_ends_the_wait(void **state)
{
    (void)state;
    host here = {0};
    open_host(&here);
    sh_loop_call(here.loop, do_close, &here);
    assert_ok(sh_stop_new(&here.stop));
    assert_int_equal(sh_join(&(sh_join_options){.token = here.invitation.text,
                                                .wait_s = SH_JOIN_WAIT_EVER,
                                                .stop = here.stop,
                                                .observer = stop_when_awaited,
                                                .context = &here},
                             NULL),
                     SH_STOPPED);
    assert_int_equal(here.notes, 1);
    sh_stop_free(here.stop);
    close_host(&here);
}

static void another_key_ends_the_wait(void **state)
{
    (void)state;
    host here = {0};
    sh_invitation other;
    open_host(&here);
    assert_ok(sh_invitation_read(&other, NULL));
    assert_ok(sh_invitation_issue(&other, here.invitation.token.addresses[0].port, NULL, 0));
    assert_fails(sh_join(&(sh_join_options){.token = other.text,
                                            .wait_s = SH_JOIN_WAIT_EVER,
                                            .observer = open_when_awaited,
                                            .context = &here},
                         NULL),
                 SH_REFUSED, "the job did not accept the token");
    assert_int_equal(here.notes, 0);
    close_host(&here);
}

/* It has the token, but not the token's key. */
static void an_impostor_is_not_believed(void **state)
{
    (void)state;
    host here = {0};
    open_host(&here);
    here.invitation.key[0] ^= 1;
    assert_fails(sh_join(&(sh_join_options){.token = here.invitation.text}, NULL), SH_REFUSED,
                 "has the token, but is not the coordinator that made it");
    close_host(&here);
}

static void without_a_wait_nobody_there_is_a_failure(void **state)
{
    (void)state;
    host here = {0};
    open_host(&here);
    sh_loop_call(here.loop, do_close, &here);
    assert_fails(sh_join(&(sh_join_options){.token = here.invitation.text}, NULL), SH_NETWORK,
                 "Connection refused");
    close_host(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_ends_as_the_device_comes_is_no_failure),
        cmocka_unit_test(waits_for_a_coordinator_that_comes_later),
        cmocka_unit_test(a_request_to_stop_ends_the_wait),
        cmocka_unit_test(another_key_ends_the_wait),
        cmocka_unit_test(an_impostor_is_not_believed),
        cmocka_unit_test(without_a_wait_nobody_there_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
