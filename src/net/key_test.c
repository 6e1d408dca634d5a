/* SPDX-License-Identifier: Apache-2.0 */
#include "net/key.h"

#include "base/test.h"

static void derives_what_rfc_5869_says(void **state)
{
    (void)state;
    /* Test case 3 of RFC 5869: no salt, no info; the first 32 of 42 bytes. */
    const unsigned char expected[SH_KEY_BYTES] = {
        0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80,
        0x2a, 0x06, 0x3c, 0x5a, 0x31, 0xb8, 0xa1, 0x1f, 0x5c, 0x5e, 0xe1,
        0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f, 0x3c, 0x73, 0x8d, 0x2d,
    };
    unsigned char secret[22], key[SH_KEY_BYTES];
    memset(secret, 0x0b, sizeof secret);
    assert_ok(sh_key_derive(key, secret, sizeof secret, ""));
    assert_memory_equal(key, expected, sizeof key);
}

static void labels_and_secrets_give_keys_of_their_own(void **state)
{
    (void)state;
    unsigned char secret[16] = {1}, other[16] = {2}, a[SH_KEY_BYTES], b[SH_KEY_BYTES];
    assert_ok(sh_key_derive(a, secret, sizeof secret, "join"));
    assert_ok(sh_key_derive(b, secret, sizeof secret, "join"));
    assert_memory_equal(a, b, sizeof a);
    assert_ok(sh_key_derive(b, secret, sizeof secret, "link"));
    assert_memory_not_equal(a, b, sizeof a);
    assert_ok(sh_key_derive(b, other, sizeof other, "join"));
    assert_memory_not_equal(a, b, sizeof a);
}

static void made_keys_differ_and_are_wiped(void **state)
{
    (void)state;
    const unsigned char zero[SH_KEY_BYTES] = {0};
    unsigned char a[SH_KEY_BYTES] = {0}, b[SH_KEY_BYTES] = {0};
    assert_ok(sh_key_make(a));
    assert_ok(sh_key_make(b));
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, zero, sizeof a);
    sh_key_wipe(a, sizeof a);
    assert_memory_equal(a, zero, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derives_what_rfc_5869_says),
        cmocka_unit_test(labels_and_secrets_give_keys_of_their_own),
        cmocka_unit_test(made_keys_differ_and_are_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
