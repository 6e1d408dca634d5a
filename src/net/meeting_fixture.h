/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of src/net: a listener and a client on one event loop, connected over loopback.
 *
 *     struct meeting *meeting = new_meeting();
 *     open_meeting(meeting, NULL);
 *     connect_client(meeting, "join", good_key);
 *     await(meeting, both_open);                   // until true; checked after each callback
 *     close_meeting(meeting);
 *
 * The meeting is on the heap, because the loop still uses it after a test has failed. Except those
 * that `lock` guards, its fields belong to the loop's thread: tests use `on_loop`, or `await`
 * first.
 */
#ifndef SHOAL_NET_MEETING_FIXTURE_H
#define SHOAL_NET_MEETING_FIXTURE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/test.h"
#include "net/channel.h"
#include "net/listener.h"

#define MEETING_DEADLINE_S 60
#define LOG_LINES 256

static const unsigned char good_key[SH_KEY_BYTES] = {7, 7, 7};
static const unsigned char bad_key[SH_KEY_BYTES] = {7, 7, 8};

struct meeting;

struct side {
    struct meeting *meeting;
    sh_channel *channel;
    int opens, closes, controls, asked, done, sent;
    sh_status why;
    char reason[512];
    char identity[SH_IDENTITY_TEXT];
    uint64_t control_bytes;
    uint8_t last_control[64];
    sh_frame last_head;
    sh_sink sink;
    int pauses; /* on_frame returns PAUSE this often first */
    bool echo;  /* control frames are sent back */
    void (*at_open)(struct side *side);
    void (*at_frame)(struct side *side);
    void (*at_control)(struct side *side);
    void (*at_done)(struct side *side, const sh_frame *head);
    void (*at_sent)(struct side *side, const sh_frame *head);
};

struct meeting {
    sh_loop *loop;
    sh_listener *listener;
    sh_listener_options options;
    uint16_t port;
    struct side client, server;
    int accepted;
    sh_channel *another;
    int rounds_left;
    bool (*holds)(struct meeting *meeting);
    bool failed; /* a call on the loop failed */
    char failure[SH_MESSAGE_BYTES];
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool held;
    int lines;
    char log[LOG_LINES][512];
};

static inline void fail_meeting(struct meeting *meeting, const char *what)
{
    if (!meeting->failed)
        snprintf(meeting->failure, sizeof meeting->failure, "%s: %.900s", what, sh_message());
    meeting->failed = true;
}

#define loop_ok(meeting, call)                                                                     \
    do {                                                                                           \
        if ((call) != SH_OK)                                                                       \
            fail_meeting(meeting, #call);                                                          \
    } while (0)

static inline void look(struct meeting *meeting)
{
    if (meeting->holds == NULL || !(meeting->failed || meeting->holds(meeting)))
        return;
    pthread_mutex_lock(&meeting->lock);
    meeting->held = true;
    pthread_cond_signal(&meeting->changed);
    pthread_mutex_unlock(&meeting->lock);
}

static inline void side_opened(void *context, sh_channel *channel)
{
    struct side *side = context;
    side->opens++;
    snprintf(side->identity, sizeof side->identity, "%s", sh_channel_identity(channel));
    if (side->at_open != NULL)
        side->at_open(side);
    look(side->meeting);
}

static inline sh_flow side_frame(void *context, sh_channel *channel, const sh_frame *head,
                                 sh_sink *sink)
{
    (void)channel;
    struct side *side = context;
    side->asked++;
    side->last_head = *head;
    *sink = side->sink;
    if (side->at_frame != NULL)
        side->at_frame(side);
    look(side->meeting);
    if (side->pauses > 0) {
        side->pauses--;
        return SH_FLOW_PAUSE;
    }
    return side->sink.data == NULL && head->bytes > 0 ? SH_FLOW_REFUSE : SH_FLOW_TAKE;
}

static inline void side_done(void *context, sh_channel *channel, const sh_frame *head)
{
    (void)channel;
    struct side *side = context;
    side->done++;
    if (side->at_done != NULL)
        side->at_done(side, head);
    look(side->meeting);
}

static inline void side_control(void *context, sh_channel *channel, const uint8_t *body,
                                size_t bytes)
{
    struct side *side = context;
    side->controls++;
    side->control_bytes += bytes;
    memcpy(side->last_control, body,
           bytes < sizeof side->last_control ? bytes : sizeof side->last_control);
    if (side->echo)
        loop_ok(side->meeting, sh_channel_send_control(channel, body, bytes));
    if (side->at_control != NULL)
        side->at_control(side);
    look(side->meeting);
}

static inline void side_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    (void)channel;
    struct side *side = context;
    side->sent++;
    if (side->at_sent != NULL)
        side->at_sent(side, head);
    look(side->meeting);
}

