/* SPDX-License-Identifier: Apache-2.0 */
#include "node/delivery/sources.h"

#include "base/test.h"

static sh_sources some(void)
{
    sh_sources sources = {.count = 2};
    sources.items[0] = (sh_source){0, {"10.0.0.1", 7700, {1, 2, 3}}};
    sources.items[1] = (sh_source){5, {"fe80::1", 65535, {9}}};
    return sources;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const sh_sources before = some();
    sh_sources_message message;
    sh_sources after;
    memset(&after, 7, sizeof after);
    sh_sources_write(&message, &before);
    assert_ok(sh_sources_read(&after, message.list, before.count));
    assert_int_equal(after.count, before.count);
    for (uint32_t i = 0; i < before.count; i++) {
        const sh_route *a = &before.items[i].route, *b = &after.items[i].route;
        assert_int_equal(after.items[i].device, before.items[i].device);
        assert_string_equal(a->host, b->host);
        assert_int_equal(a->port, b->port);
        assert_memory_equal(a->key, b->key, SH_KEY_BYTES);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const sh_sources good = some();
    sh_sources_message message;
    sh_sources read = {.count = 77};
    char host[SH_TOKEN_HOST + 1];
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    sh_sources_write(&message, &good);
    assert_fails(sh_sources_read(&read, message.list, 0), SH_FORMAT, "0 sources of the data");
    assert_fails(sh_sources_read(&read, message.list, SH_SOURCES_MAX + 1), SH_FORMAT, "1 to 4");
    for (int i = 0; i < 5; i++) {
        sh_sources_write(&message, &good);
        Shoal__Donor *bad = &message.items[1];
        bad->port = i == 0 ? 0 : i == 1 ? 65536 : bad->port;
        bad->key.len = i == 2 ? 0 : bad->key.len;
        bad->host = i == 3 ? (char *)(uintptr_t) "" : i == 4 ? host : bad->host;
        assert_fails(sh_sources_read(&read, message.list, 2), SH_FORMAT, "cannot be reached");
    }
    assert_int_equal(read.count, 77); /* untouched */
}

static void each_device_has_its_identity(void **state)
{
    (void)state;
    char identity[SH_LINK_IDENTITY];
    sh_data_identity(identity, 0);
    assert_string_equal(identity, "data/0");
    sh_data_identity(identity, UINT32_MAX);
    assert_string_equal(identity, "data/4294967295");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(each_device_has_its_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
