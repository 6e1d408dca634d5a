/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include "base/test.h"

enum { DOWN = 1, LOOP = 2, BRIDGE = 4, OUTWARD = 8 };

typedef struct entry {
    const char *name, *host;
    unsigned flags;
} entry;

static size_t make(sh_reach list[SH_REACH_MAX], const entry *entries)
{
    size_t count = 0;
    for (; entries[count].name != NULL; count++) {
        sh_address found[SH_ADDRESS_FOUND_MAX];
        size_t addresses;
        const unsigned flags = entries[count].flags;
        list[count] = (sh_reach){.running = (flags & DOWN) == 0,
                                 .loopback = (flags & LOOP) != 0,
                                 .bridge = (flags & BRIDGE) != 0,
                                 .outward = (flags & OUTWARD) != 0};
        snprintf(list[count].name, sizeof list->name, "%s", entries[count].name);
        assert_ok(sh_address_find(found, &addresses, entries[count].host, 0));
        list[count].address = found[0];
    }
    return count;
}

static void chooses_what_others_are_likely_to_reach(void **state)
{
    (void)state;
    static const struct {
        entry entries[8];
        bool v4_only;
        const char *chosen; /* in order */
    } cases[] = {
        {{{"lo", "127.0.0.1", LOOP}, {"lo", "::1", LOOP}}, false, ""},
        {{{"lo", "127.0.0.1", LOOP}, {"eth0", "192.168.1.5", 0}}, false, " 192.168.1.5"},
        {{{"eth0", "10.0.0.1", 0}, {"wlan0", "192.168.1.5", OUTWARD}},
         false,
         " 192.168.1.5 10.0.0.1"},
        {{{"eth0", "10.0.0.1", DOWN}, {"wlan0", "192.168.1.5", 0}}, false, " 192.168.1.5"},
        {{{"docker0", "172.17.0.1", 0},
          {"br-4f2a", "172.18.0.1", 0},
          {"virbr0", "192.168.122.1", 0},
          {"podman1", "10.88.0.1", 0},
          {"lxcbr0", "10.0.3.1", 0},
          {"cni0", "10.42.0.1", 0},
          {"mine", "10.77.0.1", BRIDGE},
          {NULL}},
         false,
         ""},
        {{{"docker0", "172.17.0.1", 0}, {"veth12", "fd00::7", 0}, {"eth0", "10.0.0.1", 0}},
         false,
         " 10.0.0.1"},
        {{{"br0", "192.168.1.5", BRIDGE | OUTWARD}, {"virbr0", "192.168.122.1", BRIDGE}},
         false,
         " 192.168.1.5"},
        {{{"eth0", "fe80::1", 0}, {"eth0", "fd00::5", 0}, {"eth0", "10.0.0.1", 0}},
         false,
         " 10.0.0.1 fd00::5"},
        {{{"eth0", "fd00::5", 0}, {"eth0", "10.0.0.1", 0}}, true, " 10.0.0.1"},
        {{{"eth0", "fe80::1", 0}, {"eth0", "fd00::5", 0}, {"eth0", "2001:db8::5", OUTWARD}},
         false,
         " 2001:db8::5 fd00::5"},
        {{{"eth0", "fe80::1", 0}, {"eth0", "169.254.3.4", 0}}, false, " 169.254.3.4 fe80::1"},
        {{{"eth0", "169.254.3.4", 0}, {"eth0", "fd00::5", 0}}, false, " fd00::5"},
        {{{"eth0", "fe80::1", 0}}, true, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_reach list[SH_REACH_MAX];
        char got[256] = "";
        const size_t count = sh_reach_choose(list, make(list, cases[i].entries), cases[i].v4_only);
        for (size_t k = 0; k < count; k++) {
            char host[SH_ADDRESS_TEXT];
            sh_address_print_host(host, &list[k].address);
            snprintf(got + strlen(got), sizeof got - strlen(got), " %s", host);
        }
        assert_string_equal(got, cases[i].chosen);
    }
}

static void reads_those_of_this_machine(void **state)
{
    (void)state;
    sh_reach list[SH_REACH_MAX];
    const size_t count = sh_reach_read(list);
    bool loopback = false;
    for (size_t i = 0; i < count; i++) {
        char host[SH_ADDRESS_TEXT];
        sh_address_print_host(host, &list[i].address);
        loopback = loopback || (list[i].loopback && strcmp(host, "127.0.0.1") == 0);
    }
    if (!loopback)
        skip_because("the loopback of this machine is down");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_what_others_are_likely_to_reach),
        cmocka_unit_test(reads_those_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