static inline void side_closed(void *context, sh_channel *channel, sh_status why,
                               const char *reason)
{
    (void)channel;
    struct side *side = context;
    side->closes++;
    side->channel = NULL;
    side->why = why;
    snprintf(side->reason, sizeof side->reason, "%s", reason);
    look(side->meeting);
}

static const sh_channel_events side_events = {
    .on_open = side_opened,
    .on_frame = side_frame,
    .on_done = side_done,
    .on_control = side_control,
    .on_sent = side_sent,
    .on_close = side_closed,
};

static inline void meet_client(void *context, sh_channel *channel, const char *identity)
{
    struct meeting *meeting = context;
    meeting->accepted++;
    meeting->server.channel = channel;
    snprintf(meeting->server.identity, sizeof meeting->server.identity, "%s", identity);
    sh_channel_own(channel, &side_events, &meeting->server);
    if (meeting->server.at_open != NULL)
        meeting->server.at_open(&meeting->server);
    look(meeting);
}

static inline void keep_line(void *context, sh_log_level level, const char *line)
{
    (void)level;
    struct meeting *meeting = context;
    pthread_mutex_lock(&meeting->lock);
    if (meeting->lines < LOG_LINES)
        snprintf(meeting->log[meeting->lines++], sizeof *meeting->log, "%s", line);
    pthread_cond_signal(&meeting->changed);
    pthread_mutex_unlock(&meeting->lock);
}

static inline void open_on_loop(void *context)
{
    struct meeting *meeting = context;
    loop_ok(meeting, sh_listener_open(&meeting->listener, meeting->loop, &meeting->options));
    if (meeting->failed)
        return;
    meeting->port = sh_listener_port(meeting->listener);
    loop_ok(meeting, sh_listener_allow(meeting->listener, "join", good_key));
}

static inline void close_on_loop(void *context)
{
    struct meeting *meeting = context;
    meeting->holds = NULL;
    sh_channel_close(meeting->client.channel);
    sh_channel_close(meeting->server.channel);
    sh_channel_close(meeting->another);
    sh_listener_close(meeting->listener);
}

static inline void on_loop(struct meeting *meeting, void (*task)(void *))
{
    sh_loop_call(meeting->loop, task, meeting);
    if (meeting->failed)
        fail_msg("%s", meeting->failure);
}

static inline struct meeting *new_meeting(void)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    assert_non_null(meeting);
    return meeting;
}

