/* SPDX-License-Identifier: Apache-2.0 */
#include "net/inbox.h"

#include <endian.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

#define ELEMENTS 5000
#define HELLO "hello"

struct stream {
    unsigned char *bytes;
    size_t count;
};

static void append(struct stream *stream, const sh_frame *head, const void *body)
{
    stream->bytes = realloc(stream->bytes, stream->count + SH_FRAME_BYTES + head->bytes);
    assert_non_null(stream->bytes);
    sh_frame_encode(stream->bytes + stream->count, head);
    if (body != NULL)
        memcpy(stream->bytes + stream->count + SH_FRAME_BYTES, body, head->bytes);
    stream->count += SH_FRAME_BYTES + head->bytes;
}

static struct stream three_frames(const void *body, uint32_t bytes)
{
    struct stream stream = {0};
    append(&stream, &(sh_frame){.bytes = sizeof HELLO, .kind = SH_FRAME_CONTROL}, HELLO);
    append(&stream, &(sh_frame){.bytes = bytes, .kind = SH_FRAME_SEGMENT, .hop = 3}, body);
    append(&stream, &(sh_frame){.bytes = 0, .kind = SH_FRAME_STATE, .step = 9}, NULL);
    return stream;
}

/* Feeds pieces of 1 .. most bytes and records the events in order. */
static void feed(const struct stream *stream, const sh_sink *sink, uint32_t most, char *events)
{
    sh_inbox inbox = {0};
    sh_random random = sh_random_for(5, SH_RANDOM_TEST, most, 0);
    size_t used = 0;
    while (used < stream->count) {
        void *place;
        size_t room;
        assert_ok(sh_inbox_place(&inbox, &place, &room));
        assert_in_range(room, 1, stream->count - used);
        size_t piece = 1 + sh_random_below(&random, most);
        piece = piece < room ? piece : room;
        memcpy(place, stream->bytes + used, piece);
        used += piece;
        sh_inbox_event event;
        assert_ok(sh_inbox_filled(&inbox, piece, &event));
        if (event == SH_INBOX_ASK) {
            *events++ = inbox.head.kind == SH_FRAME_SEGMENT ? 'a' : 'A';
            assert_ok(sh_inbox_take(&inbox, sink, &event));
        }
        if (event == SH_INBOX_CONTROL) {
            assert_int_equal(inbox.head.bytes, sizeof HELLO);
            assert_memory_equal(inbox.control, HELLO, sizeof HELLO);
            *events++ = 'c';
        }
        if (event == SH_INBOX_DONE)
            *events++ = inbox.head.kind == SH_FRAME_SEGMENT ? 'd' : 'D';
        if (event == SH_INBOX_CONTROL || event == SH_INBOX_DONE) {
            sh_inbox_next(&inbox);
            assert_true(sh_inbox_is_between(&inbox));
        } else {
            assert_false(sh_inbox_is_between(&inbox));
        }
    }
    *events = '\0';
    assert_true(sh_inbox_is_between(&inbox));
    sh_inbox_release(&inbox);
}

static const uint32_t pieces[] = {1, 2, 3, 5, 7, 8, 23, 24, 25, 1000, 16384, 100000};

static void pieces_of_any_size_are_stored(void **state)
{
    (void)state;
    unsigned char body[4 * ELEMENTS], got[4 * ELEMENTS];
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (unsigned char)(i * 7 + i / 256);
    struct stream stream = three_frames(body, sizeof body);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char events[16];
        memset(got, 0, sizeof got);
        feed(&stream, &(sh_sink){.data = got, .bytes = sizeof got}, pieces[i], events);
        assert_string_equal(events, "cadAD");
        assert_memory_equal(got, body, sizeof body);
    }
    free(stream.bytes);
}

static void pieces_of_any_size_are_added_modulo_two_to_the_w(void **state)
{
    (void)state;
    static uint32_t wire32[ELEMENTS], sum32[ELEMENTS], expected32[ELEMENTS];
    static uint64_t wire64[ELEMENTS], sum64[ELEMENTS], expected64[ELEMENTS];
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        for (size_t i = 0; i < ELEMENTS; i++) {
            const uint32_t a = sh_random_next(&random), b = sh_random_next(&random);
            sum32[i] = b;
            wire32[i] = htole32(a);
            expected32[i] = a + b;
            const uint64_t term = (uint64_t)a << 32 | b;
            sum64[i] = UINT64_MAX - i;
            wire64[i] = htole64(term);
            expected64[i] = term + UINT64_MAX - i;
        }
        char events[16];
        struct stream stream = three_frames(wire32, sizeof wire32);
        feed(&stream, &(sh_sink){.adds = 4, .data = sum32, .bytes = sizeof sum32}, pieces[p],
             events);
        assert_string_equal(events, "cadAD");
        assert_memory_equal(sum32, expected32, sizeof sum32);
        free(stream.bytes);
        stream = three_frames(wire64, sizeof wire64);
        feed(&stream, &(sh_sink){.adds = 8, .data = sum64, .bytes = sizeof sum64}, pieces[p],
             events);
        assert_memory_equal(sum64, expected64, sizeof sum64);
        free(stream.bytes);
    }
}

