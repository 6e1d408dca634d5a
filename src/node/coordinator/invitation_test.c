/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/invitation.h"

#include "base/scratch.h"
#include "base/test.h"
#include "store/file.h"

static sh_reach interface(const char *name, const char *host)
{
    sh_reach one = {.running = true};
    sh_address found[SH_ADDRESS_FOUND_MAX];
    size_t count;
    snprintf(one.name, sizeof one.name, "%s", name);
    assert_ok(sh_address_find(found, &count, host, 0));
    one.address = found[0];
    return one;
}

static void listen_is_read_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *host;
        uint16_t port;
        const char *complaint;
    } cases[] = {
        {NULL, "127.0.0.1", 0, NULL},
        {":7700", "", 7700, NULL},
        {"192.168.1.5:7700", "192.168.1.5", 7700, NULL},
        {"[::1]:0", "::1", 0, NULL},
        {"7700", NULL, 0, "--listen 7700: expected [ADDRESS]:PORT"},
        {"host:", NULL, 0, "a port of 0 to 65535"},
        {"host:65536", NULL, 0, "a port of 0 to 65535"},
        {"host:-1", NULL, 0, "a port of 0 to 65535"},
        {"host:7x", NULL, 0, "a port of 0 to 65535"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_invitation invitation;
        if (cases[i].complaint != NULL) {
            assert_fails(sh_invitation_read(&invitation, cases[i].listen), SH_INVALID,
                         cases[i].complaint);
            continue;
        }
        assert_ok(sh_invitation_read(&invitation, cases[i].listen));
        assert_string_equal(invitation.host, cases[i].host);
        assert_int_equal(invitation.port, cases[i].port);
    }
}

/* When listening on all addresses, only the local token has the loopback address. */
static void both_tokens_have_one_secret(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *host, *local;
    } cases[] = {
        {NULL, "127.0.0.1", "127.0.0.1"},
        {"10.1.2.3:1", "10.1.2.3", "10.1.2.3"},
        {":1", "192.168.1.5", "127.0.0.1"},
        {"[::]:1", "192.168.1.5", "::1"},
    };
    const sh_reach wired = interface("eth0", "192.168.1.5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_invitation invitation;
        sh_token away, near;
        assert_ok(sh_invitation_read(&invitation, cases[i].listen));
        assert_ok(sh_invitation_issue(&invitation, 4711, &wired, 1));
        assert_ok(sh_token_parse(&away, invitation.text, strlen(invitation.text)));
        assert_ok(sh_token_parse(&near, invitation.local_text, strlen(invitation.local_text)));
        assert_memory_equal(away.secret, near.secret, sizeof away.secret);
        assert_memory_equal(away.leader, near.leader, sizeof away.leader);
        assert_int_equal(away.addresses[0].port, 4711);
        assert_string_equal(near.addresses[0].host, cases[i].local);
        assert_string_equal(away.addresses[0].host, cases[i].host);
        sh_key_wipe(&invitation, sizeof invitation);
        assert_int_equal(invitation.text[0], 0);
    }
}

static void the_user_hears_of_a_loopback(void **state)
{
    (void)state;
    static const struct {
        const char *listen;
        size_t interfaces;
        const char *advice;
    } cases[] = {
        {":7700", 1, ""},
        {":7700", 3, ""},
        {"10.0.0.7:7700", 3, ""},
        {":7700", 0,
         "the token names 127.0.0.1, so only devices on this machine can join: no network "
         "interface is up"},
        {"localhost:7700", 3,
         "the token names localhost, so only devices on this machine can join: --listen :PORT "
         "opens the job to others"},
        {"[::1]:7700", 3,
         "the token names ::1, so only devices on this machine can join: --listen :PORT opens the "
         "job to others"},
    };
    const sh_reach list[] = {interface("eth0", "192.168.1.5"), interface("wlan0", "10.0.0.7"),
                             interface("eth0", "fd00::5")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_invitation invitation;
        assert_ok(sh_invitation_read(&invitation, cases[i].listen));
        assert_ok(sh_invitation_issue(&invitation, 7700, list, cases[i].interfaces));
        assert_string_equal(invitation.advice, cases[i].advice);
    }
}

