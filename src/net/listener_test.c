/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listener.h"

#include <event2/util.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "net/event_calls.h"
#include "net/meeting_fixture.h"
#include "net/tls_calls.h"

static int dial_from(const char *host, uint16_t port)
{
    sh_address found[SH_ADDRESS_FOUND_MAX], own[SH_ADDRESS_FOUND_MAX];
    size_t count;
    assert_ok(sh_address_find(found, &count, "127.0.0.1", port));
    assert_ok(sh_address_find(own, &count, host, 0));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&own[0].storage, own[0].bytes), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&found[0].storage, found[0].bytes), 0);
    return fd;
}

static int dial(uint16_t port)
{
    return dial_from("127.0.0.1", port);
}

static void await_end(int fd)
{
    char bytes[4096];
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    do
        assert_int_equal(poll(&wait, 1, 1000 * MEETING_DEADLINE_S), 1);
    while (recv(fd, bytes, sizeof bytes, 0) > 0);
}

/* ---- wrong keys ------------------------------------------------------------------------------ */

static const struct {
    const char *identity;
    const unsigned char *key;
    const char *client, *server;
} keys[] = {
    {"join", bad_key, "the job did not accept the token: wrong or expired key",
     "wrong key for 'join'"},
    {"link/3/1>2", good_key, "did not accept the key of 'link/3/1>2': wrong or expired key",
     "unknown identity 'link/3/1>2'"},
};

static void a_wrong_key_is_refused_with_a_reason_on_both_sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct meeting *meeting = new_meeting();
        open_meeting(meeting, NULL);
        connect_client(meeting, keys[i].identity, keys[i].key);
        await(meeting, client_closed);
        assert_int_equal(meeting->client.why, SH_REFUSED);
        if (strstr(meeting->client.reason, keys[i].client) == NULL)
            fail_msg("'%s' lacks '%s'", meeting->client.reason, keys[i].client);
        const char *line = await_log(meeting, "net.refused", 1);
        if (strstr(line, keys[i].server) == NULL || strstr(line, "peer=127.0.0.1:") == NULL)
            fail_msg("'%s' lacks '%s'", line, keys[i].server);
        assert_int_equal(meeting->accepted + meeting->client.opens, 0);
        close_meeting(meeting);
    }
}

static void allow_link(void *context)
{
    struct meeting *meeting = context;
    char identity[SH_IDENTITY_TEXT];
    for (int i = 0; i < 9; i++) {
        snprintf(identity, sizeof identity, "link/%d", i);
        loop_ok(meeting, sh_listener_allow(meeting->listener, identity, bad_key));
    }
    loop_ok(meeting, sh_listener_allow(meeting->listener, "link/5", good_key));
    sh_listener_forbid(meeting->listener, "link/0");
    sh_listener_forbid(meeting->listener, "link/8");
    sh_listener_forbid(meeting->listener, "unheard of");
    if (sh_listener_allow(meeting->listener, "a b", bad_key) != SH_INVALID)
        fail_meeting(meeting, "an identity with a space was taken");
}

static const struct {
    const char *identity;
    const unsigned char *key;
    bool enters;
} table[] = {
    {"join", good_key, true},   {"link/0", bad_key, false},  {"link/1", bad_key, true},
    {"link/5", bad_key, false}, {"link/5", good_key, true},  {"link/7", bad_key, true},
    {"link/8", bad_key, false}, {"link/7", good_key, false},
};

static void keys_can_be_allowed_replaced_and_forbidden(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct meeting *meeting = new_meeting();
        open_meeting(meeting, NULL);
        on_loop(meeting, allow_link);
        connect_client(meeting, table[i].identity, table[i].key);
        await(meeting, table[i].enters ? both_open : client_closed);
        assert_int_equal(meeting->accepted, table[i].enters);
        if (table[i].enters)
            assert_string_equal(meeting->server.identity, table[i].identity);
        close_meeting(meeting);
    }
}

static void forbid_join(void *context)
{
    sh_listener_forbid(((struct meeting *)context)->listener, "join");
}

/* The second half never follows. */
static size_t first_flight(unsigned char *bytes, size_t room)
{
    int ends[2];
    sh_tls *tls = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(evutil_make_socket_nonblocking(ends[0]), 0);
    assert_ok(sh_tls_connect(&tls, ends[0], "join", good_key));
    assert_int_equal(sh_tls_handshake(tls), SH_TLS_WAIT);
    const ssize_t count = recv(ends[1], bytes, room, 0);
    assert_true(count > 0);
    sh_tls_free(tls);
    close(ends[0]);
    close(ends[1]);
    return (size_t)count;
}

