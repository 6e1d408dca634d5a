/* SPDX-License-Identifier: Apache-2.0 */
#include "net/leader.h"

#include "base/test.h"

/* The first key pair of RFC 8032, section 7.1. */
static const unsigned char secret[SH_KEY_BYTES] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
};
static const unsigned char public_key[SH_KEY_BYTES] = {
    0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
    0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
};
/* The first half of the output of sha256sum for the public key. */
static const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES] = {
    0x21, 0xfe, 0x31, 0xdf, 0xa1, 0x54, 0xa2, 0x61, 0x62, 0x6b, 0xf8, 0x54, 0x04, 0x6f, 0xd2, 0x27,
};

static const unsigned char binding[SH_LEADER_BINDING_BYTES] = {1, 2, 3};

static const sh_leader_chain none;

static void the_fingerprint_is_that_of_the_public_key(void **state)
{
    (void)state;
    unsigned char found[SH_LEADER_FINGERPRINT_BYTES];
    assert_ok(sh_leader_fingerprint(found, secret));
    assert_memory_equal(found, fingerprint, sizeof found);
}

static void a_proof_holds_for_its_connection(void **state)
{
    (void)state;
    sh_leader_signature proof;
    assert_ok(sh_leader_sign(&proof, secret, binding));
    assert_memory_equal(proof.key, public_key, sizeof proof.key);
    assert_ok(sh_leader_check(&proof, &none, fingerprint, binding));
    unsigned char other[SH_LEADER_BINDING_BYTES];
    for (size_t bit = 0; bit < 8 * sizeof other; bit++) {
        memcpy(other, binding, sizeof other);
        other[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_fails(sh_leader_check(&proof, &none, fingerprint, other), SH_REFUSED,
                     "did not prove");
    }
}

static void an_altered_proof_is_refused(void **state)
{
    (void)state;
    sh_leader_signature proof;
    assert_ok(sh_leader_sign(&proof, secret, binding));
    unsigned char *bytes = (unsigned char *)&proof;
    for (size_t bit = 0; bit < 8 * sizeof proof; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_fails(sh_leader_check(&proof, &none, fingerprint, binding), SH_REFUSED,
                     "did not prove");
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_ok(sh_leader_check(&proof, &none, fingerprint, binding));
}

/* The key pair is not that of the token. */
static void another_key_pair_is_refused(void **state)
{
    (void)state;
    sh_leader_signature proof;
    unsigned char other[SH_KEY_BYTES];
    assert_ok(sh_key_make(other));
    assert_ok(sh_leader_sign(&proof, other, binding));
    assert_fails(sh_leader_check(&proof, &none, fingerprint, binding), SH_REFUSED, "did not prove");
    proof = (sh_leader_signature){{0}, {0}};
    assert_fails(sh_leader_check(&proof, &none, fingerprint, binding), SH_REFUSED, "did not prove");
}

#define FOLLOWERS 3

typedef struct follower {
    unsigned char secret[SH_KEY_BYTES], key[SH_KEY_BYTES];
    sh_leader_chain chain;
} follower;

static void make_followers(follower followers[FOLLOWERS])
{
    const unsigned char *before = secret;
    const sh_leader_chain *chain = &none;
    for (uint32_t i = 0; i < FOLLOWERS; i++) {
        follower *one = &followers[i];
        assert_ok(sh_key_make(one->secret));
        assert_ok(sh_leader_public(one->key, one->secret));
        assert_ok(sh_leader_warrant(&one->chain, chain, before, one->key));
        before = one->secret;
        chain = &one->chain;
    }
}

static void a_warrant_lets_a_device_follow(void **state)
{
    (void)state;
    static follower followers[FOLLOWERS];
    make_followers(followers);
    for (uint32_t i = 0; i < FOLLOWERS; i++) {
        const follower *one = &followers[i];
        sh_leader_signature proof;
        assert_int_equal(one->chain.count, i + 1);
        assert_ok(sh_leader_check_chain(&one->chain, fingerprint, one->key));
        assert_ok(sh_leader_sign(&proof, one->secret, binding));
        assert_ok(sh_leader_check(&proof, &one->chain, fingerprint, binding));
        for (uint32_t other = 0; other < FOLLOWERS; other++)
            if (other != i)
                assert_fails(sh_leader_check(&proof, &followers[other].chain, fingerprint, binding),
                             SH_REFUSED, "did not prove that it may");
        assert_fails(sh_leader_check(&proof, &none, fingerprint, binding), SH_REFUSED,
                     "did not prove that it may");
    }
}

static void an_altered_or_shortened_chain_is_refused(void **state)
{
    (void)state;
    static follower followers[FOLLOWERS];
    make_followers(followers);
    follower *last = &followers[FOLLOWERS - 1];
    unsigned char *bytes = (unsigned char *)last->chain.warrants;
    for (size_t at = 0; at < FOLLOWERS * sizeof *last->chain.warrants; at++) {
        bytes[at] ^= 4;
        assert_fails(sh_leader_check_chain(&last->chain, fingerprint, last->key), SH_REFUSED,
                     "did not prove that it may");
        bytes[at] ^= 4;
    }
    last->chain.count--;
    assert_fails(sh_leader_check_chain(&last->chain, fingerprint, last->key), SH_REFUSED,
                 "did not prove that it may");
    memmove(last->chain.warrants, last->chain.warrants + 1,
            (FOLLOWERS - 1) * sizeof *last->chain.warrants);
    assert_fails(sh_leader_check_chain(&last->chain, fingerprint, last->key), SH_REFUSED,
                 "did not prove that it may");
}

/* The signed connection's binding equals a public key. */
static void a_proof_is_no_warrant(void **state)
{
    (void)state;
    unsigned char other_secret[SH_KEY_BYTES], other[SH_KEY_BYTES];
    sh_leader_chain chain = {.count = 1};
    assert_ok(sh_key_make(other_secret));
    assert_ok(sh_leader_public(other, other_secret));
    assert_ok(sh_leader_sign(&chain.warrants[0], secret, other));
    assert_fails(sh_leader_check_chain(&chain, fingerprint, other), SH_REFUSED,
                 "did not prove that it may");
}

static void a_chain_has_an_end(void **state)
{
    (void)state;
    static sh_leader_chain longest = {.count = SH_LEADER_WARRANTS_MAX}, theirs;
    assert_fails(sh_leader_warrant(&theirs, &longest, secret, public_key), SH_LIMIT,
                 "a chain of 128 warrants");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fingerprint_is_that_of_the_public_key),
        cmocka_unit_test(a_proof_holds_for_its_connection),
        cmocka_unit_test(an_altered_proof_is_refused),
        cmocka_unit_test(another_key_pair_is_refused),
        cmocka_unit_test(a_warrant_lets_a_device_follow),
        cmocka_unit_test(an_altered_or_shortened_chain_is_refused),
        cmocka_unit_test(a_proof_is_no_warrant),
        cmocka_unit_test(a_chain_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
