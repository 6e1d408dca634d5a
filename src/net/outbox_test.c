/* SPDX-License-Identifier: Apache-2.0 */
#include "net/outbox.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

#define LARGE 100000

static unsigned char large[LARGE + 64]; /* the body of frame i starts at byte i */

static const struct {
    sh_frame_kind kind;
    uint32_t bytes;
} frames[] = {
    {SH_FRAME_CONTROL, 5},     {SH_FRAME_SEGMENT, 0},     {SH_FRAME_CONTROL, 0},
    {SH_FRAME_SEGMENT, 16360}, {SH_FRAME_SEGMENT, 16361}, {SH_FRAME_STATE, LARGE},
    {SH_FRAME_CONTROL, 30000}, {SH_FRAME_SEGMENT, 1},     {SH_FRAME_SEGMENT, 16310},
    {SH_FRAME_STATE, 40},      {SH_FRAME_SEGMENT, 16384},
};
#define FRAMES (sizeof frames / sizeof *frames)

static sh_frame head_of(size_t i)
{
    const bool raw = frames[i].kind != SH_FRAME_CONTROL;
    return (sh_frame){
        .bytes = frames[i].bytes, .kind = (uint16_t)frames[i].kind, .step = raw ? (uint32_t)i : 0};
}

static void push_all(sh_outbox *outbox)
{
    for (size_t i = 0; i < FRAMES; i++) {
        const sh_frame head = head_of(i);
        if (frames[i].kind == SH_FRAME_CONTROL)
            assert_ok(sh_outbox_push_control(outbox, large + i, frames[i].bytes));
        else
            assert_ok(sh_outbox_push(outbox, &head, large + i));
    }
}

/* Writes 1 .. most bytes at a time; counts distinct peeks. */
static size_t drain(sh_outbox *outbox, unsigned char *stream, uint32_t most, size_t *peeks)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, most, 0);
    const unsigned char *bytes, *again;
    size_t count, same, used = 0;
    *peeks = 0;
    while (sh_outbox_peek(outbox, &bytes, &count)) {
        assert_true(sh_outbox_peek(outbox, &again, &same));
        assert_ptr_equal(bytes, again);
        assert_int_equal(count, same);
        assert_in_range(count, 1, SH_OUTBOX_PIECE_BYTES);
        size_t put = 1 + sh_random_below(&random, most);
        put = put < count ? put : count;
        memcpy(stream + used, bytes, put);
        used += put;
        ++*peeks;
        sh_outbox_advance(outbox, put);
    }
    return used;
}

static void the_stream_is_the_frames_in_order(void **state)
{
    (void)state;
    static unsigned char stream[4 * LARGE], expected[4 * LARGE];
    size_t whole = 0;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (unsigned char)(i * 13 + i / 251);
    for (size_t i = 0; i < FRAMES; i++) {
        const sh_frame head = head_of(i);
        sh_frame_encode(expected + whole, &head);
        memcpy(expected + whole + SH_FRAME_BYTES, large + i, frames[i].bytes);
        whole += SH_FRAME_BYTES + frames[i].bytes;
    }
    const uint32_t most[] = {1, 7, 1000, 16384};
    for (size_t m = 0; m < 4; m++) {
        sh_outbox *outbox = NULL;
        assert_ok(sh_outbox_new(&outbox));
        push_all(outbox);
        size_t peeks;
        assert_int_equal(drain(outbox, stream, most[m], &peeks), whole);
        assert_memory_equal(stream, expected, whole);
        assert_true(sh_outbox_is_empty(outbox));
        for (size_t i = 0; i < FRAMES; i++) {
            sh_frame head;
            if (frames[i].kind == SH_FRAME_CONTROL)
                continue;
            assert_true(sh_outbox_pop_sent(outbox, &head));
            assert_int_equal(head.step, i);
        }
        sh_frame head;
        assert_false(sh_outbox_pop_sent(outbox, &head));
        sh_outbox_free(outbox);
    }
}

static void small_frames_share_a_piece(void **state)
{
    (void)state;
    sh_outbox *outbox = NULL;
    assert_ok(sh_outbox_new(&outbox));
    for (int i = 0; i < 10; i++)
        assert_ok(sh_outbox_push_control(outbox, "0123456789", 10));
    const unsigned char *bytes;
    size_t count;
    assert_true(sh_outbox_peek(outbox, &bytes, &count));
    assert_int_equal(count, 10 * (SH_FRAME_BYTES + 10));
    sh_outbox_free(outbox);
}

