/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"
#include "net/tls_calls.h"

static const unsigned char good[SH_KEY_BYTES] = {1, 2, 3};
static const unsigned char bad[SH_KEY_BYTES] = {1, 2, 4};

static bool find_join(void *context, const char *identity, unsigned char key[SH_KEY_BYTES])
{
    (void)context;
    memcpy(key, good, SH_KEY_BYTES);
    return strcmp(identity, "join") == 0;
}

struct pair {
    int fds[2];
    sh_tls_server *server;
    sh_tls *sides[2]; /* client, server */
};

static void open_sockets(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
}

static void open_pair(struct pair *pair, const char *identity, const unsigned char *key)
{
    *pair = (struct pair){.server = NULL};
    open_sockets(pair->fds);
    assert_ok(sh_tls_server_new(&pair->server, find_join, NULL));
    assert_ok(sh_tls_accept(&pair->sides[1], pair->server, pair->fds[1]));
    if (identity != NULL)
        assert_ok(sh_tls_connect(&pair->sides[0], pair->fds[0], identity, key));
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        sh_tls_free(pair->sides[i]);
        close(pair->fds[i]);
    }
    sh_tls_server_free(pair->server);
}

/* Runs both sides until neither waits; flows[i] is the last result of side i. */
static void shake_hands(struct pair *pair, sh_tls_flow flows[2])
{
    flows[0] = flows[1] = SH_TLS_WAIT;
    for (int turn = 0; turn < 20; turn++) {
        const int i = turn % 2;
        if (flows[i] == SH_TLS_WAIT)
            flows[i] = sh_tls_handshake(pair->sides[i]);
        if (flows[i] == SH_TLS_FAILED)
            shutdown(pair->fds[i], SHUT_WR);
    }
}

static void assert_failure(const sh_tls *tls, sh_status why, const char *part)
{
    const char *reason;
    assert_int_equal(sh_tls_failure(tls, &reason), why);
    if (strstr(reason, part) == NULL)
        fail_msg("reason '%s' lacks '%s'", reason, part);
}

static void the_right_key_opens_and_bytes_cross(void **state)
{
    (void)state;
    struct pair pair;
    sh_tls_flow flows[2];
    open_pair(&pair, "join", good);
    shake_hands(&pair, flows);
    assert_int_equal(flows[0], SH_TLS_DONE);
    assert_int_equal(flows[1], SH_TLS_DONE);
    assert_string_equal(sh_tls_identity(pair.sides[1]), "join");
    assert_non_null(strstr("TLS_AES_128_GCM_SHA256 TLS_CHACHA20_POLY1305_SHA256",
                           sh_tls_cipher(pair.sides[0])));
    for (int from = 0; from < 2; from++) {
        char got[16];
        size_t count;
        assert_int_equal(sh_tls_write(pair.sides[from], "a message", 10, &count), SH_TLS_DONE);
        assert_int_equal(count, 10);
        assert_int_equal(sh_tls_read(pair.sides[1 - from], got, sizeof got, &count), SH_TLS_DONE);
        assert_int_equal(count, 10);
        assert_string_equal(got, "a message");
        assert_int_equal(sh_tls_read(pair.sides[1 - from], got, sizeof got, &count), SH_TLS_WAIT);
        assert_false(sh_tls_wants_write(pair.sides[1 - from]));
        assert_int_equal(sh_tls_bytes_sent(pair.sides[from]),
                         sh_tls_bytes_received(pair.sides[1 - from]));
    }
    char byte;
    size_t count;
    assert_int_equal(sh_tls_close_notify(pair.sides[0]), SH_TLS_DONE);
    assert_int_equal(sh_tls_read(pair.sides[1], &byte, 1, &count), SH_TLS_END);
    close_pair(&pair);
}

static const struct {
    const char *identity;
    const unsigned char *key;
    const char *server_reason;
} strangers[] = {
    {"join", bad, "wrong key for 'join'"},
    {"link/3/1>2", good, "unknown identity 'link/3/1>2'"},
};

