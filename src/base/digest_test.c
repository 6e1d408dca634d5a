/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "base/test.h"

/* Answers published by NIST with FIPS 180 (examples) and in its SHA test vectors. */
static const struct {
    const char *text;
    size_t repeats;
    const char *hex;
} known[] = {
    {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void published_answers_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_digest *digest = NULL;
        char hex[SH_DIGEST_TEXT];
        assert_ok(sh_digest_new(&digest));
        for (size_t j = 0; j < known[i].repeats; j++)
            sh_digest_add(digest, known[i].text, strlen(known[i].text));
        assert_ok(sh_digest_finish(digest, hex));
        assert_string_equal(hex, known[i].hex);
    }
}

static void pieces_are_the_whole(void **state)
{
    (void)state;
    const char *text = known[2].text;
    const size_t bytes = strlen(text);
    for (size_t cut = 0; cut <= bytes; cut++) {
        sh_digest *digest = NULL;
        char hex[SH_DIGEST_TEXT];
        assert_ok(sh_digest_new(&digest));
        sh_digest_add(digest, text, cut);
        sh_digest_add(digest, text + cut, 0);
        sh_digest_add(digest, text + cut, bytes - cut);
        assert_ok(sh_digest_finish(digest, hex));
        assert_string_equal(hex, known[2].hex);
    }
}

static void a_block_in_one_call_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t digest[SH_DIGEST_BYTES];
        char hex[SH_DIGEST_TEXT];
        if (known[i].repeats != 1)
            continue;
        assert_ok(sh_digest_block(digest, known[i].text, strlen(known[i].text)));
        sh_digest_print(hex, digest);
        assert_string_equal(hex, known[i].hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers_come_out),
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(a_block_in_one_call_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