static void a_key_that_is_withdrawn_ends_handshakes_with_it(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    unsigned char hello[4096];
    const size_t count = first_flight(hello, sizeof hello);
    const int fd = dial(meeting->port);
    assert_int_equal(send(fd, hello, count, MSG_NOSIGNAL), count);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 1000 * MEETING_DEADLINE_S), 1);
    on_loop(meeting, forbid_join);
    await_log(meeting, "the key was withdrawn during the handshake", 1);
    await_end(fd);
    assert_int_equal(meeting->accepted, 0);
    close(fd);
    close_meeting(meeting);
}

static void fill_table(void *context)
{
    struct meeting *meeting = context;
    char identity[SH_IDENTITY_TEXT];
    for (int i = 1; i < SH_LISTENER_KEYS_MAX; i++) {
        snprintf(identity, sizeof identity, "link/%d", i);
        loop_ok(meeting, sh_listener_allow(meeting->listener, identity, good_key));
    }
    if (sh_listener_allow(meeting->listener, "one more", good_key) == SH_OK ||
        sh_listener_allow(meeting->listener, "one-more", good_key) != SH_LIMIT)
        fail_meeting(meeting, "the table has no bound");
    sh_listener_forbid(meeting->listener, "link/77");
    loop_ok(meeting, sh_listener_allow(meeting->listener, "one-more", good_key));
}

static void the_table_of_keys_is_bounded(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    on_loop(meeting, fill_table);
    close_meeting(meeting);
}

/* ---- what is not a device -------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t count;
    const char *reason;
} talkers[] = {
    {"", 0, "the connection ended in the handshake"},
    {"GET / HTTP/1.1\r\nHost: pi\r\n\r\n", 28, "a plain HTTP request, not TLS"},
    {"\x8f\x01\x99\x3c\xd2\x77\x00\x10\xee\x42\x6b\x0d\x55\xa1\x9c\x20", 16, "not TLS"},
    {"SSH-2.0-OpenSSH_9.2p1\r\n", 23, "not TLS"},
    {"\x16\x03\x01\x02", 4, "the connection ended in the handshake"},
};

static void what_is_not_tls_is_refused(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    for (size_t i = 0; i < sizeof talkers / sizeof *talkers; i++) {
        const int fd = dial(meeting->port);
        assert_int_equal(send(fd, talkers[i].bytes, talkers[i].count, MSG_NOSIGNAL),
                         talkers[i].count);
        shutdown(fd, SHUT_WR);
        await_end(fd);
        close(fd);
        const char *line = await_log(meeting, "net.refused", (int)i + 1);
        if (strstr(line, talkers[i].reason) == NULL)
            fail_msg("case %zu: '%s' lacks '%s'", i, line, talkers[i].reason);
    }
    connect_client(meeting, "join", good_key);
    await(meeting, both_open);
    close_meeting(meeting);
}

static void refuse_foreign(struct meeting *meeting, int version, const char *reason, int lines)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL *ssl = SSL_new(context);
    const int fd = dial(meeting->port);
    SSL_set_fd(ssl, fd);
    assert_int_not_equal(SSL_connect(ssl), 1);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    assert_non_null(strstr(await_log(meeting, "net.refused", lines), reason));
}

static void tls_without_a_key_is_refused(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    refuse_foreign(meeting, TLS1_3_VERSION, "no pre-shared key offered", 1);
    refuse_foreign(meeting, TLS1_2_VERSION, "a TLS version older than 1.3", 2);
    assert_int_equal(meeting->accepted, 0);
    close_meeting(meeting);
}

static void who_says_nothing_is_sent_away_in_time(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, &(sh_listener_options){.patience_ms = 30});
    const int fd = dial(meeting->port);
    await_end(fd);
    close(fd);
    assert_non_null(strstr(await_log(meeting, "net.refused", 1), "the handshake timed out"));
    close_meeting(meeting);
}

static void the_oldest_stranger_gives_way(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, &(sh_listener_options){.strangers_max = 2});
    int fds[3];
    for (int i = 0; i < 3; i++)
        fds[i] = dial(meeting->port);
    await_end(fds[0]);
    assert_non_null(strstr(await_log(meeting, "net.refused", 1),
                           "too many connections that have not finished the handshake"));
    /* Silent strangers hold all places. */
    connect_client(meeting, "join", good_key);
    await(meeting, both_open);
    await_end(fds[1]);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close_meeting(meeting);
}

