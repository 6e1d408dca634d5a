/* SPDX-License-Identifier: Apache-2.0 */
#include "net/channel.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "net/meeting_fixture.h"
#include "net/outbox.h"

#define LARGE (10u * 1000 * 1000)

static uint32_t *sent_words, *got_words; /* LARGE bytes each */

static int make_words(void **state)
{
    (void)state;
    sent_words = malloc(LARGE);
    got_words = malloc(LARGE);
    if (sent_words == NULL || got_words == NULL)
        return -1;
    for (uint32_t i = 0; i < LARGE / 4; i++)
        sent_words[i] = htole32(i * 2654435761u + 0x80000000u);
    return 0;
}

static int free_words(void **state)
{
    (void)state;
    free(sent_words);
    free(got_words);
    return 0;
}

/* ---- control frames -------------------------------------------------------------------------- */

#define MESSAGES 100

static void send_messages(void *context)
{
    struct meeting *meeting = context;
    for (uint32_t i = 0; i < MESSAGES; i++)
        loop_ok(meeting, sh_channel_send_control(meeting->client.channel, sent_words + i, 37 * i));
}

static void check_message(struct side *side)
{
    const size_t bytes = 37 * (size_t)(side->controls - 1);
    const size_t part = bytes < sizeof side->last_control ? bytes : sizeof side->last_control;
    if (memcmp(side->last_control, sent_words + side->controls - 1, part) != 0)
        fail_meeting(side->meeting, "an echo is not what was sent");
}

static bool echo_is_back(struct meeting *meeting)
{
    return meeting->client.controls == MESSAGES;
}

static void control_frames_come_whole_and_in_order(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.echo = true;
    meeting->client.at_control = check_message;
    on_loop(meeting, send_messages);
    await(meeting, echo_is_back);
    assert_int_equal(meeting->client.control_bytes, 37 * MESSAGES * (MESSAGES - 1) / 2);
    assert_int_equal(meeting->client.control_bytes, meeting->server.control_bytes);
    assert_string_equal(meeting->server.identity, "join");
    char text[SH_ADDRESS_TEXT], expected[SH_ADDRESS_TEXT];
    sh_channel_local_address(meeting->client.channel, text);
    assert_string_equal(text, "127.0.0.1");
    sh_channel_peer_host(meeting->server.channel, text);
    assert_string_equal(text, "127.0.0.1");
    sh_channel_peer_address(meeting->client.channel, text);
    snprintf(expected, sizeof expected, "127.0.0.1:%u", (unsigned)meeting->port);
    assert_string_equal(text, expected);
    sh_channel_stats client, server;
    sh_channel_stats_get(meeting->client.channel, &client);
    sh_channel_stats_get(meeting->server.channel, &server);
    assert_int_equal(client.sent_bytes, server.received_bytes);
    assert_int_equal(server.sent_bytes, client.received_bytes);
    assert_true(client.sent_bytes > meeting->client.control_bytes);
    close_meeting(meeting);
}

static void send_largest(void *context)
{
    struct meeting *meeting = context;
    sh_channel *channel = meeting->client.channel;
    loop_ok(meeting, sh_channel_send_control(channel, sent_words, SH_FRAME_CONTROL_MAX));
    if (sh_channel_send_control(channel, sent_words, SH_FRAME_CONTROL_MAX + 1) != SH_LIMIT)
        fail_meeting(meeting, "a control frame that is too large was taken");
}

static bool one_control(struct meeting *meeting)
{
    return meeting->server.controls == 1;
}

static void the_largest_control_frame_passes(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    on_loop(meeting, send_largest);
    await(meeting, one_control);
    assert_int_equal(meeting->server.control_bytes, SH_FRAME_CONTROL_MAX);
    close_meeting(meeting);
}

/* ---- raw frames ------------------------------------------------------------------------------ */

static void send_large(void *context)
{
    struct meeting *meeting = context;
    const sh_frame head = {.bytes = LARGE, .kind = SH_FRAME_SEGMENT, .view = 1, .step = 99};
    loop_ok(meeting, sh_channel_send(meeting->client.channel, &head, sent_words));
}

static bool large_is_there(struct meeting *meeting)
{
    return meeting->server.done == 1 && meeting->client.sent == 1;
}

static uint32_t expected_word(size_t adds, uint32_t i)
{
    const uint32_t word = le32toh(sent_words[i]);
    if (adds > 0)
        return word + 0x90000000u + i;
    return word;
}

