/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasons for the settings:
 *
 * - In TLS, a client that offers a pre-shared key also accepts a server that ignores the key and
 *   shows a certificate. Therefore the client requires a verified certificate, trusts no authority,
 *   and checks after the handshake that the key was used. A server has no certificate, so a
 *   handshake without a known key cannot authenticate.
 * - The only key exchange mode is psk_dhe_ke, so recorded traffic stays secret if a token leaks
 *   later.
 * - Both suites use SHA-256, to which a pre-shared key is bound. A side without AES instructions
 *   (Raspberry Pi up to 4) prefers ChaCha20: a client lists it first, a server selects it.
 * - The socket is used through a custom BIO, because OpenSSL's BIO uses write(2), which raises
 *   SIGPIPE. The BIO reports a failed send to OpenSSL as a retry, so that what the peer sent before
 *   it left can still be read.
 * - Only a complete record can be decrypted. On a slow link it arrives in a dozen packets, each of
 *   which would wake the loop. A side that waits in the middle of a record therefore sets
 *   SO_RCVLOWAT to the rest of it. The end of the stream and errors wake it, too.
 */
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#if defined(__arm__) || defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "net/tls_calls.h"

#define READ_AHEAD_BYTES 65536
#define GATHER_BYTES (4 * 16640) /* 4 full records (RFC 8446, section 5.2) */
#define REASON_BYTES 256
#define HEAD_BYTES 5             /* of a record: type, version and length */
#define LEAST_WORTH_WAITING 4096 /* for fewer bytes a system call does not pay */
#define AES_FIRST "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
#define CHACHA_FIRST "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"

struct sh_tls_server {
    SSL_CTX *context;
    sh_tls_find *find;
    void *find_context;
};

struct sh_tls {
    SSL *ssl;
    BIO_METHOD *method; /* outlives the BIO in `ssl` */
    int fd;
    bool is_server, wants_write, finished;
    bool hello_seen, key_offered, key_known; /* of the server's handshake */
    int write_error, read_error;             /* errno */
    uint64_t sent_bytes, received_bytes;
    uint64_t records, records_per_key, key_changes;
    bool gathers;
    unsigned char *kept;       /* owned: buffered writes, or NULL */
    size_t kept_from, kept_to; /* valid range of `kept` */
    unsigned char head[HEAD_BYTES];
    size_t head_filled, body_left;
    int wakes_at;          /* current SO_RCVLOWAT */
    sh_tls_server *server; /* the server's, until the handshake is done */
    char identity[SH_IDENTITY_TEXT];
    unsigned char key[SH_KEY_BYTES]; /* the client's, until the handshake is done */
    sh_status why;
    char reason[REASON_BYTES];
};

/* ---- the socket ------------------------------------------------------------------------------ */

static bool is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* Returns how many bytes were sent. 0: try later, or sending has failed. */
static size_t put_on_wire(sh_tls *tls, const void *bytes, size_t count)
{
    const ssize_t put = tls->write_error != 0 ? -1 : send(tls->fd, bytes, count, MSG_NOSIGNAL);
    if (put > 0) {
        tls->sent_bytes += (uint64_t)put;
        return (size_t)put;
    }
    if (tls->write_error == 0 && !is_later(errno))
        tls->write_error = errno;
    return 0;
}

/* True: the buffer is empty. */
static bool put_kept(sh_tls *tls)
{
    if (tls->kept == NULL)
        return true;
    tls->kept_from += put_on_wire(tls, tls->kept + tls->kept_from, tls->kept_to - tls->kept_from);
    if (tls->kept_from < tls->kept_to)
        return false;
    free(tls->kept);
    tls->kept = NULL;
    tls->kept_from = tls->kept_to = 0;
    return true;
}

/* False: not gathering, no room, or no memory. */
static bool keep(sh_tls *tls, const void *bytes, size_t count)
{
    if (!tls->gathers || tls->kept_to + count > GATHER_BYTES)
        return false;
    if (tls->kept == NULL)
        tls->kept = malloc(GATHER_BYTES);
    if (tls->kept == NULL)
        return false;
    memcpy(tls->kept + tls->kept_to, bytes, count);
    tls->kept_to += count;
    return true;
}