static void strangers_leave_a_reserve_of_descriptors(void **state)
{
    (void)state;
    enum { STRANGERS = 24, DOOR = 4 };
    struct meeting *meeting = new_meeting();
    struct rlimit before;
    int fds[STRANGERS], spare[2 * SH_DESCRIPTORS_RESERVE], count = 0;
    open_meeting(meeting, NULL);
    int top = 0, next;
    for (int fd = 0; fd < 1024; fd++)
        top = fcntl(fd, F_GETFD) >= 0 ? fd : top;
    while ((next = dup(STDIN_FILENO)) < top) /* the next descriptor is above all others */
        continue;
    /* This process has both ends. */
    const rlim_t most = (rlim_t)(next + 1 + STRANGERS + DOOR + SH_DESCRIPTORS_RESERVE);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, before.rlim_max}), 0);
    for (int i = 0; i < STRANGERS; i++)
        fds[i] = dial(meeting->port);
    for (int i = 0; i < STRANGERS - 2 * DOOR; i++)
        await_end(fds[i]);
    (void)await_log(meeting, "few file descriptors are left", 1);
    while (count < 2 * SH_DESCRIPTORS_RESERVE && (spare[count] = dup(STDIN_FILENO)) >= 0)
        count++;
    for (int i = 0; i < count; i++)
        close(spare[i]);
    assert_in_range(count, SH_DESCRIPTORS_RESERVE - DOOR, 2 * SH_DESCRIPTORS_RESERVE);
    connect_client(meeting, "join", good_key);
    await(meeting, both_open);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
    close_meeting(meeting);
}

static void a_host_that_floods_displaces_its_own(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, &(sh_listener_options){.strangers_max = 2});
    const int first = dial_from("127.0.0.2", meeting->port);
    int fds[10];
    for (int i = 0; i < 10; i++)
        fds[i] = dial(meeting->port);
    for (int i = 0; i < 9; i++)
        await_end(fds[i]);
    struct pollfd still = {.fd = first, .events = POLLIN};
    assert_int_equal(poll(&still, 1, 0), 0);
    close(first);
    for (int i = 0; i < 10; i++)
        close(fds[i]);
    close_meeting(meeting);
}

static void a_flood_of_refusals_does_not_flood_the_log(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    for (int i = 0; i < 50; i++) {
        const int fd = dial(meeting->port);
        assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
        await_end(fd);
        close(fd);
    }
    assert_int_equal(meeting->accepted, 0);
    await_log(meeting, "net.refused peer", SH_LISTENER_REFUSALS_LOGGED);
    sh_loop_call(meeting->loop, close_on_loop, meeting); /* ends the window */
    meeting->listener = NULL;
    assert_non_null(strstr(await_log(meeting, "net.refused_more", 1), "count=30 "));
    assert_int_equal(meeting->lines, SH_LISTENER_REFUSALS_LOGGED + 1);
    close_meeting(meeting);
}

static int count_lines(struct meeting *meeting, const char *part)
{
    int count = 0;
    pthread_mutex_lock(&meeting->lock);
    for (int i = 0; i < meeting->lines; i++)
        count += strstr(meeting->log[i], part) != NULL;
    pthread_mutex_unlock(&meeting->lock);
    return count;
}

/* Even on a slow machine, some window has too many. */
static void a_window_of_refusals_ends_by_itself(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, &(sh_listener_options){.window_ms = 200});
    while (count_lines(meeting, "net.refused_more") == 0) {
        const int fd = dial(meeting->port);
        assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
        await_end(fd);
        close(fd);
    }
    await_log(meeting, "window_ms=200", 1);
    close_meeting(meeting);
}

/* ---- replay and eavesdropping ---------------------------------------------------------------- */

#define MARKER "a marker that nobody on the way may read"
#define RECORD_BYTES 65536

struct relay {
    int listening, client, server;
    uint16_t port;
    unsigned char heard[2][RECORD_BYTES];
    size_t count[2];
};

static void open_relay(struct relay *relay, uint16_t to)
{
    sh_address found[SH_ADDRESS_FOUND_MAX], bound;
    size_t count;
    memset(relay, 0, sizeof *relay);
    assert_ok(sh_address_find(found, &count, "127.0.0.1", 0));
    relay->listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(relay->listening, (struct sockaddr *)&found[0].storage, found[0].bytes),
                     0);
    assert_int_equal(listen(relay->listening, 1), 0);
    sh_address_of_socket(&bound, relay->listening);
    relay->port = sh_address_port(&bound);
    relay->server = dial(to);
}