static void raw_frames_are_stored_or_added(void **state)
{
    (void)state;
    for (size_t adds = 0; adds <= sizeof *got_words; adds += sizeof *got_words) {
        struct meeting *meeting = new_meeting();
        open_both(meeting);
        for (uint32_t i = 0; i < LARGE / 4; i++)
            got_words[i] = 0x90000000u + i;
        meeting->server.sink = (sh_sink){.adds = adds, .data = got_words, .bytes = LARGE};
        on_loop(meeting, send_large);
        await(meeting, large_is_there);
        assert_int_equal(meeting->server.last_head.step, 99);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < LARGE / 4; i++)
            wrong += got_words[i] != expected_word(adds, i);
        assert_int_equal(wrong, 0);
        close_meeting(meeting);
    }
}

static void raw_frames_are_added_as_64_bits(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    uint64_t *sums = (uint64_t *)(void *)got_words;
    for (uint32_t i = 0; i < LARGE / 8; i++)
        sums[i] = UINT64_MAX - 5 * (uint64_t)i;
    meeting->server.sink = (sh_sink){.adds = 8, .data = sums, .bytes = LARGE};
    on_loop(meeting, send_large);
    await(meeting, large_is_there);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < LARGE / 8; i++) {
        uint64_t term;
        memcpy(&term, sent_words + 2 * i, sizeof term);
        wrong += sums[i] != (uint64_t)(le64toh(term) + UINT64_MAX - 5 * (uint64_t)i);
    }
    assert_int_equal(wrong, 0);
    close_meeting(meeting);
}

static void send_large_and_control(void *context)
{
    struct meeting *meeting = context;
    send_large(meeting);
    loop_ok(meeting, sh_channel_send_control(meeting->client.channel, "after", 6));
}

static bool is_asked(struct meeting *meeting)
{
    return meeting->server.asked == 1;
}

static void resume_server(void *context)
{
    struct meeting *meeting = context;
    sh_channel_resume(meeting->server.channel);
    sh_channel_resume(meeting->server.channel);
}

static void a_paused_channel_asks_again(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.pauses = 2;
    meeting->server.sink = (sh_sink){.data = got_words, .bytes = LARGE};
    memset(got_words, 0, LARGE);
    on_loop(meeting, send_large_and_control);
    await(meeting, is_asked);
    assert_int_equal(meeting->server.done + meeting->client.sent, 0);
    meeting->server.asked = 0;
    on_loop(meeting, resume_server);
    await(meeting, is_asked);
    assert_int_equal(meeting->server.done + meeting->server.controls, 0);
    on_loop(meeting, resume_server);
    await(meeting, one_control);
    assert_int_equal(meeting->server.asked, 2);
    assert_int_equal(meeting->server.done, 1);
    assert_memory_equal(got_words, sent_words, LARGE);
    close_meeting(meeting);
}

/* ---- both directions ------------------------------------------------------------------------- */

#define PIECES 400
#define PIECE_BYTES 50000

static void send_piece(struct side *side, uint32_t step)
{
    const sh_frame head = {.bytes = PIECE_BYTES, .kind = SH_FRAME_SEGMENT, .step = step};
    loop_ok(side->meeting, sh_channel_send(side->channel, &head, sent_words + step));
}

static void send_next_piece(struct side *side, const sh_frame *head)
{
    if (head->step + 10 < PIECES)
        send_piece(side, head->step + 10);
}

static void check_piece(struct side *side, const sh_frame *head)
{
    if ((int)head->step != side->done - 1 ||
        memcmp(side->sink.data, sent_words + head->step, PIECE_BYTES) != 0)
        fail_meeting(side->meeting, "a piece is not what was sent");
}

static void send_pieces(void *context)
{
    struct meeting *meeting = context;
    struct side *sides[2] = {&meeting->client, &meeting->server};
    for (int i = 0; i < 2; i++) {
        sides[i]->sink = (sh_sink){.data = got_words + i * PIECE_BYTES, .bytes = PIECE_BYTES};
        sides[i]->at_sent = send_next_piece;
        sides[i]->at_done = check_piece;
        for (uint32_t step = 0; step < 10; step++)
            send_piece(sides[i], step);
    }
}

static bool all_pieces(struct meeting *meeting)
{
    return meeting->client.done == PIECES && meeting->server.done == PIECES &&
           meeting->client.sent == PIECES && meeting->server.sent == PIECES;
}

static void many_frames_cross_in_both_directions(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    on_loop(meeting, send_pieces);
    await(meeting, all_pieces);
    close_meeting(meeting);
}