/* Other connections differ, even with the same key. */
static void a_connection_has_a_binding_of_its_own(void **state)
{
    (void)state;
    unsigned char bindings[2][2][SH_LEADER_BINDING_BYTES];
    for (int k = 0; k < 2; k++) {
        struct pair pair;
        sh_tls_flow flows[2];
        open_pair(&pair, "join", good);
        assert_fails(sh_tls_binding(pair.sides[0], bindings[k][0]), SH_INVALID, "no binding");
        shake_hands(&pair, flows);
        for (int i = 0; i < 2; i++)
            assert_ok(sh_tls_binding(pair.sides[i], bindings[k][i]));
        assert_memory_equal(bindings[k][0], bindings[k][1], SH_LEADER_BINDING_BYTES);
        close_pair(&pair);
    }
    assert_memory_not_equal(bindings[0][0], bindings[1][0], SH_LEADER_BINDING_BYTES);
}

static void a_stranger_is_refused_on_both_sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        struct pair pair;
        sh_tls_flow flows[2];
        open_pair(&pair, strangers[i].identity, strangers[i].key);
        shake_hands(&pair, flows);
        assert_int_equal(flows[0], SH_TLS_FAILED);
        assert_int_equal(flows[1], SH_TLS_FAILED);
        assert_failure(pair.sides[0], SH_REFUSED, "wrong or expired key");
        assert_failure(pair.sides[1], SH_REFUSED, strangers[i].server_reason);
        close_pair(&pair);
    }
    sh_tls *tls;
    assert_fails(sh_tls_connect(&tls, 0, "", good), SH_INVALID, "an identity needs 1 to 63");
    assert_fails(sh_tls_connect(&tls, 0, "a b", good), SH_INVALID, "printable");
}

static const struct {
    const char *bytes, *reason;
} talkers[] = {
    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "a plain HTTP request, not TLS"},
    {"SSH-2.0-OpenSSH_9.2\r\n", "not TLS"},
    {"\x16\x03\x01\xff\xff garbage", "not TLS"},
    {"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "not TLS"},
    {"", "the connection ended in the handshake"},
    {"\x16\x03", "the connection ended in the handshake"},
};

static void what_is_not_tls_is_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof talkers / sizeof *talkers; i++) {
        struct pair pair;
        open_pair(&pair, NULL, NULL);
        const size_t count = i == 3 ? 10 : strlen(talkers[i].bytes);
        assert_int_equal(write(pair.fds[0], talkers[i].bytes, count), count);
        shutdown(pair.fds[0], SHUT_WR);
        sh_tls_flow flow = SH_TLS_WAIT;
        for (int turn = 0; turn < 5 && flow == SH_TLS_WAIT; turn++)
            flow = sh_tls_handshake(pair.sides[1]);
        assert_int_equal(flow, SH_TLS_FAILED);
        const char *reason;
        sh_tls_failure(pair.sides[1], &reason);
        if (strstr(reason, talkers[i].reason) == NULL)
            fail_msg("case %zu: '%s' lacks '%s'", i, reason, talkers[i].reason);
        close_pair(&pair);
    }
}

/* The client has no pre-shared key. */
static void run_foreign_client(int version, const char *reason)
{
    struct pair pair;
    open_pair(&pair, NULL, NULL);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, pair.fds[0]);
    SSL_set_connect_state(ssl);
    sh_tls_flow flow = SH_TLS_WAIT;
    for (int turn = 0; turn < 5 && flow == SH_TLS_WAIT; turn++) {
        assert_int_not_equal(SSL_do_handshake(ssl), 1);
        flow = sh_tls_handshake(pair.sides[1]);
    }
    assert_int_equal(flow, SH_TLS_FAILED);
    assert_failure(pair.sides[1], SH_REFUSED, reason);
    assert_int_not_equal(SSL_do_handshake(ssl), 1);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close_pair(&pair);
}

static void clients_without_a_key_are_refused(void **state)
{
    (void)state;
    run_foreign_client(TLS1_3_VERSION, "no pre-shared key offered");
    run_foreign_client(TLS1_2_VERSION, "a TLS version older than 1.3");
}

static SSL_CTX *certified_server(void)
{
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    assert_non_null(pkey);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, pkey);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"me", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    assert_true(X509_sign(cert, pkey, EVP_sha256()) > 0);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(context, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, pkey), 1);
    X509_free(cert);
    EVP_PKEY_free(pkey);
    return context;
}

static void a_server_with_a_certificate_instead_of_the_key_is_refused(void **state)
{
    (void)state;
    int fds[2];
    open_sockets(fds);
    SSL_CTX *context = certified_server();
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fds[1]);
    SSL_set_accept_state(ssl);
    sh_tls *tls = NULL;
    assert_ok(sh_tls_connect(&tls, fds[0], "join", good));
    sh_tls_flow flow = SH_TLS_WAIT;
    for (int turn = 0; turn < 5 && flow == SH_TLS_WAIT; turn++) {
        flow = sh_tls_handshake(tls);
        SSL_do_handshake(ssl);
    }
    assert_int_equal(flow, SH_TLS_FAILED);
    assert_failure(tls, SH_MISMATCH, "it showed a certificate instead of the key");
    sh_tls_free(tls);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fds[0]);
    close(fds[1]);
}