static void check_narrow(size_t bytes, uint32_t piece, bool apart)
{
    static unsigned char wire[ELEMENTS * 2], base[ELEMENTS * 2], sum[ELEMENTS * 2];
    char events[16];
    for (size_t i = 0; i < sizeof wire; i++) {
        wire[i] = (unsigned char)(7 * i + 200);
        base[i] = (unsigned char)(201 + i / 3);
        sum[i] = apart ? 99 : base[i];
    }
    struct stream stream = three_frames(wire, (uint32_t)(ELEMENTS * bytes));
    feed(&stream,
         &(sh_sink){
             .adds = bytes, .data = sum, .bytes = ELEMENTS * bytes, .base = apart ? base : NULL},
         piece, events);
    free(stream.bytes);
    assert_string_equal(events, "cadAD");
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint16_t of_wire = 0, of_base = 0, of_sum = 0;
        memcpy(&of_wire, wire + i * bytes, bytes);
        memcpy(&of_base, base + i * bytes, bytes);
        memcpy(&of_sum, sum + i * bytes, bytes);
        const uint16_t expected = (uint16_t)(le16toh(of_wire) + le16toh(of_base));
        assert_int_equal(le16toh(of_sum), bytes == 1 ? expected & 0xff : expected);
    }
}

static void integers_of_two_bytes_and_of_one_are_added_too(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
        for (int apart = 0; apart <= 1; apart++) {
            check_narrow(2, pieces[p], apart != 0);
            check_narrow(1, pieces[p], apart != 0);
        }
}

/* The old values of the data are ignored. */
static void sums_of_base_and_wire_go_elsewhere(void **state)
{
    (void)state;
    static uint32_t wire32[ELEMENTS], base32[ELEMENTS], kept32[ELEMENTS], sum32[ELEMENTS];
    static uint64_t wire64[ELEMENTS], base64[ELEMENTS], kept64[ELEMENTS], sum64[ELEMENTS];
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        char events[16];
        for (size_t i = 0; i < ELEMENTS; i++) {
            wire64[i] = htole64(UINT64_MAX / (i + 1));
            wire32[i] = htole32((uint32_t)(UINT64_MAX / (i + 1)));
            base64[i] = kept64[i] = UINT64_MAX - 7 * i;
            base32[i] = kept32[i] = (uint32_t)base64[i];
            sum64[i] = sum32[i] = 12345;
        }
        struct stream stream = three_frames(wire32, sizeof wire32);
        feed(&stream, &(sh_sink){.adds = 4, .data = sum32, .bytes = sizeof sum32, .base = base32},
             pieces[p], events);
        free(stream.bytes);
        stream = three_frames(wire64, sizeof wire64);
        feed(&stream, &(sh_sink){.adds = 8, .data = sum64, .bytes = sizeof sum64, .base = base64},
             pieces[p], events);
        free(stream.bytes);
        assert_memory_equal(base32, kept32, sizeof base32);
        assert_memory_equal(base64, kept64, sizeof base64);
        for (size_t i = 0; i < ELEMENTS; i++) {
            assert_true(sum64[i] == UINT64_MAX / (i + 1) + kept64[i]);
            assert_int_equal(sum32[i], (uint32_t)sum64[i]);
        }
    }
}

static sh_status begin(sh_inbox *inbox, const unsigned char *wire, const sh_sink *sink)
{
    sh_inbox_event event;
    void *place;
    size_t room;
    *inbox = (sh_inbox){0};
    SH_TRY(sh_inbox_place(inbox, &place, &room));
    memcpy(place, wire, SH_FRAME_BYTES);
    SH_TRY(sh_inbox_filled(inbox, SH_FRAME_BYTES, &event));
    return event == SH_INBOX_ASK ? sh_inbox_take(inbox, sink, &event) : SH_OK;
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    uint64_t data[8];
    unsigned char wire[SH_FRAME_BYTES];
    sh_inbox inbox;
    sh_frame_encode(wire, &(sh_frame){.bytes = 65, .kind = SH_FRAME_STATE});
    assert_fails(begin(&inbox, wire, &(sh_sink){.data = data, .bytes = sizeof data}), SH_FORMAT,
                 "65 bytes, expected 64");
    sh_frame_encode(wire, &(sh_frame){.bytes = 63, .kind = SH_FRAME_SEGMENT});
    assert_fails(begin(&inbox, wire, &(sh_sink){.adds = 4, .data = data, .bytes = sizeof data}),
                 SH_FORMAT, "not a multiple of 4-byte integers");
    sh_frame_encode(wire, &(sh_frame){.bytes = 60, .kind = SH_FRAME_SEGMENT});
    assert_fails(begin(&inbox, wire, &(sh_sink){.adds = 8, .data = data, .bytes = sizeof data}),
                 SH_FORMAT, "not a multiple of 8-byte integers");
    sh_frame_encode(wire, &(sh_frame){.bytes = SH_FRAME_CONTROL_MAX + 1, .kind = 1});
    assert_fails(begin(&inbox, wire, NULL), SH_FORMAT, "at most 262144");
    sh_inbox_release(&inbox);
}

static void an_unfinished_message_is_freed(void **state)
{
    (void)state;
    unsigned char wire[SH_FRAME_BYTES];
    sh_inbox inbox;
    sh_frame_encode(wire, &(sh_frame){.bytes = 100, .kind = SH_FRAME_CONTROL});
    assert_ok(begin(&inbox, wire, NULL));
    assert_false(sh_inbox_is_between(&inbox));
    sh_inbox_release(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_are_stored),
        cmocka_unit_test(pieces_of_any_size_are_added_modulo_two_to_the_w),
        cmocka_unit_test(integers_of_two_bytes_and_of_one_are_added_too),
        cmocka_unit_test(sums_of_base_and_wire_go_elsewhere),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_unfinished_message_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