static void the_end_of_a_frame_fills_a_piece(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        sh_outbox *outbox = NULL;
        const sh_frame head = {.kind = SH_FRAME_STATE, .bytes = 2 * SH_OUTBOX_PIECE_BYTES};
        const unsigned char *bytes;
        size_t count;
        assert_ok(sh_outbox_new(&outbox));
        assert_ok(sh_outbox_push(outbox, &head, large));
        if (late == 0)
            assert_ok(sh_outbox_push(outbox, &head, large));
        for (int piece = 0; piece < 2; piece++) {
            assert_true(sh_outbox_peek(outbox, &bytes, &count));
            assert_int_equal(count, SH_OUTBOX_PIECE_BYTES);
            sh_outbox_advance(outbox, count);
        }
        assert_true(sh_outbox_peek(outbox, &bytes, &count));
        if (late == 1)
            assert_ok(sh_outbox_push(outbox, &head, large));
        assert_true(sh_outbox_peek(outbox, &bytes, &count));
        assert_int_equal(count, late == 0 ? SH_OUTBOX_PIECE_BYTES : SH_FRAME_BYTES);
        assert_memory_equal(bytes, large + head.bytes - SH_FRAME_BYTES, SH_FRAME_BYTES);
        sh_outbox_free(outbox);
    }
}

static void a_frame_is_sent_when_its_last_byte_was(void **state)
{
    (void)state;
    sh_outbox *outbox = NULL;
    sh_frame head = {.kind = SH_FRAME_STATE, .bytes = 20000, .step = 4}, sent;
    const unsigned char *bytes;
    size_t count;
    assert_ok(sh_outbox_new(&outbox));
    assert_ok(sh_outbox_push(outbox, &head, large));
    assert_true(sh_outbox_peek(outbox, &bytes, &count));
    assert_int_equal(count, SH_OUTBOX_PIECE_BYTES);
    sh_outbox_advance(outbox, count);
    assert_false(sh_outbox_pop_sent(outbox, &sent));
    assert_true(sh_outbox_peek(outbox, &bytes, &count));
    assert_ptr_equal(bytes, large + SH_OUTBOX_PIECE_BYTES - SH_FRAME_BYTES); /* no copy */
    sh_outbox_advance(outbox, count - 1);
    assert_false(sh_outbox_pop_sent(outbox, &sent));
    assert_false(sh_outbox_is_empty(outbox));
    sh_outbox_advance(outbox, 1);
    assert_true(sh_outbox_pop_sent(outbox, &sent));
    assert_int_equal(sent.step, 4);
    sh_outbox_free(outbox);
}

static void the_queue_is_bounded(void **state)
{
    (void)state;
    sh_outbox *outbox = NULL;
    sh_frame head = {.kind = SH_FRAME_SEGMENT, .bytes = 1};
    assert_ok(sh_outbox_new(&outbox));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SH_OUTBOX_FRAMES_MAX; i++)
            assert_ok(sh_outbox_push(outbox, &head, large));
        assert_fails(sh_outbox_push(outbox, &head, large), SH_LIMIT, "65536 frames wait");
        assert_fails(sh_outbox_push_control(outbox, large, 1), SH_LIMIT, "65536 frames wait");
        static unsigned char stream[SH_OUTBOX_FRAMES_MAX * (SH_FRAME_BYTES + 1)];
        size_t peeks;
        drain(outbox, stream, 16384, &peeks);
        while (sh_outbox_pop_sent(outbox, &head))
            continue;
    }
    static unsigned char message[SH_FRAME_CONTROL_MAX + 1];
    assert_fails(sh_outbox_push_control(outbox, message, sizeof message), SH_LIMIT,
                 "a control message of 262145 bytes: at most 262144");
    for (int i = 0; i < 16; i++)
        assert_ok(sh_outbox_push_control(outbox, message, SH_FRAME_CONTROL_MAX));
    assert_fails(sh_outbox_push_control(outbox, message, 1), SH_LIMIT,
                 "4194304 bytes of control messages wait");
    head.kind = SH_FRAME_CONTROL;
    assert_fails(sh_outbox_push(outbox, &head, large), SH_INVALID, "sent as a raw frame");
    head = (sh_frame){.kind = 77};
    assert_fails(sh_outbox_push(outbox, &head, large), SH_INVALID, "unknown kind 77");
    sh_outbox_free(outbox);
    sh_outbox_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_is_the_frames_in_order),
        cmocka_unit_test(small_frames_share_a_piece),
        cmocka_unit_test(the_end_of_a_frame_fills_a_piece),
        cmocka_unit_test(a_frame_is_sent_when_its_last_byte_was),
        cmocka_unit_test(the_queue_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
