/* SPDX-License-Identifier: Apache-2.0 */
#include "net/token.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/test.h"

static const char altered[] = "the join token was altered or cut: copy all of it again";

static const unsigned char leader[SH_LEADER_FINGERPRINT_BYTES] = {7, 8, 9};

static sh_status make(sh_token *token, const char *host, uint16_t port)
{
    return sh_token_make(token, host, port, leader);
}

static const struct {
    const char *host;
    uint16_t port;
    const char *begins;
} places[] = {
    {"192.168.1.20", 7077, "shoal://192.168.1.20:7077/"},
    {"raspberry-pi_4.local", 1, "shoal://raspberry-pi_4.local:1/"},
    {"::1", 65535, "shoal://[::1]:65535/"},
    {"fe80::1%eth0", 7077, "shoal://[fe80::1%eth0]:7077/"},
    {"::ffff:10.0.0.1", 80, "shoal://[::ffff:10.0.0.1]:80/"},
};

static void a_token_comes_back_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        sh_token made, read;
        char text[SH_TOKEN_TEXT];
        assert_ok(make(&made, places[i].host, places[i].port));
        assert_ok(sh_token_print(text, &made));
        assert_memory_equal(text, places[i].begins, strlen(places[i].begins));
        assert_int_equal(strlen(text), strlen(places[i].begins) + 48);
        assert_ok(sh_token_parse(&read, text, strlen(text)));
        assert_int_equal(read.address_count, 1);
        assert_string_equal(read.addresses[0].host, places[i].host);
        assert_int_equal(read.addresses[0].port, places[i].port);
        assert_memory_equal(read.secret, made.secret, sizeof made.secret);
        assert_memory_equal(read.leader, leader, sizeof leader);
    }
}

static void the_longest_host_fits(void **state)
{
    (void)state;
    char host[SH_TOKEN_HOST + 1], text[SH_TOKEN_TEXT];
    memset(host, 'a', sizeof host);
    host[SH_TOKEN_HOST - 1] = '\0';
    sh_token token, read;
    assert_ok(make(&token, host, 65535));
    assert_ok(sh_token_print(text, &token));
    assert_ok(sh_token_parse(&read, text, strlen(text)));
    assert_string_equal(read.addresses[0].host, host);
    while (token.address_count < SH_TOKEN_ADDRESSES)
        assert_ok(sh_token_add(&token, host, 65535));
    assert_ok(sh_token_print(text, &token));
    assert_ok(sh_token_parse(&read, text, strlen(text)));
    assert_memory_equal(&read, &token, sizeof token);
    host[SH_TOKEN_HOST - 1] = 'a';
    host[SH_TOKEN_HOST] = '\0';
    assert_fails(make(&token, host, 1), SH_INVALID, "needs a host name or address");
}

static void a_token_may_have_several_addresses(void **state)
{
    (void)state;
    sh_token made, read;
    char text[SH_TOKEN_TEXT];
    static const char begins[] = "shoal://192.168.1.20:7077,[fd00::5]:7078,pi.local:1/";
    assert_ok(make(&made, "192.168.1.20", 7077));
    assert_ok(sh_token_add(&made, "fd00::5", 7078));
    assert_ok(sh_token_add(&made, "pi.local", 1));
    assert_ok(sh_token_print(text, &made));
    assert_memory_equal(text, begins, sizeof begins - 1);
    assert_ok(sh_token_parse(&read, text, strlen(text)));
    assert_memory_equal(&read, &made, sizeof made);
    text[strlen("shoal://192.168.1.2")] = '1'; /* the check covers each address */
    assert_fails(sh_token_parse(&read, text, strlen(text)), SH_FORMAT, altered);

    assert_fails(sh_token_add(&made, "a b", 1), SH_INVALID, "needs a host");
    assert_fails(sh_token_add(&made, "pi", 0), SH_INVALID, "port other than 0");
    assert_ok(sh_token_add(&made, "pi", 2));
    assert_fails(sh_token_add(&made, "pi", 3), SH_LIMIT, "at most 4 addresses");
    sh_token_redirect(&made, "10.0.0.9", 9);
    assert_ok(sh_token_print(text, &made));
    assert_memory_equal(text, "shoal://10.0.0.9:9/", strlen("shoal://10.0.0.9:9/"));
    assert_ok(sh_token_parse(&read, text, strlen(text)));
    assert_memory_equal(&read, &made, sizeof made);
}

/* The format is fixed, because tokens are stored in chats and scripts. */
static void the_text_is_what_it_was(void **state)
{
    (void)state;
    sh_token token = {.addresses = {{"10.0.0.1", 7077}}, .address_count = 1};
    for (unsigned char i = 0; i < SH_TOKEN_SECRET_BYTES; i++)
        token.secret[i] = i;
    for (unsigned char i = 0; i < SH_LEADER_FINGERPRINT_BYTES; i++)
        token.leader[i] = (unsigned char)(SH_TOKEN_SECRET_BYTES + i);
    char text[SH_TOKEN_TEXT];
    assert_ok(sh_token_print(text, &token));
    assert_string_equal(text,
                        "shoal://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq");
}