static void keys_change_after_so_many_records(void **state)
{
    (void)state;
    struct pair pair;
    sh_tls_flow flows[2];
    open_pair(&pair, "join", good);
    shake_hands(&pair, flows);
    sh_tls_limit_records(pair.sides[0], 3);
    for (int i = 0; i < 10; i++) {
        char byte = (char)i, got;
        size_t count;
        assert_int_equal(sh_tls_write(pair.sides[0], &byte, 1, &count), SH_TLS_DONE);
        assert_int_equal(sh_tls_read(pair.sides[1], &got, 1, &count), SH_TLS_DONE);
        assert_int_equal(got, i);
    }
    assert_int_equal(sh_tls_key_changes(pair.sides[0]), 3);
    assert_int_equal(sh_tls_key_changes(pair.sides[1]), 0);
    close_pair(&pair);
}

static void an_altered_record_and_a_cut_stream_are_noticed(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct pair pair;
        sh_tls_flow flows[2];
        open_pair(&pair, "join", good);
        shake_hands(&pair, flows);
        if (!cut)
            assert_int_equal(write(pair.fds[0],
                                   "\x17\x03\x03\x00\x14"
                                   "ABCDEFGHIJKLMNOPQRST",
                                   25),
                             25);
        shutdown(pair.fds[0], SHUT_WR);
        char byte;
        size_t count;
        assert_int_equal(sh_tls_read(pair.sides[1], &byte, 1, &count), SH_TLS_FAILED);
        assert_failure(pair.sides[1], cut ? SH_PEER_LOST : SH_CORRUPT,
                       cut ? "without close_notify" : "a record was damaged or forged");
        close_pair(&pair);
    }
}

static void what_was_sent_before_a_loss_can_be_read(void **state)
{
    (void)state;
    struct pair pair;
    sh_tls_flow flows[2];
    char got[8];
    size_t count;
    open_pair(&pair, "join", good);
    shake_hands(&pair, flows);
    assert_int_equal(sh_tls_write(pair.sides[1], "refused", 8, &count), SH_TLS_DONE);
    assert_int_equal(sh_tls_close_notify(pair.sides[1]), SH_TLS_DONE);
    close(pair.fds[1]);
    assert_int_equal(sh_tls_write(pair.sides[0], "hello", 6, &count), SH_TLS_WAIT);
    assert_int_not_equal(sh_tls_write_error(pair.sides[0]), 0);
    assert_int_equal(sh_tls_read(pair.sides[0], got, sizeof got, &count), SH_TLS_DONE);
    assert_string_equal(got, "refused");
    assert_int_equal(sh_tls_read(pair.sides[0], got, sizeof got, &count), SH_TLS_END);
    pair.fds[1] = -1;
    close_pair(&pair);
}

static void gathered_records_go_at_the_flush(void **state)
{
    (void)state;
    enum { RECORD = 16384, RECORDS = 64 };
    static unsigned char sent[RECORD * RECORDS], got[RECORD];
    struct pair pair;
    sh_tls_flow flows[2], flow = SH_TLS_DONE;
    size_t count, written = 0, read = 0;
    open_pair(&pair, "join", good);
    shake_hands(&pair, flows);
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (unsigned char)(i * 7 + i / RECORD);
    sh_tls_gather(pair.sides[0]);
    const uint64_t before = sh_tls_bytes_sent(pair.sides[0]);
    assert_int_equal(sh_tls_write(pair.sides[0], sent, 1000, &written), SH_TLS_DONE);
    assert_int_equal(sh_tls_bytes_sent(pair.sides[0]), before);
    assert_int_equal(sh_tls_read(pair.sides[1], got, RECORD, &count), SH_TLS_WAIT);
    assert_int_equal(sh_tls_flush(pair.sides[0]), SH_TLS_DONE);
    assert_true(sh_tls_bytes_sent(pair.sides[0]) > before + 1000);
    int full = 0;
    for (int turn = 0; read < sizeof sent; turn++) {
        assert_in_range(turn, 0, RECORDS);
        sh_tls_gather(pair.sides[0]);
        while (written < sizeof sent) {
            const size_t left = sizeof sent - written, most = left < RECORD ? left : RECORD;
            if (sh_tls_write(pair.sides[0], sent + written, most, &count) != SH_TLS_DONE)
                break;
            written += count;
        }
        flow = sh_tls_flush(pair.sides[0]);
        assert_true(flow == SH_TLS_DONE || sh_tls_wants_write(pair.sides[0]));
        full += flow == SH_TLS_WAIT;
        while (sh_tls_read(pair.sides[1], got, RECORD, &count) == SH_TLS_DONE) {
            assert_memory_equal(got, sent + read, count);
            read += count;
        }
    }
    assert_true(full > 0);
    assert_int_equal(flow, SH_TLS_DONE);
    close_pair(&pair);
}