static void run_relay(struct relay *relay)
{
    relay->client = accept(relay->listening, NULL, NULL);
    assert_true(relay->client >= 0);
    struct pollfd ends[2] = {{.fd = relay->client, .events = POLLIN},
                             {.fd = relay->server, .events = POLLIN}};
    for (;;) {
        assert_true(poll(ends, 2, 1000 * MEETING_DEADLINE_S) > 0);
        for (int i = 0; i < 2; i++) {
            if (ends[i].revents == 0)
                continue;
            unsigned char *place = relay->heard[i] + relay->count[i];
            const ssize_t got = recv(ends[i].fd, place, RECORD_BYTES - relay->count[i], 0);
            if (got <= 0)
                return;
            assert_int_equal(send(ends[1 - i].fd, place, (size_t)got, MSG_NOSIGNAL), got);
            relay->count[i] += (size_t)got;
        }
    }
}

static void close_relay(struct relay *relay)
{
    close(relay->listening);
    close(relay->client);
    close(relay->server);
}

static void send_marker_and_close(struct side *side)
{
    loop_ok(side->meeting, sh_channel_send_control(side->channel, MARKER, sizeof MARKER));
    sh_channel_flush_close(side->channel);
}

static bool contains(const unsigned char *bytes, size_t count, const char *part)
{
    for (size_t i = 0; i + strlen(part) <= count; i++)
        if (memcmp(bytes + i, part, strlen(part)) == 0)
            return true;
    return false;
}

static void a_recorded_session_is_unreadable_and_cannot_be_replayed(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    static struct relay relay;
    open_meeting(meeting, NULL);
    open_relay(&relay, meeting->port);
    meeting->client.at_open = send_marker_and_close;
    meeting->server.echo = true;
    const uint16_t port = meeting->port;
    meeting->port = relay.port;
    connect_client(meeting, "join", good_key);
    meeting->port = port;
    run_relay(&relay);
    close_relay(&relay);
    await(meeting, both_closed);
    assert_int_equal(meeting->server.controls, 1);
    assert_string_equal((const char *)meeting->server.last_control, MARKER);
    assert_true(relay.count[0] > sizeof MARKER && relay.count[1] > 0);
    assert_true(contains(relay.heard[0], relay.count[0], "join")); /* the identity is not secret */
    for (int i = 0; i < 2; i++) {
        assert_false(contains(relay.heard[i], relay.count[i], "a marker"));
        assert_false(contains(relay.heard[i], relay.count[i], (const char *)good_key));
    }

    const int fd = dial(port);
    assert_int_equal(send(fd, relay.heard[0], relay.count[0], MSG_NOSIGNAL), relay.count[0]);
    await_end(fd);
    close(fd);
    assert_non_null(strstr(await_log(meeting, "net.refused", 1), "the handshake failed"));
    assert_int_equal(meeting->accepted, 1);
    assert_int_equal(meeting->server.controls, 1);
    close_meeting(meeting);
}

/* ---- who cannot be reached, and ports -------------------------------------------------------- */

static void who_is_not_there_is_told_apart(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    const int fd = dial(meeting->port);
    sh_address mine;
    sh_address_of_socket(&mine, fd);
    close(fd);
    meeting->port = sh_address_port(&mine);
    connect_client(meeting, "join", good_key);
    await(meeting, client_closed);
    char expected[128];
    snprintf(expected, sizeof expected,
             "could not reach 127.0.0.1:%u: Connection refused; is the job still running?",
             (unsigned)meeting->port);
    assert_string_equal(meeting->client.reason, expected);
    assert_int_equal(meeting->client.why, SH_NETWORK);
    close_meeting(meeting);
}

static void a_name_without_an_address_is_told(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    struct invitation invitation = {
        meeting,
        {.host = "fe80::1%no-such-zone", .port = 1, .identity = "join", .key = good_key},
    };
    sh_loop_call(meeting->loop, connect_on_loop, &invitation);
    await(meeting, client_closed);
    assert_int_equal(meeting->client.why, SH_NETWORK);
    assert_non_null(
        strstr(meeting->client.reason, "could not find the address of 'fe80::1%no-such"));
    close_meeting(meeting);
}

