/* SPDX-License-Identifier: Apache-2.0 */
#include "net/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "net/frame.h"

#define PROTOCOL "\x08\x0a" /* field 1: 10 */

/* ---- there and back -------------------------------------------------------------------------- */

/* The caller owns the result. */
static Shoal__Message *there_and_back(const Shoal__Message *message)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    Shoal__Message *back = NULL;
    assert_ok(sh_message_pack(&bytes, &count, message));
    assert_ok(sh_message_unpack(&back, bytes, count));
    assert_int_equal(back->body_case, message->body_case);
    free(bytes);
    return back;
}

static void a_hello_comes_back(void **state)
{
    (void)state;
    Shoal__Hello hello = SHOAL__HELLO__INIT;
    hello.version = (char *)"0.1.0";
    hello.name = (char *)"k\xc3\xbc"
                         "che \xf0\x9f\x90\x9f";
    hello.link_port = 65535;
    hello.local = 1;
    uint8_t origin[SH_MESSAGE_ORIGIN_BYTES] = {1, 0, 255};
    hello.origin = (ProtobufCBinaryData){sizeof origin, origin};
    Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
    message.job = UINT64_MAX;
    Shoal__Message *back = there_and_back(&message);
    assert_true(back->job == UINT64_MAX);
    assert_string_equal(back->hello->version, "0.1.0");
    assert_string_equal(back->hello->name, hello.name);
    assert_int_equal(back->hello->link_port, 65535);
    assert_true(back->hello->local);
    assert_int_equal(back->hello->origin.len, sizeof origin);
    assert_memory_equal(back->hello->origin.data, origin, sizeof origin);
    sh_message_free(back);
}

static void a_welcome_comes_back(void **state)
{
    (void)state;
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    welcome.device = 3;
    welcome.fingerprint = NULL;
    welcome.job = (char *)"{\"model\":\"lenet\"}";
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome);
    Shoal__Message *back = there_and_back(&message);
    assert_int_equal(back->welcome->device, 3);
    assert_string_equal(back->welcome->job, "{\"model\":\"lenet\"}");
    assert_string_equal(back->welcome->fingerprint, ""); /* was NULL */
    sh_message_free(back);
}

static void orders_for_1024_seats_come_back_and_for_no_more(void **state)
{
    (void)state;
    static Shoal__Seat seats[SH_MESSAGE_MEMBERS_MAX + 1];
    static Shoal__Seat *pointers[SH_MESSAGE_MEMBERS_MAX + 1];
    uint8_t key[32];
    memset(key, 0xab, sizeof key);
    Shoal__Order order = SHOAL__ORDER__INIT;
    Shoal__Position start = SHOAL__POSITION__INIT;
    Shoal__AuditOrder audit = SHOAL__AUDIT_ORDER__INIT;
    order.start = &start;
    order.audit = &audit;
    for (uint32_t i = 0; i <= SH_MESSAGE_MEMBERS_MAX; i++) {
        shoal__seat__init(&seats[i]);
        seats[i].device = i;
        seats[i].grains = 1;
        pointers[i] = &seats[i];
    }
    order.seats = pointers;
    order.n_seats = SH_MESSAGE_MEMBERS_MAX;
    Shoal__Link to = SHOAL__LINK__INIT, from = SHOAL__LINK__INIT, *links[] = {&to, &from};
    to.host = (char *)"fe80::1%eth0";
    to.key = (ProtobufCBinaryData){32, key};
    order.links = links;
    order.n_links = 2;
    Shoal__Message message = SH_MESSAGE_INIT(ORDER, order, &order);
    Shoal__Message *back = there_and_back(&message);
    assert_int_equal(back->order->n_seats, SH_MESSAGE_MEMBERS_MAX);
    assert_int_equal(back->order->seats[1023]->device, 1023);
    assert_string_equal(back->order->links[0]->host, "fe80::1%eth0");
    assert_int_equal(back->order->links[0]->key.len, 32);
    assert_memory_equal(back->order->links[0]->key.data, key, 32);
    assert_int_equal(back->order->links[1]->key.len, 0);
    sh_message_free(back);

    uint8_t *bytes;
    size_t count;
    order.n_seats++;
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID,
                 "sending: a message with 1025 'seats'; at most 1024 are allowed");
    order.n_seats = 0;
    from.key = (ProtobufCBinaryData){31, key};
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID,
                 "'key' has 31 bytes instead of 32");
}