static int socket_write(BIO *bio, const char *bytes, int count)
{
    sh_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (keep(tls, bytes, (size_t)count))
        return count;
    size_t put = 0;
    if (put_kept(tls))
        put = keep(tls, bytes, (size_t)count) ? (size_t)count
                                              : put_on_wire(tls, bytes, (size_t)count);
    if (put > 0)
        return (int)put;
    BIO_set_retry_write(bio);
    return -1;
}

static void follow_records(sh_tls *tls, const char *bytes, size_t count)
{
    while (count > 0) {
        const bool in_head = tls->head_filled < HEAD_BYTES;
        const size_t wanted = in_head ? HEAD_BYTES - tls->head_filled : tls->body_left;
        const size_t part = count < wanted ? count : wanted;
        if (in_head) {
            memcpy(tls->head + tls->head_filled, bytes, part);
            tls->head_filled += part;
            tls->body_left = (size_t)tls->head[3] << 8 | tls->head[4];
        } else {
            tls->body_left -= part;
        }
        if (tls->head_filled == HEAD_BYTES && tls->body_left == 0)
            tls->head_filled = 0;
        bytes += part;
        count -= part;
    }
}

static int socket_read(BIO *bio, char *place, int room)
{
    sh_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    const ssize_t got = recv(tls->fd, place, (size_t)room, 0);
    if (got > 0) {
        tls->received_bytes += (uint64_t)got;
        follow_records(tls, place, (size_t)got);
        return (int)got;
    }
    if (got < 0 && is_later(errno)) {
        const bool waits = tls->head_filled == HEAD_BYTES && tls->body_left >= LEAST_WORTH_WAITING;
        const int bytes = waits ? (int)tls->body_left : 1;
        if (bytes != tls->wakes_at &&
            setsockopt(tls->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes) == 0)
            tls->wakes_at = bytes;
        BIO_set_retry_read(bio);
    } else if (got < 0) {
        tls->read_error = errno;
    } else {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return got == 0 ? 0 : -1;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool cpu_has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("aes") != 0;
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#elif defined(__arm__)
    return (getauxval(AT_HWCAP2) & HWCAP2_AES) != 0;
#else
    return false;
#endif
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL)
        return NULL;
    SSL_CTX_set_options(context,
                        SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD_BYTES);
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, cpu_has_aes() ? AES_FIRST : CHACHA_FIRST) != 1 ||
        SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1 || SSL_CTX_set_max_early_data(context, 0) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

static sh_status no_tls(void)
{
    ERR_clear_error();
    return sh_fail(SH_UNSUPPORTED,
                   "OpenSSL lacks TLS 1.3 with the ciphers that shoal needs, or memory ran out");
}

bool sh_identity_is_valid(const char *identity)
{
    const size_t bytes = strnlen(identity, SH_IDENTITY_TEXT);
    if (bytes == 0 || bytes == SH_IDENTITY_TEXT)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (identity[i] <= ' ' || identity[i] >= 0x7f || identity[i] == '"')
            return false;
    return true;
}

/* OpenSSL needs the key as a session to resume. NULL on failure. */
static SSL_SESSION *session_of(SSL *ssl, const unsigned char key[SH_KEY_BYTES])
{
    static const unsigned char aes_128_gcm_sha256[2] = {0x13, 0x01}; /* selects SHA-256 */
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session == NULL || cipher == NULL ||
        SSL_SESSION_set1_master_key(session, key, SH_KEY_BYTES) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
        SSL_SESSION_free(session);
        return NULL;
    }
    SSL_SESSION_set_timeout(session, INT32_MAX); /* the key does not expire if the clock jumps */
    return session;
}