/* One server never answers; another uses a different protocol. */
static void a_server_that_is_no_job_is_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *says, *reason;
    } servers[] = {
        {"", "did not answer the handshake in time"},
        {"SSH-2.0-OpenSSH_9.2p1\r\n", "it does not speak this TLS"},
    };
    for (int i = 0; i < 2; i++) {
        struct meeting *meeting = new_meeting();
        static struct relay relay;
        open_meeting(meeting, NULL);
        open_relay(&relay, meeting->port);
        struct invitation invitation = {
            meeting,
            {.host = "127.0.0.1", .port = relay.port, .identity = "join", .key = good_key},
        };
        invitation.target.patience_ms = i == 0 ? 30 : 0;
        sh_loop_call(meeting->loop, connect_on_loop, &invitation);
        relay.client = accept(relay.listening, NULL, NULL);
        const size_t count = strlen(servers[i].says);
        assert_int_equal(send(relay.client, servers[i].says, count, MSG_NOSIGNAL), count);
        await(meeting, client_closed);
        assert_int_equal(meeting->client.why, SH_NETWORK);
        if (strstr(meeting->client.reason, servers[i].reason) == NULL)
            fail_msg("'%s' lacks '%s'", meeting->client.reason, servers[i].reason);
        close_relay(&relay);
        close_meeting(meeting);
    }
}

static void open_taken_port(void *context)
{
    struct meeting *meeting = context;
    char expected[64];
    sh_listener *second = NULL;
    sh_listener_options options = meeting->options;
    options.port = meeting->port;
    snprintf(expected, sizeof expected, "port %u is taken: choose another with --listen",
             (unsigned)meeting->port);
    if (sh_listener_open(&second, meeting->loop, &options) != SH_NETWORK ||
        strcmp(sh_message(), expected) != 0)
        fail_meeting(meeting, "a taken port was not told");
    options.host = "192.0.2.1"; /* reserved for documentation */
    options.port = 0;
    if (sh_listener_open(&second, meeting->loop, &options) != SH_NETWORK ||
        strstr(sh_message(), "192.0.2.1 is not an address of this device") == NULL)
        fail_meeting(meeting, "a foreign address was not told");
}

static void ports_and_addresses_that_cannot_be_had_are_told(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    on_loop(meeting, open_taken_port);
    close_meeting(meeting);
}

static void open_everywhere(void *context)
{
    struct meeting *meeting = context;
    sh_listener_close(meeting->listener);
    meeting->listener = NULL;
    meeting->options.host = NULL;
    meeting->options.port = 0;
    open_on_loop(meeting);
}

static void without_a_host_all_addresses_are_served(void **state)
{
    (void)state;
    struct meeting *meeting = new_meeting();
    open_meeting(meeting, NULL);
    on_loop(meeting, open_everywhere);
    connect_client(meeting, "join", good_key);
    await(meeting, both_open);
    char text[SH_ADDRESS_TEXT];
    sh_channel_local_address(meeting->server.channel, text);
    assert_string_equal(text, "127.0.0.1"); /* not ::ffff:127.0.0.1 */
    close_meeting(meeting);
}

int main(void)
{
    assert_ok(sh_tls_load());
    assert_ok(sh_event_load());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_key_is_refused_with_a_reason_on_both_sides),
        cmocka_unit_test(keys_can_be_allowed_replaced_and_forbidden),
        cmocka_unit_test(a_key_that_is_withdrawn_ends_handshakes_with_it),
        cmocka_unit_test(the_table_of_keys_is_bounded),
        cmocka_unit_test(what_is_not_tls_is_refused),
        cmocka_unit_test(tls_without_a_key_is_refused),
        cmocka_unit_test(who_says_nothing_is_sent_away_in_time),
        cmocka_unit_test(the_oldest_stranger_gives_way),
        cmocka_unit_test(strangers_leave_a_reserve_of_descriptors),
        cmocka_unit_test(a_host_that_floods_displaces_its_own),
        cmocka_unit_test(a_flood_of_refusals_does_not_flood_the_log),
        cmocka_unit_test(a_window_of_refusals_ends_by_itself),
        cmocka_unit_test(a_recorded_session_is_unreadable_and_cannot_be_replayed),
        cmocka_unit_test(who_is_not_there_is_told_apart),
        cmocka_unit_test(a_name_without_an_address_is_told),
        cmocka_unit_test(a_server_that_is_no_job_is_told_apart),
        cmocka_unit_test(ports_and_addresses_that_cannot_be_had_are_told),
        cmocka_unit_test(without_a_host_all_addresses_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