static void an_altered_character_is_noticed_at_every_position(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        sh_token token, read;
        char text[SH_TOKEN_TEXT];
        assert_ok(make(&token, places[i].host, places[i].port));
        assert_ok(sh_token_print(text, &token));
        for (size_t at = 0; text[at] != '\0'; at++)
            for (int bit = 0; bit < 8; bit++) {
                const char before = text[at];
                text[at] = (char)(before ^ (1 << bit));
                if (sh_token_parse(&read, text, strlen(places[i].begins) + 48) != SH_FORMAT)
                    fail_msg("'%s' was taken with bit %d of character %zu altered", text, bit, at);
                text[at] = before;
            }
    }
}

static void a_cut_token_is_noticed_at_every_length(void **state)
{
    (void)state;
    sh_token token, read;
    char text[SH_TOKEN_TEXT];
    assert_ok(make(&token, "192.168.1.20", 7077));
    assert_ok(sh_token_print(text, &token));
    const size_t whole = strlen(text);
    for (size_t count = 0; count < whole; count++) {
        const bool is_former = count == strlen("shoal://192.168.1.20:7077/") + 27;
        assert_fails(sh_token_parse(&read, text, count), is_former ? SH_VERSION : SH_FORMAT,
                     count < 8   ? "not a join token: it begins with shoal://"
                     : is_former ? "or is from an older version"
                                 : altered);
        assert_int_equal(sh_token_parse(&read, text + count + 1, whole - count - 1), SH_FORMAT);
    }
}

static void white_space_around_is_fine(void **state)
{
    (void)state;
    sh_token token, read;
    char text[SH_TOKEN_TEXT], padded[SH_TOKEN_TEXT + 16];
    assert_ok(make(&token, "192.168.1.20", 7077));
    assert_ok(sh_token_print(text, &token));
    snprintf(padded, sizeof padded, " \t\r\n%s \r\n\t", text);
    assert_ok(sh_token_parse(&read, padded, strlen(padded)));
    assert_memory_equal(read.secret, token.secret, sizeof token.secret);
    snprintf(padded, sizeof padded, "%.20s %s", text, text + 20);
    assert_fails(sh_token_parse(&read, padded, strlen(padded)), SH_FORMAT, altered);
}

static const struct {
    const char *text, *message;
} wrong[] = {
    {"", "not a join token"},
    {"   ", "not a join token"},
    {"http://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "not a join token: it begins with shoal://"},
    {"SHOAL://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", "not a join token"},
    {"10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", "not a join token"},
    {"shoal://10.0.0.1:0/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "port is not a number from 1 to 65535"},
    {"shoal://10.0.0.1:65536/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "port is not a number"},
    {"shoal://10.0.0.1:99999999999999999999/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "port is not"},
    {"shoal://10.0.0.1:07077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "port is not a number"},
    {"shoal://10.0.0.1:+7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq",
     "port is not a number"},
    {"shoal://10.0.0.1:/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", "port is not a number"},
    {"shoal://10.0.0.1/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://[]:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://::1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://[10.0.0.1]:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq=", altered},
    {"shoal://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCqA", altered},
    {"shoal://10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiC+", altered},
    {"shoal://10.0.0.1:7077//AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://10.0.0.2:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://10.0.0.1:7077,/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://,10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://a:1,b:1,c:1,d:1,e:1/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
    {"shoal://user@10.0.0.1:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", altered},
};

static void what_is_no_token_is_refused_with_a_reason(void **state)
{
    (void)state;
    sh_token token = {.address_count = 9}, before = token;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(sh_token_parse(&token, wrong[i].text, strlen(wrong[i].text)), SH_FORMAT,
                     wrong[i].message);
    assert_memory_equal(&token, &before, sizeof token);
    assert_fails(sh_token_parse(
                     &token, "shoal://a\0b:1/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8fXiCq", 62),
                 SH_FORMAT, altered);
    assert_fails(make(&token, "a b", 1), SH_INVALID, "needs a host");
    assert_fails(make(&token, "", 1), SH_INVALID, "needs a host");
    assert_fails(make(&token, "host", 0), SH_INVALID, "port other than 0");
}

static void secrets_and_keys_differ(void **state)
{
    (void)state;
    sh_token a, b;
    unsigned char key_a[SH_KEY_BYTES], key_b[SH_KEY_BYTES];
    assert_ok(make(&a, "host", 1));
    assert_ok(make(&b, "host", 1));
    assert_memory_not_equal(a.secret, b.secret, sizeof a.secret);
    assert_ok(sh_token_key(key_a, &a));
    assert_ok(sh_token_key(key_b, &b));
    assert_memory_not_equal(key_a, key_b, sizeof key_a);
    const sh_token zero = {0};
    sh_token_wipe(&a);
    assert_memory_equal(&a, &zero, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_comes_back_as_it_was),
        cmocka_unit_test(the_longest_host_fits),
        cmocka_unit_test(a_token_may_have_several_addresses),
        cmocka_unit_test(the_text_is_what_it_was),
        cmocka_unit_test(an_altered_character_is_noticed_at_every_position),
        cmocka_unit_test(a_cut_token_is_noticed_at_every_length),
        cmocka_unit_test(white_space_around_is_fine),
        cmocka_unit_test(what_is_no_token_is_refused_with_a_reason),
        cmocka_unit_test(secrets_and_keys_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