/* ---- fairness -------------------------------------------------------------------------------- */

#define PINGS 10
#define FLOOD_BYTES 16360 /* one TLS record with the header */

static sh_flow ignore_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    (void)context;
    (void)channel;
    (void)head;
    *sink = (sh_sink){.data = got_words, .bytes = FLOOD_BYTES};
    return SH_FLOW_TAKE;
}

/* It takes longer than sending, so that there are always bytes to read. */
static void work_on_frame(void *context, sh_channel *channel, const sh_frame *head)
{
    (void)context;
    (void)channel;
    (void)head;
    for (uint32_t i = 0; i < 4; i++)
        memmove(got_words + FLOOD_BYTES, got_words + FLOOD_BYTES + 1 + i, 1u << 20);
}

static void flood_ended(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)channel;
    (void)why;
    (void)reason;
    ((struct meeting *)context)->another = NULL;
}

static const sh_channel_events flooded_events = {
    .on_frame = ignore_frame,
    .on_done = work_on_frame,
    .on_close = flood_ended,
};

static void accept_flood(struct side *side)
{
    if (side->meeting->accepted == 1) {
        sh_channel_own(side->channel, &flooded_events, side->meeting);
        side->meeting->another = side->channel;
        side->channel = NULL;
    }
}

static void flood_more(struct side *side, const sh_frame *head)
{
    loop_ok(side->meeting, sh_channel_send(side->channel, head, sent_words));
}

static void start_flood(struct side *side)
{
    const sh_frame head = {.bytes = FLOOD_BYTES, .kind = SH_FRAME_STATE};
    for (int i = 0; i < 100; i++)
        flood_more(side, &head);
}

static void connect_flood(void *context)
{
    struct invitation *invitation = context;
    struct meeting *other = invitation->meeting;
    loop_ok(other, sh_channel_connect(&other->client.channel, other->loop, &invitation->target,
                                      &side_events, &other->client));
}

static void close_flood(void *context)
{
    struct meeting *other = context;
    sh_channel_close(other->client.channel);
}

static void ping_again(struct side *side)
{
    if (side->controls < PINGS)
        loop_ok(side->meeting, sh_channel_send_control(side->channel, "ping", 4));
}

static bool one_accepted(struct meeting *meeting)
{
    return meeting->accepted == 1;
}

static bool pinged(struct meeting *meeting)
{
    return meeting->client.controls == PINGS;
}

