/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/invitation.h"

#include "base/test.h"

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

/* Listening everywhere, the token for this machine goes by the loopback, the other one does not say
 * so. */
static void both_tokens_have_one_secret(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *host, *local;
    } cases[] = {
        {NULL, "127.0.0.1", "127.0.0.1"},
        {"10.1.2.3:1", "10.1.2.3", "10.1.2.3"},
        {":1", NULL, "127.0.0.1"},
        {"[::]:1", NULL, "::1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_invitation invitation;
        sh_token away, near;
        assert_ok(sh_invitation_read(&invitation, cases[i].listen));
        assert_ok(sh_invitation_issue(&invitation, 4711));
        assert_ok(sh_token_parse(&away, invitation.text, strlen(invitation.text)));
        assert_ok(sh_token_parse(&near, invitation.local_text, strlen(invitation.local_text)));
        assert_memory_equal(away.secret, near.secret, sizeof away.secret);
        assert_int_equal(away.port, 4711);
        assert_string_equal(near.host, cases[i].local);
        if (cases[i].host != NULL)
            assert_string_equal(away.host, cases[i].host);
        sh_key_wipe(&invitation, sizeof invitation);
        assert_int_equal(invitation.text[0], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listen_is_read_or_refused),
        cmocka_unit_test(both_tokens_have_one_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