/* Only one if --listen names it. */
static void the_token_names_all_interfaces(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *begins;
    } cases[] = {
        {":7700", "shoal://192.168.1.5:7700,10.0.0.7:7700,10.9.0.1:7700,10.9.0.2:7700/"},
        {"0.0.0.0:7700", "shoal://192.168.1.5:7700,10.0.0.7:7700,10.9.0.1:7700,10.9.0.2:7700/"},
        {"10.0.0.7:7700", "shoal://10.0.0.7:7700/"},
    };
    const sh_reach list[] = {interface("eth0", "192.168.1.5"), interface("wlan0", "10.0.0.7"),
                             interface("eth0", "192.168.1.6"), interface("eth0", "fd00::5"),
                             interface("wg0", "10.9.0.1"),     interface("wg1", "10.9.0.2"),
                             interface("wg2", "10.9.0.3")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_invitation invitation;
        assert_ok(sh_invitation_read(&invitation, cases[i].listen));
        assert_ok(sh_invitation_issue(&invitation, 7700, list, sizeof list / sizeof *list));
        assert_memory_equal(invitation.text, cases[i].begins, strlen(cases[i].begins));
    }
}

/* The token's file alone does not suffice. */
static void what_was_kept_is_recalled_or_refused(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES], key[SH_PATH_BYTES + 4];
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    sh_invitation first, next;
    scratch_make(folder);
    assert_ok(sh_path_join(path, folder, "token"));
    snprintf(key, sizeof key, "%s.key", path);
    assert_ok(sh_invitation_read(&first, NULL));
    assert_ok(sh_invitation_recall(&first, path));
    assert_false(first.renewed);
    assert_ok(sh_invitation_issue(&first, 4711, NULL, 0));
    assert_ok(sh_leader_fingerprint(leader, first.key));
    assert_memory_equal(first.token.leader, leader, sizeof leader);
    assert_ok(sh_invitation_keep(&first, path));

    assert_ok(sh_invitation_read(&next, NULL));
    assert_ok(sh_invitation_recall(&next, path));
    assert_int_equal(next.port, 4711);
    assert_ok(sh_invitation_issue(&next, 4711, NULL, 0));
    assert_string_equal(next.text, first.text);
    assert_memory_equal(next.key, first.key, sizeof next.key);

    assert_ok(sh_file_replace_private(key, leader, sizeof leader));
    assert_fails(sh_invitation_recall(&next, path), SH_MISMATCH, "this key must not coordinate");
    unsigned char other[SH_KEY_BYTES + 4] = {1};
    assert_ok(sh_file_replace_private(key, other, sizeof other));
    assert_fails(sh_invitation_recall(&next, path), SH_MISMATCH, "token: remove it, and devices");
    sh_invitation_forget(path);
    assert_int_equal(scratch_count(folder), 0);
    scratch_remove(folder);
}

static void a_successor_has_the_same_token(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];
    unsigned char secret[SH_KEY_BYTES], key[SH_KEY_BYTES];
    static sh_invitation first, second, next;
    static sh_leader_chain chain;
    scratch_make(folder);
    assert_ok(sh_path_join(path, folder, "token"));
    assert_ok(sh_invitation_read(&first, NULL));
    assert_ok(sh_invitation_issue(&first, 4711, NULL, 0));
    assert_ok(sh_key_make(secret));
    assert_ok(sh_leader_public(key, secret));
    assert_ok(sh_leader_warrant(&chain, &first.chain, first.key, key));

    assert_ok(sh_invitation_read(&second, "127.0.0.2:0"));
    sh_invitation_inherit(&second, &first.token, secret, &chain, 7);
    assert_ok(sh_invitation_issue(&second, 4712, NULL, 0));
    assert_string_equal(second.token.addresses[0].host, "127.0.0.2");
    assert_int_equal(second.token.addresses[0].port, 4712);
    assert_memory_equal(second.token.secret, first.token.secret, sizeof first.token.secret);
    assert_memory_equal(second.token.leader, first.token.leader, sizeof first.token.leader);
    assert_ok(sh_invitation_keep(&second, path));

    assert_ok(sh_invitation_read(&next, NULL));
    assert_ok(sh_invitation_recall(&next, path));
    assert_int_equal(next.term, 7);
    assert_int_equal(next.chain.count, 1);
    assert_memory_equal(next.key, secret, sizeof secret);
    assert_ok(sh_leader_check_chain(&next.chain, first.token.leader, key));

    second.chain.count = 0; /* a key without the warrant */
    assert_ok(sh_invitation_keep(&second, path));
    assert_fails(sh_invitation_recall(&next, path), SH_MISMATCH, "this key must not coordinate");
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listen_is_read_or_refused),
        cmocka_unit_test(both_tokens_have_one_secret),
        cmocka_unit_test(the_user_hears_of_a_loopback),
        cmocka_unit_test(the_token_names_all_interfaces),
        cmocka_unit_test(what_was_kept_is_recalled_or_refused),
        cmocka_unit_test(a_successor_has_the_same_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