/* A socket pair does not support SO_RCVLOWAT. */
static void open_connection(int fds[2])
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof place;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(door, (struct sockaddr *)&place, bytes), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&place, &bytes), 0);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fds[0], (struct sockaddr *)&place, bytes), 0);
    fds[1] = accept(door, NULL, NULL);
    assert_true(fds[1] >= 0);
    close(door);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
}

static bool wakes(int fd, int patience_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, patience_ms) == 1;
}

static void pass_on(int from, int to, size_t most)
{
    char bytes[20000];
    const ssize_t got = recv(from, bytes, most < sizeof bytes ? most : sizeof bytes, 0);
    if (got > 0)
        assert_int_equal(send(to, bytes, (size_t)got, 0), got);
}

static void a_record_wakes_its_reader_when_it_is_whole(void **state)
{
    (void)state;
    enum { RECORD = 16384, FIRST = 6000, SECOND = 5000 };
    static char body[RECORD];
    struct pair pair;
    int wire[2]; /* the server's end is pair.fds[1]; the client's bytes are forwarded here */
    size_t count;
    open_pair(&pair, "join", good);
    open_connection(wire);
    sh_tls_free(pair.sides[1]);
    assert_ok(sh_tls_accept(&pair.sides[1], pair.server, wire[1]));
    for (int turn = 0; turn < 4; turn++) {
        sh_tls_handshake(pair.sides[0]);
        pass_on(pair.fds[1], wire[0], SIZE_MAX);
        assert_true(turn > 1 || wakes(wire[1], 5000));
        sh_tls_handshake(pair.sides[1]);
        assert_true(turn > 0 || wakes(wire[0], 5000));
        pass_on(wire[0], pair.fds[1], SIZE_MAX);
    }
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sh_tls_write(pair.sides[0], body, RECORD, &count), SH_TLS_DONE);
        pass_on(pair.fds[1], wire[0], FIRST);
        assert_true(wakes(wire[1], 5000));
        assert_int_equal(sh_tls_read(pair.sides[1], body, RECORD, &count), SH_TLS_WAIT);
        pass_on(pair.fds[1], wire[0], SECOND);
        assert_false(wakes(wire[1], 0));
        if (round == 1)
            shutdown(wire[0], SHUT_WR);
        else
            pass_on(pair.fds[1], wire[0], SIZE_MAX);
        assert_true(wakes(wire[1], 5000));
        assert_int_equal(sh_tls_read(pair.sides[1], body, RECORD, &count),
                         round == 0 ? SH_TLS_DONE : SH_TLS_FAILED);
        assert_int_equal(sh_tls_read(pair.sides[1], body, RECORD, &count),
                         round == 0 ? SH_TLS_WAIT : SH_TLS_FAILED);
    }
    close_pair(&pair);
    close(wire[0]);
    close(wire[1]);
}

int main(void)
{
    assert_ok(sh_tls_load());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_key_opens_and_bytes_cross),
        cmocka_unit_test(a_connection_has_a_binding_of_its_own),
        cmocka_unit_test(a_stranger_is_refused_on_both_sides),
        cmocka_unit_test(what_is_not_tls_is_told_apart),
        cmocka_unit_test(clients_without_a_key_are_refused),
        cmocka_unit_test(a_server_with_a_certificate_instead_of_the_key_is_refused),
        cmocka_unit_test(keys_change_after_so_many_records),
        cmocka_unit_test(an_altered_record_and_a_cut_stream_are_noticed),
        cmocka_unit_test(what_was_sent_before_a_loss_can_be_read),
        cmocka_unit_test(gathered_records_go_at_the_flush),
        cmocka_unit_test(a_record_wakes_its_reader_when_it_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