static int find_session(SSL *ssl, const unsigned char *identity, size_t bytes, SSL_SESSION **found)
{
    sh_tls *tls = SSL_get_app_data(ssl);
    char name[SH_IDENTITY_TEXT] = "";
    unsigned char key[SH_KEY_BYTES];
    *found = NULL;
    if (tls->server == NULL || tls->key_known)
        return 1;
    tls->key_offered = true;
    if (bytes >= sizeof name || memchr(identity, '\0', bytes) != NULL)
        return 1;
    memcpy(name, identity, bytes);
    if (!sh_identity_is_valid(name))
        return 1;
    memcpy(tls->identity, name, sizeof name);
    if (!tls->server->find(tls->server->find_context, name, key))
        return 1;
    tls->key_known = true;
    *found = session_of(ssl, key);
    sh_key_wipe(key, sizeof key);
    return *found != NULL;
}

static int use_session(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
                       size_t *bytes, SSL_SESSION **used)
{
    (void)digest; /* only suites with SHA-256 are enabled */
    sh_tls *tls = SSL_get_app_data(ssl);
    *identity = (const unsigned char *)tls->identity;
    *bytes = strlen(tls->identity);
    *used = session_of(ssl, tls->key);
    return *used != NULL;
}

static int see_hello(SSL *ssl, int *alert, void *argument)
{
    (void)alert;
    (void)argument;
    ((sh_tls *)SSL_get_app_data(ssl))->hello_seen = true;
    return SSL_CLIENT_HELLO_SUCCESS;
}

sh_status sh_tls_server_new(sh_tls_server **server, sh_tls_find *find, void *context)
{
    SH_TRY(sh_tls_load());
    sh_tls_server *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a secure listener");
    *fresh = (sh_tls_server){new_context(TLS_server_method()), find, context};
    if (fresh->context == NULL) {
        free(fresh);
        return no_tls();
    }
    SSL_CTX_set_psk_find_session_callback(fresh->context, find_session);
    SSL_CTX_set_client_hello_cb(fresh->context, see_hello, NULL);
    if (!cpu_has_aes())
        SSL_CTX_set_options(fresh->context, SSL_OP_CIPHER_SERVER_PREFERENCE);
    *server = fresh;
    return SH_OK;
}

void sh_tls_server_free(sh_tls_server *server)
{
    if (server == NULL)
        return;
    SSL_CTX_free(server->context);
    free(server);
}

/* Takes over `context`, also on failure. */
static sh_status tls_new(sh_tls **tls, SSL_CTX *context, int fd)
{
    sh_tls *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        SSL_CTX_free(context);
        return sh_fail_memory(sizeof *fresh, "a secure connection");
    }
    fresh->fd = fd;
    fresh->wakes_at = 1;
    fresh->records_per_key = SH_TLS_RECORDS_PER_KEY;
    fresh->ssl = SSL_new(context);
    SSL_CTX_free(context);
    if (fresh->ssl == NULL || SSL_set_app_data(fresh->ssl, fresh) != 1) {
        sh_tls_free(fresh);
        return no_tls();
    }
    BIO *bio = NULL;
    fresh->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (fresh->method != NULL && BIO_meth_set_write(fresh->method, socket_write) == 1 &&
        BIO_meth_set_read(fresh->method, socket_read) == 1 &&
        BIO_meth_set_ctrl(fresh->method, socket_control) == 1)
        bio = BIO_new(fresh->method);
    if (bio == NULL) {
        sh_tls_free(fresh);
        return sh_fail_memory(sizeof *fresh, "a secure connection");
    }
    BIO_set_data(bio, fresh);
    BIO_set_init(bio, 1);
    SSL_set_bio(fresh->ssl, bio, bio);
    *tls = fresh;
    return SH_OK;
}

sh_status sh_tls_accept(sh_tls **tls, sh_tls_server *server, int fd)
{
    sh_tls *fresh = NULL;
    SSL_CTX_up_ref(server->context);
    SH_TRY(tls_new(&fresh, server->context, fd));
    fresh->is_server = true;
    fresh->server = server;
    SSL_set_accept_state(fresh->ssl);
    *tls = fresh;
    return SH_OK;
}