static void small_messages_come_back(void **state)
{
    (void)state;
    Shoal__Position position = SHOAL__POSITION__INIT;
    Shoal__Notice notice = SHOAL__NOTICE__INIT;
    Shoal__End end = SHOAL__END__INIT;
    Shoal__Fail fail = SHOAL__FAIL__INIT;
    Shoal__Ready ready = SHOAL__READY__INIT;
    Shoal__Refuse refuse = SHOAL__REFUSE__INIT;
    refuse.reason = (char *)"no";
    Shoal__AuditReport audit = SHOAL__AUDIT_REPORT__INIT;
    notice.position = &position;
    notice.audit = &audit;
    notice.cpu_seconds = 1.25;
    const Shoal__Message messages[] = {
        SH_MESSAGE_INIT(NOTICE, notice, &notice), SH_MESSAGE_INIT(FAIL, fail, &fail),
        SH_MESSAGE_INIT(END, end, &end),          SH_MESSAGE_INIT(READY, ready, &ready),
        SH_MESSAGE_INIT(REFUSE, refuse, &refuse),
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        sh_message_free(there_and_back(&messages[i]));
    sh_message_free(NULL);
}

/* ---- what is not sent ------------------------------------------------------------------------ */

static void what_would_be_refused_is_not_sent(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t count;
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome);
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID,
                 "sending: a message without its 'job'");
    Shoal__Notice notice = SHOAL__NOTICE__INIT;
    Shoal__Position position = SHOAL__POSITION__INIT;
    Shoal__AuditReport audit = SHOAL__AUDIT_REPORT__INIT;
    notice.position = &position;
    notice.audit = &audit;
    notice.rate = NAN;
    message = (Shoal__Message)SH_MESSAGE_INIT(NOTICE, notice, &notice);
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID,
                 "'rate' is not a finite number");
    message = (Shoal__Message)SHOAL__MESSAGE__INIT;
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID, "speaks protocol 0");
    message.protocol = SH_MESSAGE_PROTOCOL;
    assert_fails(sh_message_pack(&bytes, &count, &message), SH_INVALID, "without a body");
}