static inline void open_meeting(struct meeting *meeting, const sh_listener_options *options)
{
    if (options != NULL)
        meeting->options = *options;
    if (meeting->options.host == NULL)
        meeting->options.host = "127.0.0.1";
    meeting->options.on_accept = meet_client;
    meeting->options.context = meeting;
    meeting->client.meeting = meeting->server.meeting = meeting;
    pthread_mutex_init(&meeting->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meeting->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sh_log_to(SH_LOG_INFO, keep_line, meeting);
    assert_ok(sh_loop_start(&meeting->loop));
    on_loop(meeting, open_on_loop);
}

static inline void close_meeting(struct meeting *meeting)
{
    sh_loop_call(meeting->loop, close_on_loop, meeting);
    sh_loop_stop(meeting->loop);
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    pthread_cond_destroy(&meeting->changed);
    pthread_mutex_destroy(&meeting->lock);
    if (meeting->failed)
        fail_msg("%s", meeting->failure);
    free(meeting);
}

/* The caller holds the lock. False: the deadline has passed. */
static inline bool wait_for_change(struct meeting *meeting, const struct timespec *until)
{
    return pthread_cond_timedwait(&meeting->changed, &meeting->lock, until) == 0;
}

static inline struct timespec deadline(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += MEETING_DEADLINE_S;
    return until;
}

struct wish {
    struct meeting *meeting;
    bool (*holds)(struct meeting *meeting);
};

static inline void make_wish(void *context)
{
    const struct wish *wish = context;
    wish->meeting->holds = wish->holds;
    look(wish->meeting);
}

static inline void await(struct meeting *meeting, bool (*holds)(struct meeting *))
{
    const struct timespec until = deadline();
    pthread_mutex_lock(&meeting->lock);
    meeting->held = false;
    pthread_mutex_unlock(&meeting->lock);
    struct wish wish = {meeting, holds};
    sh_loop_call(meeting->loop, make_wish, &wish);
    bool in_time = true;
    pthread_mutex_lock(&meeting->lock);
    while (!meeting->held && in_time)
        in_time = wait_for_change(meeting, &until);
    pthread_mutex_unlock(&meeting->lock);
    wish.holds = NULL;
    sh_loop_call(meeting->loop, make_wish, &wish);
    if (meeting->failed)
        fail_msg("%s", meeting->failure);
    if (!in_time)
        fail_msg("what was awaited did not come: client '%s', server '%s'", meeting->client.reason,
                 meeting->server.reason);
}

/* Returns the last of `count` log lines that contain `part`. */
static inline const char *await_log(struct meeting *meeting, const char *part, int count)
{
    const struct timespec until = deadline();
    const char *found = NULL;
    bool in_time = true;
    pthread_mutex_lock(&meeting->lock);
    for (;;) {
        int seen = 0;
        for (int i = 0; i < meeting->lines; i++)
            if (strstr(meeting->log[i], part) != NULL) {
                seen++;
                found = meeting->log[i];
            }
        if (seen >= count || !in_time)
            break;
        found = NULL;
        in_time = wait_for_change(meeting, &until);
    }
    const char *last = meeting->lines > 0 ? meeting->log[meeting->lines - 1] : "nothing";
    pthread_mutex_unlock(&meeting->lock);
    if (found == NULL)
        fail_msg("the log lacks %d times '%s'; its last line: %s", count, part, last);
    return found;
}

struct invitation {
    struct meeting *meeting;
    sh_channel_target target;
};

static inline void connect_on_loop(void *context)
{
    struct invitation *invitation = context;
    struct meeting *meeting = invitation->meeting;
    loop_ok(meeting, sh_channel_connect(&meeting->client.channel, meeting->loop,
                                        &invitation->target, &side_events, &meeting->client));
}

static inline void connect_client(struct meeting *meeting, const char *identity,
                                  const unsigned char key[SH_KEY_BYTES])
{
    struct invitation invitation = {
        meeting,
        {.host = "127.0.0.1", .port = meeting->port, .identity = identity, .key = key},
    };
    sh_loop_call(meeting->loop, connect_on_loop, &invitation);
}

static inline bool both_open(struct meeting *meeting)
{
    return meeting->client.opens == 1 && meeting->accepted == 1;
}

static inline bool both_closed(struct meeting *meeting)
{
    return meeting->client.closes == 1 && meeting->server.closes == 1;
}

static inline bool client_closed(struct meeting *meeting)
{
    return meeting->client.closes == 1;
}

static inline bool server_closed(struct meeting *meeting)
{
    return meeting->server.closes == 1;
}

static inline void open_both(struct meeting *meeting)
{
    open_meeting(meeting, NULL);
    connect_client(meeting, "join", good_key);
    await(meeting, both_open);
}

#endif