sh_status sh_tls_connect(sh_tls **tls, int fd, const char *identity,
                         const unsigned char key[SH_KEY_BYTES])
{
    if (!sh_identity_is_valid(identity))
        return sh_fail(SH_INVALID, "an identity needs 1 to 63 printable characters");
    SH_TRY(sh_tls_load());
    SSL_CTX *context = new_context(TLS_client_method());
    if (context == NULL)
        return no_tls();
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_psk_use_session_callback(context, use_session);
    sh_tls *fresh = NULL;
    SH_TRY(tls_new(&fresh, context, fd));
    memcpy(fresh->identity, identity, strlen(identity) + 1);
    memcpy(fresh->key, key, SH_KEY_BYTES);
    SSL_set_connect_state(fresh->ssl);
    *tls = fresh;
    return SH_OK;
}

void sh_tls_free(sh_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    BIO_meth_free(tls->method);
    free(tls->kept);
    sh_key_wipe(tls, sizeof *tls);
    free(tls);
}

/* ---- failures -------------------------------------------------------------------------------- */

static sh_tls_flow set_failure(sh_tls *tls, sh_status why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static sh_tls_flow set_failure(sh_tls *tls, sh_status why, const char *format, ...)
{
    tls->why = why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tls->reason, sizeof tls->reason, format, arguments);
    va_end(arguments);
    return SH_TLS_FAILED;
}

static sh_tls_flow server_failure(sh_tls *tls, int reason, const char *text)
{
    if (reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST)
        return set_failure(tls, SH_REFUSED, "a plain HTTP request, not TLS");
    if (!tls->hello_seen)
        return set_failure(tls, SH_REFUSED, "not TLS (%s)", text);
    if (reason >= SSL_AD_REASON_OFFSET)
        return set_failure(tls, SH_REFUSED, "the client gave up (%s)", text);
    if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_UNKNOWN_PROTOCOL)
        return set_failure(tls, SH_REFUSED, "a TLS version older than 1.3");
    if (reason == SSL_R_NO_SHARED_CIPHER)
        return set_failure(tls, SH_REFUSED, "no cipher suite in common");
    if (!tls->key_offered)
        return set_failure(tls, SH_REFUSED, "no pre-shared key offered (%s)", text);
    if (!tls->key_known && tls->identity[0] != '\0')
        return set_failure(tls, SH_REFUSED, "unknown identity '%s'", tls->identity);
    if (!tls->key_known)
        return set_failure(tls, SH_REFUSED, "unknown identity, malformed");
    if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
        return set_failure(tls, SH_REFUSED, "wrong key for '%s'", tls->identity);
    return set_failure(tls, SH_REFUSED, "the handshake failed (%s)", text);
}

static sh_tls_flow client_failure(sh_tls *tls, int reason, const char *text)
{
    switch (reason - SSL_AD_REASON_OFFSET) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_ILLEGAL_PARAMETER:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_UNKNOWN_PSK_IDENTITY:
        return set_failure(tls, SH_REFUSED, "wrong or expired key");
    default:
        break;
    }
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return set_failure(tls, SH_MISMATCH, "it showed a certificate instead of the key");
    if (reason >= SSL_AD_REASON_OFFSET)
        return set_failure(tls, SH_NETWORK, "it aborted the handshake (%s)", text);
    return set_failure(tls, SH_NETWORK, "it does not speak this TLS (%s)", text);
}

static sh_tls_flow failed(sh_tls *tls, int error)
{
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_REASON(code);
    const char *text = ERR_reason_error_string(code);
    text = text != NULL ? text : "no details"; /* static: not part of the error queue */
    ERR_clear_error();
    const bool end = reason == SSL_R_UNEXPECTED_EOF_WHILE_READING && code != 0;
    if (error == SSL_ERROR_SYSCALL || end || tls->read_error != 0) {
        char cause[128];
        if (tls->read_error == 0 || strerror_r(tls->read_error, cause, sizeof cause) != 0)
            snprintf(cause, sizeof cause, "%s",
                     tls->finished ? "without close_notify" : "too early");
        return tls->finished ? set_failure(tls, SH_PEER_LOST, "the connection ended: %s", cause)
                             : set_failure(tls, SH_NETWORK,
                                           "the connection ended in the handshake: %s", cause);
    }
    if (tls->finished)
        return set_failure(tls, SH_CORRUPT, "a record was damaged or forged (%s)", text);
    return tls->is_server ? server_failure(tls, reason, text) : client_failure(tls, reason, text);
}

