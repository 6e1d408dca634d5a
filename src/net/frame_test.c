/* SPDX-License-Identifier: Apache-2.0 */
#include "net/frame.h"

#include "base/test.h"

static void the_layout_is_fixed(void **state)
{
    (void)state;
    const sh_frame head = {
        .bytes = 0x04030201,
        .kind = SH_FRAME_SEGMENT,
        .bucket = 0x0605,
        .view = 0x0a090807,
        .step = 0x0e0d0c0b,
        .hop = 0x100f,
        .attempt = 0x1211,
    };
    const unsigned char expected[SH_FRAME_BYTES] = {1,  2,  3,  4,  3,  0,  5,  6,  7, 8, 9, 10,
                                                    11, 12, 13, 14, 15, 16, 17, 18, 0, 0, 0, 0};
    unsigned char wire[SH_FRAME_BYTES];
    memset(wire, 0xff, sizeof wire);
    sh_frame_encode(wire, &head);
    assert_memory_equal(wire, expected, sizeof wire);
    sh_frame back;
    assert_ok(sh_frame_decode(&back, wire));
    unsigned char again[SH_FRAME_BYTES];
    sh_frame_encode(again, &back);
    assert_memory_equal(again, wire, sizeof wire);
}

static const struct {
    sh_frame head;
    const char *message;
} cases[] = {
    {{.kind = SH_FRAME_CONTROL}, NULL},
    {{.kind = SH_FRAME_CONTROL, .bytes = 262144}, NULL},
    {{.kind = SH_FRAME_CONTROL, .bytes = 262145}, "262145 bytes; kind 1 has at most 262144"},
    {{.kind = SH_FRAME_CONTROL, .bytes = UINT32_MAX}, "a frame of 4294967295 bytes"},
    {{.kind = SH_FRAME_CONTROL, .bucket = 1}, "a control frame with the fields of a raw one"},
    {{.kind = SH_FRAME_CONTROL, .view = 1}, "a control frame with"},
    {{.kind = SH_FRAME_CONTROL, .step = 1}, "a control frame with"},
    {{.kind = SH_FRAME_CONTROL, .hop = 1}, "a control frame with"},
    {{.kind = SH_FRAME_CONTROL, .attempt = 1}, "a control frame with"},
    {{.kind = SH_FRAME_STATE, .bytes = SH_FRAME_RAW_MAX, .view = 7}, NULL},
    {{.kind = SH_FRAME_STATE, .bytes = SH_FRAME_RAW_MAX + 1}, "kind 2 has at most 1073741824"},
    {{.kind = SH_FRAME_SEGMENT, .bytes = UINT32_MAX}, "kind 3 has at most"},
    {{.kind = 0}, "unknown kind 0"},
    {{.kind = SH_FRAME_SUM, .bytes = 4, .bucket = 9}, NULL},
    {{.kind = SH_FRAME_TAIL, .bytes = SH_FRAME_RAW_MAX + 1}, "kind 5 has at most"},
    {{.kind = SH_FRAME_MANIFEST}, NULL},
    {{.kind = SH_FRAME_BLOCK, .bytes = 65536, .step = 3}, NULL},
    {{.kind = SH_FRAME_UPDATE, .hop = 7}, NULL},
    {{.kind = SH_FRAME_NETWORK, .bytes = 1 << 20}, NULL},
    {{.kind = 10}, "unknown kind 10"},
    {{.kind = 0xffff}, "unknown kind 65535"},
};

static void bad_headers_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char wire[SH_FRAME_BYTES];
        sh_frame back;
        sh_frame_encode(wire, &cases[i].head);
        if (cases[i].message == NULL)
            assert_ok(sh_frame_decode(&back, wire));
        else
            assert_fails(sh_frame_decode(&back, wire), SH_FORMAT, cases[i].message);
    }
    for (int at = 20; at < SH_FRAME_BYTES; at++) {
        unsigned char wire[SH_FRAME_BYTES];
        sh_frame_encode(wire, &(sh_frame){.kind = SH_FRAME_STATE});
        wire[at] = 1;
        sh_frame back;
        assert_fails(sh_frame_decode(&back, wire), SH_FORMAT, "nonzero reserved bytes");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_fixed),
        cmocka_unit_test(bad_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