/* ---- malformed bytes ------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t count;
    sh_status status;
    const char *message;
} malformed[] = {
    {"", 0, SH_VERSION, "speaks protocol 0, this one 10"},
    {PROTOCOL, 2, SH_FORMAT, "a message without a body"},
    {"\x08\x02", 2, SH_VERSION, "speaks protocol 2, this one 10: use the same version of shoal"},
    {"\x08", 1, SH_FORMAT, "a message of 1 bytes that is malformed"},
    {PROTOCOL "\x62\x05", 4, SH_FORMAT, "malformed"},                 /* a cut body */
    {PROTOCOL "\x62\xff\xff\xff\xff\x0f", 8, SH_FORMAT, "malformed"}, /* 4 GiB of body */
    {PROTOCOL "\x62\x03\x0a\x05n", 7, SH_FORMAT, "malformed"},        /* a cut string */
    {PROTOCOL "\x62\x05\x0a\x03"
              "a\x1b"
              "b",
     9, SH_FORMAT, "'reason' has control characters"},
    {PROTOCOL "\x62\x03\x0a\x01\x7f", 7, SH_FORMAT, "'reason' has control characters"},
    {PROTOCOL "\x62\x04\x0a\x02\xc2\x9b", 8, SH_FORMAT, "'reason' has control characters"},
    {PROTOCOL "\x62\x03\x0a\x01\xff", 7, SH_FORMAT, "'reason' is not UTF-8"},
    {PROTOCOL "\x62\x03\x0a\x01\xc3", 7, SH_FORMAT, "'reason' is not UTF-8"},     /* cut */
    {PROTOCOL "\x62\x04\x0a\x02\xc0\xaf", 8, SH_FORMAT, "'reason' is not UTF-8"}, /* too long */
    {PROTOCOL "\x62\x05\x0a\x03\xed\xa0\x80", 9, SH_FORMAT, "is not UTF-8"},      /* surrogate */
    {PROTOCOL "\x62\x06\x0a\x04\xf4\x90\x80\x80", 10, SH_FORMAT, "is not UTF-8"}, /* > 10ffff */
    {PROTOCOL "\x62\x05\x0a\x03"
              "a\0b",
     9, SH_FORMAT, "not in canonical encoding"},
    {PROTOCOL "\x62\x00\x82\x01\x00", 7, SH_FORMAT, "not in canonical encoding"}, /* 2 bodies */
    {"\x08\x8a\x00\x62\x00", 5, SH_FORMAT, "not in canonical encoding"}, /* 10 in two bytes */
    {"\x62\x00\x08\x0a", 4, SH_FORMAT, "not in canonical encoding"},     /* order */
    {PROTOCOL "\x10\x00\x62\x00", 6, SH_FORMAT, "not in canonical"},     /* a zero that is sent */
    {PROTOCOL "\x62\x02\x18\x01", 6, SH_VERSION, "does not know (Refuse, 3): use the same"},
    {PROTOCOL "\x62\x00\xa0\x06\x01", 7, SH_VERSION, "does not know (Message, 100)"},
    {PROTOCOL "\x5a\x02\x08\x01", 6, SH_FORMAT, "a message without its 'job'"},
    {PROTOCOL "\x72\x07\x2a\x00\x45\x00\x00\xc0\x7f", 11, SH_FORMAT,
     "'rate' is not a finite number"},
    {PROTOCOL "\x72\x07\x2a\x00\x45\x00\x00\x80\xff", 11, SH_FORMAT, "'rate' is not a finite"},
    {PROTOCOL "\x72\x00", 4, SH_FORMAT, "a message without its 'position'"},
    {PROTOCOL "\x72\x07\x2a\x00\x45\x00\x00\xc0\x7f", 11, SH_FORMAT, "'rate' is not a finite"},
    {PROTOCOL "\x7a\x00", 4, SH_FORMAT, "a message without its 'start'"},
    {PROTOCOL "\x7a\x05\x42\x00\x5a\x01\x00", 9, SH_FORMAT, "malformed"}, /* a cut transfer */
    {PROTOCOL "\x7a\x04\x42\x00\x5a\x00", 8, SH_FORMAT, "a message without its 'wanted'"},
    {PROTOCOL "\x7a\x08\x42\x00\x92\x01\x03\x32\x01k", 12, SH_FORMAT,
     "'key' has 1 bytes instead of 32"},
    {PROTOCOL "\x92\x01\x0c\x1a\x0a\x1a\x08\0\0\0\0\0\0\xf8\x7f", 17, SH_FORMAT,
     "'figures' is not a finite number"},
    {PROTOCOL "\x92\x01\x0b\x1a\x09\x19\0\0\0\0\0\0\xf0\x3f", 16, SH_FORMAT, /* not packed */
     "not in canonical encoding"},
};

static void malformed_messages_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        Shoal__Message *message = NULL;
        const sh_status status =
            sh_message_unpack(&message, (const uint8_t *)malformed[i].bytes, malformed[i].count);
        if (status != malformed[i].status || strstr(sh_message(), malformed[i].message) == NULL)
            fail_msg("case %zu: %s: '%s' lacks '%s'", i, sh_status_text(status), sh_message(),
                     malformed[i].message);
        assert_null(message);
    }
}