static sh_tls_flow flow_of(sh_tls *tls, int result)
{
    const int error = SSL_get_error(tls->ssl, result);
    tls->wants_write = error == SSL_ERROR_WANT_WRITE;
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return SH_TLS_WAIT;
    case SSL_ERROR_ZERO_RETURN:
        return SH_TLS_END;
    default:
        return failed(tls, error);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_tls_flow sh_tls_handshake(sh_tls *tls)
{
    ERR_clear_error();
    const int result = SSL_do_handshake(tls->ssl);
    if (result != 1) {
        const sh_tls_flow flow = flow_of(tls, result);
        return flow == SH_TLS_END
                   ? set_failure(tls, SH_NETWORK, "the connection ended in the handshake")
                   : flow;
    }
    if (SSL_session_reused(tls->ssl) != 1 || (tls->is_server && !tls->key_known))
        return set_failure(tls, SH_MISMATCH, "it did not prove that it knows the key");
    tls->finished = true;
    tls->server = NULL;
    sh_key_wipe(tls->key, sizeof tls->key);
    return SH_TLS_DONE;
}

sh_tls_flow sh_tls_read(sh_tls *tls, void *place, size_t room, size_t *got)
{
    ERR_clear_error();
    const int result = SSL_read_ex(tls->ssl, place, room, got);
    return result == 1 ? SH_TLS_DONE : flow_of(tls, result);
}

sh_tls_flow sh_tls_write(sh_tls *tls, const void *bytes, size_t count, size_t *put)
{
    ERR_clear_error();
    const int result = SSL_write_ex(tls->ssl, bytes, count, put);
    if (result != 1)
        return flow_of(tls, result);
    if (++tls->records < tls->records_per_key)
        return SH_TLS_DONE;
    /* OpenSSL updates keys only between two records. */
    if (SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        return failed(tls, SSL_ERROR_SSL);
    tls->records = 0;
    tls->key_changes++;
    return SH_TLS_DONE;
}

void sh_tls_gather(sh_tls *tls)
{
    tls->gathers = true;
}

sh_tls_flow sh_tls_flush(sh_tls *tls)
{
    tls->gathers = false;
    if (put_kept(tls))
        return SH_TLS_DONE;
    tls->wants_write = true;
    return SH_TLS_WAIT;
}

sh_tls_flow sh_tls_close_notify(sh_tls *tls)
{
    ERR_clear_error();
    const int result = SSL_shutdown(tls->ssl);
    return result >= 0 ? SH_TLS_DONE : flow_of(tls, result);
}

bool sh_tls_wants_write(const sh_tls *tls)
{
    return tls->wants_write;
}

int sh_tls_write_error(const sh_tls *tls)
{
    return tls->write_error;
}

sh_status sh_tls_failure(const sh_tls *tls, const char **reason)
{
    *reason = tls->reason;
    return tls->why;
}

const char *sh_tls_identity(const sh_tls *tls)
{
    return tls->identity;
}

sh_status sh_tls_binding(const sh_tls *tls, unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    static const char label[] = "EXPORTER-Channel-Binding";
    if (!tls->finished || SSL_export_keying_material(tls->ssl, binding, SH_LEADER_BINDING_BYTES,
                                                     label, sizeof label - 1, NULL, 0, 1) != 1) {
        ERR_clear_error();
        return sh_fail(SH_INVALID, "this connection has no binding: its handshake is not done");
    }
    return SH_OK;
}

const char *sh_tls_cipher(const sh_tls *tls)
{
    return SSL_get_cipher_name(tls->ssl);
}

uint64_t sh_tls_bytes_sent(const sh_tls *tls)
{
    return tls->sent_bytes;
}

uint64_t sh_tls_bytes_received(const sh_tls *tls)
{
    return tls->received_bytes;
}

void sh_tls_limit_records(sh_tls *tls, uint64_t records_per_key)
{
    tls->records_per_key = records_per_key;
}

uint64_t sh_tls_key_changes(const sh_tls *tls)
{
    return tls->key_changes;
}