static void one_channel_does_not_starve_another(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting(), *other = new_meeting();
    open_meeting(meeting, NULL);
    meeting->server.at_open = accept_flood;
    meeting->server.echo = true;
    other->client = (struct side){.meeting = other, .at_open = start_flood, .at_sent = flood_more};
    struct invitation invitation = {
        other,
        {.host = "127.0.0.1", .port = meeting->port, .identity = "join", .key = good_key},
    };
    assert_ok(sh_loop_start(&other->loop));
    sh_loop_call(other->loop, connect_flood, &invitation);
    await(meeting, one_accepted);
    meeting->client.at_open = ping_again;
    meeting->client.at_control = ping_again;
    connect_client(meeting, "join", good_key);
    await(meeting, pinged);
    sh_loop_call(other->loop, close_flood, other);
    sh_loop_stop(other->loop);
    assert_false(other->failed);
    assert_int_equal(other->client.closes, 0);
    free(other);
    close_meeting(meeting);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void send_large_and_flush(void *context)
{
    struct meeting *meeting = context;
    send_large_and_control(meeting);
    sh_channel_flush_close(meeting->client.channel);
    if (sh_channel_send_control(meeting->client.channel, "x", 1) != SH_STOPPED)
        fail_meeting(meeting, "a closing channel took a message");
}

static void flushing_sends_everything_and_says_goodbye(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.sink = (sh_sink){.data = got_words, .bytes = LARGE};
    on_loop(meeting, send_large_and_flush);
    await(meeting, both_closed);
    assert_int_equal(meeting->client.sent, 1);
    assert_int_equal(meeting->server.done, 1);
    assert_int_equal(meeting->server.controls, 1);
    assert_int_equal(meeting->server.why, SH_OK);
    assert_int_equal(meeting->client.why, SH_OK);
    assert_non_null(strstr(meeting->server.reason, "closed the connection"));
    close_meeting(meeting);
}

/* The server's reason is still in its socket while the client writes and does not read. */
#define WORD_BYTES 200000

static void say_why_and_close(struct side *side)
{
    const sh_frame head = {.bytes = WORD_BYTES, .kind = SH_FRAME_STATE};
    loop_ok(side->meeting, sh_channel_send(side->channel, &head, sent_words));
    loop_ok(side->meeting, sh_channel_send_control(side->channel, "because", 8));
    sh_channel_flush_close(side->channel);
}

static bool word_is_sent(struct meeting *meeting)
{
    return meeting->server.sent == 1 && meeting->client.asked == 1;
}

static void resume_client(void *context)
{
    struct meeting *meeting = context;
    if (meeting->client.channel != NULL)
        sh_channel_resume(meeting->client.channel);
}

static void the_last_word_is_heard_while_writing(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.sink = (sh_sink){.data = got_words, .bytes = LARGE};
    meeting->client.sink = (sh_sink){.data = got_words, .bytes = WORD_BYTES};
    meeting->client.pauses = 1;
    meeting->server.at_frame = say_why_and_close;
    on_loop(meeting, send_large);
    await(meeting, word_is_sent);
    on_loop(meeting, resume_client);
    await(meeting, both_closed);
    assert_int_equal(meeting->client.done, 1);
    assert_int_equal(meeting->client.controls, 1);
    assert_string_equal((const char *)meeting->client.last_control, "because");
    assert_int_equal(meeting->client.why, SH_OK);
    assert_int_equal(meeting->server.why, SH_OK);
    close_meeting(meeting);
}

/* The server closes at once; its bytes are in the paused client's socket. */
#define SHORT_WORD_BYTES 30000

static void say_why(struct side *side)
{
    const sh_frame head = {.bytes = SHORT_WORD_BYTES, .kind = SH_FRAME_STATE};
    loop_ok(side->meeting, sh_channel_send(side->channel, &head, sent_words));
    loop_ok(side->meeting, sh_channel_send_control(side->channel, "because", 8));
}

static bool word_is_waiting(struct meeting *meeting)
{
    return meeting->client.asked == 1;
}

static void close_server(void *context)
{
    struct meeting *meeting = context;
    sh_channel_close(meeting->server.channel);
    meeting->server.channel = NULL;
}

/* Each round of the loop polls the sockets. */
#define ROUNDS 5

struct rounds {
    struct meeting *meeting;
    sh_timer *timer;
    int left;
};

static void one_round(void *context)
{
    struct rounds *rounds = context;
    if (--rounds->left > 0)
        loop_ok(rounds->meeting, sh_timer_start(rounds->timer, 0, 0));
    else
        sh_timer_free(rounds->timer);
    rounds->meeting->rounds_left = rounds->left;
    look(rounds->meeting);
}

static void start_rounds(void *context)
{
    struct rounds *rounds = context;
    rounds->meeting->rounds_left = rounds->left;
    loop_ok(rounds->meeting,
            sh_timer_new(&rounds->timer, rounds->meeting->loop, one_round, rounds));
    loop_ok(rounds->meeting, sh_timer_start(rounds->timer, 0, 0));
}

static bool no_rounds_left(struct meeting *meeting)
{
    return meeting->rounds_left == 0;
}

static void a_paused_channel_keeps_what_came_before_its_peer_was_gone(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.pauses = 1;
    meeting->server.at_frame = say_why;
    meeting->client.pauses = 1;
    meeting->client.sink = (sh_sink){.data = got_words, .bytes = SHORT_WORD_BYTES};
    on_loop(meeting, send_large);
    await(meeting, word_is_waiting);
    on_loop(meeting, close_server);
    struct rounds rounds = {.meeting = meeting, .left = ROUNDS};
    sh_loop_call(meeting->loop, start_rounds, &rounds);
    await(meeting, no_rounds_left);
    assert_int_equal(meeting->client.closes, 0);
    on_loop(meeting, resume_client);
    await(meeting, client_closed);
    assert_int_equal(meeting->client.done, 1);
    assert_string_equal((const char *)meeting->client.last_control, "because");
    close_meeting(meeting);
}

static void close_client(void *context)
{
    struct meeting *meeting = context;
    sh_channel_close(meeting->client.channel);
    meeting->client.channel = NULL;
}

static void close_client_on_frame(struct side *side)
{
    close_client(side->meeting);
}

static void closing_while_sending_is_a_loss_for_the_other(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_both(meeting);
    meeting->server.sink = (sh_sink){.data = got_words, .bytes = LARGE};
    meeting->server.at_frame = close_client_on_frame;
    on_loop(meeting, send_large);
    await(meeting, server_closed);
    assert_int_equal(meeting->server.why, SH_PEER_LOST);
    assert_int_equal(meeting->server.done + meeting->client.sent + meeting->client.closes, 0);
    close_meeting(meeting);
}

static void close_own(struct side *side)
{
    sh_channel_close(side->channel);
    side->channel = NULL;
}

static void close_own_with_head(struct side *side, const sh_frame *head)
{
    (void)head;
    close_own(side);
}

static bool client_lost(struct meeting *meeting)
{
    return meeting->client.closes == 1 || meeting->client.channel == NULL;
}

static void a_channel_may_be_closed_in_each_of_its_callbacks(void **state)
{
    (void)state;
    for (int callback = 0; callback < 5; callback++) {
        struct meeting *meeting = new_meeting();
        open_meeting(meeting, NULL);
        struct side *server = &meeting->server;
        server->sink = (sh_sink){.data = got_words, .bytes = LARGE};
        server->at_open = callback == 0 ? close_own : NULL;
        server->at_frame = callback == 1 ? close_own : NULL;
        server->at_done = callback == 2 ? close_own_with_head : NULL;
        server->at_control = callback == 3 ? close_own : NULL;
        meeting->client.at_sent = callback == 4 ? close_own_with_head : NULL;
        connect_client(meeting, "join", good_key);
        if (callback > 0) {
            await(meeting, both_open);
            on_loop(meeting, send_large_and_control);
        }
        await(meeting, client_lost);
        assert_int_equal(meeting->client.closes, callback == 4 ? 0 : 1);
        assert_int_equal(callback == 4 ? 0 : server->closes, 0);
        close_meeting(meeting);
    }
}

static void connect_and_flush(void *context)
{
    struct invitation *invitation = context;
    connect_on_loop(invitation);
    struct meeting *meeting = invitation->meeting;
    loop_ok(meeting, sh_channel_send_control(meeting->client.channel, "early", 6));
    sh_channel_flush_close(meeting->client.channel);
}

static void what_is_sent_before_it_is_open_arrives(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    struct invitation invitation = {
        meeting,
        {.host = "127.0.0.1", .port = meeting->port, .identity = "join", .key = good_key},
    };
    sh_loop_call(meeting->loop, connect_and_flush, &invitation);
    await(meeting, both_closed);
    assert_int_equal(meeting->client.opens, 0);
    assert_int_equal(meeting->server.controls, 1);
    assert_int_equal(meeting->client.why, SH_OK);
    close_meeting(meeting);
}

/* ---- peers that break the rules -------------------------------------------------------------- */

/* A client with correct TLS that then sends arbitrary bytes. */
static void wait_for_socket(int fd, const sh_tls *tls)
{
    struct pollfd wait = {.fd = fd, .events = (short)(sh_tls_wants_write(tls) ? POLLOUT : POLLIN)};
    assert_int_equal(poll(&wait, 1, 1000 * MEETING_DEADLINE_S), 1);
}

static void send_bytes(struct meeting *meeting, const void *bytes, size_t count, bool goodbye)
{
    sh_address found[SH_ADDRESS_FOUND_MAX];
    size_t some, put;
    assert_ok(sh_address_find(found, &some, "127.0.0.1", meeting->port));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&found[0].storage, found[0].bytes), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    sh_tls *tls = NULL;
    assert_ok(sh_tls_connect(&tls, fd, "join", good_key));
    sh_tls_flow flow;
    while ((flow = sh_tls_handshake(tls)) == SH_TLS_WAIT)
        wait_for_socket(fd, tls);
    assert_int_equal(flow, SH_TLS_DONE);
    assert_int_equal(sh_tls_write(tls, bytes, count, &put), SH_TLS_DONE);
    assert_int_equal(put, count);
    if (goodbye)
        assert_int_equal(sh_tls_close_notify(tls), SH_TLS_DONE);
    else
        await(meeting, server_closed);
    sh_tls_free(tls);
    close(fd);
}

