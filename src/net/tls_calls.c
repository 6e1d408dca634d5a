/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_calls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "base/library.h"

typedef int tls_write(BIO *, const char *, int);
typedef int tls_read(BIO *, char *, int);
typedef long tls_control(BIO *, int, long, void *);

/* Direct calls of src/net, and those by macros. */
#define LIST(VALUE, NOTHING)                                                                       \
    NOTHING(BIO_clear_flags, (BIO * a, int b), (a, b))                                             \
    VALUE(void *, BIO_get_data, (BIO * a), (a))                                                    \
    NOTHING(BIO_meth_free, (BIO_METHOD * a), (a))                                                  \
    VALUE(BIO_METHOD *, BIO_meth_new, (int a, const char *b), (a, b))                              \
    VALUE(int, BIO_meth_set_ctrl, (BIO_METHOD * a, tls_control * b), (a, b))                       \
    VALUE(int, BIO_meth_set_read, (BIO_METHOD * a, tls_read * b), (a, b))                          \
    VALUE(int, BIO_meth_set_write, (BIO_METHOD * a, tls_write * b), (a, b))                        \
    VALUE(BIO *, BIO_new, (const BIO_METHOD *a), (a))                                              \
    NOTHING(BIO_set_data, (BIO * a, void *b), (a, b))                                              \
    NOTHING(BIO_set_flags, (BIO * a, int b), (a, b))                                               \
    NOTHING(BIO_set_init, (BIO * a, int b), (a, b))                                                \
    VALUE(int, BIO_test_flags, (const BIO *a, int b), (a, b))                                      \
    NOTHING(ERR_clear_error, (void), ())                                                           \
    VALUE(unsigned long, ERR_peek_error, (void), ())                                               \
    VALUE(const char *, ERR_reason_error_string, (unsigned long a), (a))                           \
    NOTHING(EVP_KDF_CTX_free, (EVP_KDF_CTX * a), (a))                                              \
    VALUE(EVP_KDF_CTX *, EVP_KDF_CTX_new, (EVP_KDF * a), (a))                                      \
    VALUE(int, EVP_KDF_derive, (EVP_KDF_CTX * a, unsigned char *b, size_t c, const OSSL_PARAM *d), \
          (a, b, c, d))                                                                            \
    VALUE(EVP_KDF *, EVP_KDF_fetch, (OSSL_LIB_CTX * a, const char *b, const char *c), (a, b, c))   \
    NOTHING(EVP_KDF_free, (EVP_KDF * a), (a))                                                      \
    VALUE(int, EVP_DigestSign,                                                                     \
          (EVP_MD_CTX * a, unsigned char *b, size_t *c, const unsigned char *d, size_t e),         \
          (a, b, c, d, e))                                                                         \
    VALUE(int, EVP_DigestSignInit,                                                                 \
          (EVP_MD_CTX * a, EVP_PKEY_CTX * *b, const EVP_MD *c, ENGINE *d, EVP_PKEY *e),            \
          (a, b, c, d, e))                                                                         \
    VALUE(int, EVP_DigestVerify,                                                                   \
          (EVP_MD_CTX * a, const unsigned char *b, size_t c, const unsigned char *d, size_t e),    \
          (a, b, c, d, e))                                                                         \
    VALUE(int, EVP_DigestVerifyInit,                                                               \
          (EVP_MD_CTX * a, EVP_PKEY_CTX * *b, const EVP_MD *c, ENGINE *d, EVP_PKEY *e),            \
          (a, b, c, d, e))                                                                         \
    NOTHING(EVP_MD_CTX_free, (EVP_MD_CTX * a), (a))                                                \
    VALUE(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ())                                                \
    NOTHING(EVP_PKEY_free, (EVP_PKEY * a), (a))                                                    \
    VALUE(int, EVP_PKEY_get_raw_public_key, (const EVP_PKEY *a, unsigned char *b, size_t *c),      \
          (a, b, c))                                                                               \
    VALUE(EVP_PKEY *, EVP_PKEY_new_raw_private_key,                                                \
          (int a, ENGINE *b, const unsigned char *c, size_t d), (a, b, c, d))                      \
    VALUE(EVP_PKEY *, EVP_PKEY_new_raw_public_key,                                                 \
          (int a, ENGINE *b, const unsigned char *c, size_t d), (a, b, c, d))                      \
    VALUE(OSSL_PARAM, OSSL_PARAM_construct_end, (void), ())                                        \
    VALUE(OSSL_PARAM, OSSL_PARAM_construct_octet_string, (const char *a, void *b, size_t c),       \
          (a, b, c))                                                                               \
    VALUE(OSSL_PARAM, OSSL_PARAM_construct_utf8_string, (const char *a, char *b, size_t c),        \
          (a, b, c))                                                                               \
    VALUE(const SSL_CIPHER *, SSL_CIPHER_find, (SSL * a, const unsigned char *b), (a, b))          \
    VALUE(const char *, SSL_CIPHER_get_name, (const SSL_CIPHER *a), (a))                           \
    VALUE(long, SSL_CTX_ctrl, (SSL_CTX * a, int b, long c, void *d), (a, b, c, d))                 \
    NOTHING(SSL_CTX_free, (SSL_CTX * a), (a))                                                      \
    VALUE(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *a), (a))                                      \
    VALUE(int, SSL_CTX_set_ciphersuites, (SSL_CTX * a, const char *b), (a, b))                     \
    NOTHING(SSL_CTX_set_client_hello_cb, (SSL_CTX * a, SSL_client_hello_cb_fn b, void *c),         \
            (a, b, c))                                                                             \
    NOTHING(SSL_CTX_set_default_read_buffer_len, (SSL_CTX * a, size_t b), (a, b))                  \
    VALUE(int, SSL_CTX_set_max_early_data, (SSL_CTX * a, uint32_t b), (a, b))                      \
    VALUE(int, SSL_CTX_set_num_tickets, (SSL_CTX * a, size_t b), (a, b))                           \
    VALUE(uint64_t, SSL_CTX_set_options, (SSL_CTX * a, uint64_t b), (a, b))                        \
    NOTHING(SSL_CTX_set_psk_find_session_callback, (SSL_CTX * a, SSL_psk_find_session_cb_func b),  \
            (a, b))                                                                                \
    NOTHING(SSL_CTX_set_psk_use_session_callback, (SSL_CTX * a, SSL_psk_use_session_cb_func b),    \
            (a, b))                                                                                \
    NOTHING(SSL_CTX_set_verify, (SSL_CTX * a, int b, SSL_verify_cb c), (a, b, c))                  \
    VALUE(int, SSL_CTX_up_ref, (SSL_CTX * a), (a))                                                 \
    NOTHING(SSL_SESSION_free, (SSL_SESSION * a), (a))                                              \
    VALUE(SSL_SESSION *, SSL_SESSION_new, (void), ())                                              \
    VALUE(int, SSL_SESSION_set1_master_key, (SSL_SESSION * a, const unsigned char *b, size_t c),   \
          (a, b, c))                                                                               \
    VALUE(int, SSL_SESSION_set_cipher, (SSL_SESSION * a, const SSL_CIPHER *b), (a, b))             \
    VALUE(int, SSL_SESSION_set_protocol_version, (SSL_SESSION * a, int b), (a, b))                 \
    VALUE(long, SSL_SESSION_set_timeout, (SSL_SESSION * a, long b), (a, b))                        \
    VALUE(int, SSL_do_handshake, (SSL * a), (a))                                                   \
    NOTHING(SSL_free, (SSL * a), (a))                                                              \
    VALUE(int, SSL_export_keying_material,                                                         \
          (SSL * a, unsigned char *b, size_t c, const char *d, size_t e, const unsigned char *f,   \
           size_t g, int h),                                                                       \
          (a, b, c, d, e, f, g, h))                                                                \
    VALUE(const SSL_CIPHER *, SSL_get_current_cipher, (const SSL *a), (a))                         \
    VALUE(int, SSL_get_error, (const SSL *a, int b), (a, b))                                       \
    VALUE(void *, SSL_get_ex_data, (const SSL *a, int b), (a, b))                                  \
    VALUE(int, SSL_key_update, (SSL * a, int b), (a, b))                                           \
    VALUE(SSL *, SSL_new, (SSL_CTX * a), (a))                                                      \
    VALUE(int, SSL_read_ex, (SSL * a, void *b, size_t c, size_t *d), (a, b, c, d))                 \
    VALUE(int, SSL_session_reused, (const SSL *a), (a))                                            \
    NOTHING(SSL_set_accept_state, (SSL * a), (a))                                                  \
    NOTHING(SSL_set_bio, (SSL * a, BIO * b, BIO * c), (a, b, c))                                   \
    NOTHING(SSL_set_connect_state, (SSL * a), (a))                                                 \
    VALUE(int, SSL_set_ex_data, (SSL * a, int b, void *c), (a, b, c))                              \
    VALUE(int, SSL_shutdown, (SSL * a), (a))                                                       \
    VALUE(int, SSL_write_ex, (SSL * a, const void *b, size_t c, size_t *d), (a, b, c, d))          \
    VALUE(const SSL_METHOD *, TLS_client_method, (void), ())                                       \
    VALUE(const SSL_METHOD *, TLS_server_method, (void), ())
SH_LIBRARY_FUNCTIONS(LIST)

sh_status sh_tls_load(void)
{
    /* This library also loads libcrypto. */
    static sh_library library = SH_LIBRARY("libssl.so.3", "libssl3", names);
    return sh_library_load_once(&calls, &library);
}
