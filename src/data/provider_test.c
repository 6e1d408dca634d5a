/* SPDX-License-Identifier: Apache-2.0 */
#include "data/provider.h"

#include "data/delivery_fixture.h"

static void blocks_are_those_of_the_manifest(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        sh_dataset *data = set_open(&s, kind);
        sh_provider *provider;
        const sh_manifest *m, *again;
        uint64_t sum = 0;
        assert_ok(sh_provider_new(&provider, data));
        assert_ok(sh_provider_manifest(&m, provider));
        assert_ok(sh_provider_manifest(&again, provider));
        assert_ptr_equal(m, again); /* made once */
        uint8_t *bytes = malloc(m->block_bytes);
        assert_non_null(bytes);
        for (uint32_t block = 0; block < m->blocks; block++) {
            const sh_block b = sh_manifest_block(m, block);
            assert_ok(sh_provider_read(provider, &b, bytes));
            assert_ok(sh_manifest_verify(m, block, bytes, b.bytes));
            sum += b.bytes;
        }
        assert_int_equal(sum, m->content_bytes);
        assert_int_equal(sh_provider_counted(provider).blocks, m->blocks);
        assert_int_equal(sh_provider_counted(provider).bytes, sum);
        free(bytes);
        sh_provider_free(provider);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
    sh_provider_free(NULL);
}

static void wild_requests_are_refused(void **state)
{
    (void)state;
    static const struct {
        sh_block block;
        const char *part;
    } cases[] = {
        {{0, 0, 0}, "a block of 0 bytes"},
        {{0, 0, SH_MANIFEST_BLOCK_MOST + 1}, "a block of 1048577 bytes"},
        {{0, 0, UINT32_MAX}, "a block of 4294967295 bytes"},
        {{4, 0, 1}, "no file number 4"},
        {{UINT32_MAX, 0, 1}, "no file number 4294967295"},
        {{1, 1200 + 8, 1}, "do not lie in its 1208"},
        {{1, 1200, 9}, "do not lie in its 1208"},
        {{1, UINT64_MAX, 1}, "do not lie in its 1208"},
    };
    static uint8_t bytes[SH_MANIFEST_BLOCK_MOST];
    fixture s;
    sh_dataset *data = set_open(&s, SET_MNIST);
    sh_provider *provider;
    assert_ok(sh_provider_new(&provider, data));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(sh_provider_read(provider, &cases[i].block, bytes), SH_INVALID, cases[i].part);
    assert_int_equal(sh_provider_counted(provider).blocks, 0);
    sh_provider_free(provider);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void what_is_drawn_is_not_provided(void **state)
{
    (void)state;
    sh_dataset *data;
    sh_provider *provider;
    const sh_manifest *none = NULL;
    uint8_t byte;
    assert_ok(sh_dataset_open(&data, "digits"));
    assert_ok(sh_provider_new(&provider, data));
    assert_fails(sh_provider_manifest(&none, provider), SH_UNSUPPORTED, "digits is on no disk");
    assert_fails(sh_provider_read(provider, &(sh_block){0, 0, 1}, &byte), SH_UNSUPPORTED, "digits");
    assert_null(none);
    sh_provider_free(provider);
    sh_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_the_manifest),
        cmocka_unit_test(wild_requests_are_refused),
        cmocka_unit_test(what_is_drawn_is_not_provided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