static const struct {
    sh_frame head;
    unsigned char reserved;
    const char *reason;
} violations[] = {
    {{.kind = SH_FRAME_CONTROL, .bytes = SH_FRAME_CONTROL_MAX + 1}, 0, "kind 1 has at most 262144"},
    {{.kind = SH_FRAME_SEGMENT, .bytes = UINT32_MAX}, 0, "kind 3 has at most 1073741824"},
    {{.kind = 10}, 0, "a frame of unknown kind 10"},
    {{.kind = SH_FRAME_STATE}, 1, "nonzero reserved bytes"},
    {{.kind = SH_FRAME_CONTROL, .step = 1}, 0, "a control frame with the fields of a raw one"},
    {{.kind = SH_FRAME_STATE, .bytes = 8, .view = 3},
     0,
     "unexpected frame: kind 2, bucket 0, view 3"},
    {{.kind = SH_FRAME_SEGMENT, .bytes = 101, .hop = 7}, 0, "101 bytes, expected 100"},
};

static void set_small_sink(struct side *side)
{
    const bool expected = side->last_head.hop == 7;
    side->sink = (sh_sink){.data = expected ? got_words : NULL, .bytes = 100};
}

static sh_flow small_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    struct side *side = context;
    side->last_head = *head;
    set_small_sink(side);
    return side_frame(context, channel, head, sink);
}