static void long_jobs_are_refused(void **state)
{
    (void)state;
    static char text[SH_MESSAGE_JOB_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    welcome.job = text;
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome);
    uint8_t *packed;
    size_t count;
    assert_fails(sh_message_pack(&packed, &count, &message), SH_INVALID, "more than 16384 bytes");
    text[SH_MESSAGE_JOB_MAX] = '\0';
    sh_message_free(there_and_back(&message));
}

static void long_strings_are_refused(void **state)
{
    (void)state;
    static char text[SH_MESSAGE_STRING_MAX + 2];
    memset(text, 'x', sizeof text - 1);
    Shoal__Fail fail = SHOAL__FAIL__INIT;
    fail.reason = text;
    Shoal__Message message = SH_MESSAGE_INIT(FAIL, fail, &fail), *back = NULL;
    uint8_t bytes[SH_MESSAGE_STRING_MAX + 100], *packed;
    size_t count = shoal__message__pack(&message, bytes);
    assert_fails(sh_message_unpack(&back, bytes, count), SH_FORMAT,
                 "'reason' has more than 4096 bytes");
    assert_fails(sh_message_pack(&packed, &count, &message), SH_INVALID, "more than 4096 bytes");
    text[SH_MESSAGE_STRING_MAX] = '\0';
    sh_message_free(there_and_back(&message));
}

/* 256 KiB of empty members would take many times as much. */
static void a_small_message_cannot_take_much_memory(void **state)
{
    (void)state;
    const size_t count = SH_FRAME_CONTROL_MAX;
    uint8_t *bytes = malloc(count);
    assert_non_null(bytes);
    memcpy(bytes, PROTOCOL "\x7a\xf8\xff\x0f", 6); /* orders of count - 6 bytes */
    bytes[3] = (uint8_t)(0x80 | ((count - 6) & 0x7f));
    bytes[4] = (uint8_t)(0x80 | (((count - 6) >> 7) & 0x7f));
    bytes[5] = (uint8_t)((count - 6) >> 14);
    for (size_t i = 6; i < count; i += 2) {
        bytes[i] = 0x3a; /* a seat */
        bytes[i + 1] = 0;
    }
    Shoal__Message *message = NULL;
    assert_fails(sh_message_unpack(&message, bytes, count), SH_LIMIT,
                 "unpacks to more than 4194304");
    free(bytes);
    bytes = calloc(1, count + 1);
    assert_non_null(bytes);
    assert_fails(sh_message_unpack(&message, bytes, count + 1), SH_FORMAT,
                 "a message of 262145 bytes; at most 262144 are allowed");
    free(bytes);
}

static void cut_and_flipped_messages_are_harmless(void **state)
{
    (void)state;
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    welcome.job = (char *)"{\"model\":\"mlp:784-64-10\",\"lr\":0.5}";
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome), *back = NULL;
    uint8_t *bytes;
    size_t count;
    assert_ok(sh_message_pack(&bytes, &count, &message));
    for (size_t cut = 0; cut < count; cut++)
        assert_int_not_equal(sh_message_unpack(&back, bytes, cut), SH_OK);
    for (size_t bit = 0; bit < 8 * count; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        back = NULL;
        if (sh_message_unpack(&back, bytes, count) == SH_OK)
            sh_message_free(back);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_comes_back),
        cmocka_unit_test(a_welcome_comes_back),
        cmocka_unit_test(orders_for_1024_seats_come_back_and_for_no_more),
        cmocka_unit_test(small_messages_come_back),
        cmocka_unit_test(what_would_be_refused_is_not_sent),
        cmocka_unit_test(malformed_messages_are_refused),
        cmocka_unit_test(long_jobs_are_refused),
        cmocka_unit_test(long_strings_are_refused),
        cmocka_unit_test(a_small_message_cannot_take_much_memory),
        cmocka_unit_test(cut_and_flipped_messages_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