static const sh_channel_events small_events = {
    .on_frame = small_frame,
    .on_control = side_control,
    .on_close = side_closed,
};

static void own_with_small_sink(struct side *side)
{
    sh_channel_own(side->channel, &small_events, side);
}

static void violations_close_the_channel_and_are_logged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
        struct meeting *meeting = new_meeting();
        open_meeting(meeting, NULL);
        meeting->server.at_open = own_with_small_sink;
        unsigned char wire[SH_FRAME_BYTES];
        sh_frame_encode(wire, &violations[i].head);
        wire[20] = violations[i].reserved;
        send_bytes(meeting, wire, sizeof wire, false);
        assert_int_equal(meeting->server.why, SH_FORMAT);
        if (strstr(meeting->server.reason, violations[i].reason) == NULL)
            fail_msg("'%s' lacks '%s'", meeting->server.reason, violations[i].reason);
        assert_non_null(strstr(await_log(meeting, "net.violation", 1), violations[i].reason));
        close_meeting(meeting);
    }
}

static const sh_channel_events deaf_events = {.on_close = side_closed};

static void own_deaf(struct side *side)
{
    sh_channel_own(side->channel, &deaf_events, side);
}

static void frames_without_a_callback_are_refused(void **state)
{
    (void)state;
    for (int kind = SH_FRAME_CONTROL; kind <= SH_FRAME_STATE; kind++) {
        struct meeting *meeting = new_meeting();
        open_meeting(meeting, NULL);
        meeting->server.at_open = own_deaf;
        unsigned char wire[SH_FRAME_BYTES];
        sh_frame_encode(wire, &(sh_frame){.kind = (uint16_t)kind});
        send_bytes(meeting, wire, sizeof wire, false);
        assert_int_equal(meeting->server.why, SH_FORMAT);
        assert_non_null(strstr(meeting->server.reason, "unexpected"));
        close_meeting(meeting);
    }
}

static void a_goodbye_within_a_frame_is_a_loss(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    unsigned char wire[SH_FRAME_BYTES];
    open_meeting(meeting, NULL);
    sh_frame_encode(wire, &(sh_frame){.kind = SH_FRAME_CONTROL, .bytes = 100});
    send_bytes(meeting, wire, sizeof wire, true);
    await(meeting, server_closed);
    assert_int_equal(meeting->server.why, SH_PEER_LOST);
    assert_non_null(strstr(meeting->server.reason, "in the middle of a frame"));
    close_meeting(meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_frames_come_whole_and_in_order),
        cmocka_unit_test(the_largest_control_frame_passes),
        cmocka_unit_test(raw_frames_are_stored_or_added),
        cmocka_unit_test(raw_frames_are_added_as_64_bits),
        cmocka_unit_test(a_paused_channel_asks_again),
        cmocka_unit_test(many_frames_cross_in_both_directions),
        cmocka_unit_test(one_channel_does_not_starve_another),
        cmocka_unit_test(flushing_sends_everything_and_says_goodbye),
        cmocka_unit_test(the_last_word_is_heard_while_writing),
        cmocka_unit_test(a_paused_channel_keeps_what_came_before_its_peer_was_gone),
        cmocka_unit_test(closing_while_sending_is_a_loss_for_the_other),
        cmocka_unit_test(a_channel_may_be_closed_in_each_of_its_callbacks),
        cmocka_unit_test(what_is_sent_before_it_is_open_arrives),
        cmocka_unit_test(violations_close_the_channel_and_are_logged),
        cmocka_unit_test(frames_without_a_callback_are_refused),
        cmocka_unit_test(a_goodbye_within_a_frame_is_a_loss),
    };
    return cmocka_run_group_tests(tests, make_words, free_words);
}
