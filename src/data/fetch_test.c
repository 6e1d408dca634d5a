/* SPDX-License-Identifier: Apache-2.0 */
#include "data/fetch.h"

#include "base/random.h"
#include "base/test.h"

enum { BLOCKS = 6 };

static sh_fetch *all_later(void)
{
    sh_fetch *fetch;
    assert_ok(sh_fetch_new(&fetch, BLOCKS));
    for (uint32_t i = 0; i < BLOCKS; i++)
        sh_fetch_need(fetch, i, SH_FETCH_LATER);
    return fetch;
}

static void assert_order(sh_fetch *fetch, uint32_t source, const uint32_t *blocks, uint32_t count)
{
    uint32_t block = 99;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(sh_fetch_next(&block, fetch, source));
        assert_int_equal(block, blocks[i]);
    }
    assert_false(sh_fetch_next(&block, fetch, source));
}

static void what_is_urgent_comes_first(void **state)
{
    (void)state;
    sh_fetch *fetch = all_later();
    assert_false(sh_fetch_is_urgent(fetch));
    sh_fetch_need(fetch, 4, SH_FETCH_SOON);
    assert_true(sh_fetch_is_urgent(fetch));
    sh_fetch_need(fetch, 2, SH_FETCH_SOON);
    sh_fetch_need(fetch, 5, SH_FETCH_NOW);
    sh_fetch_need(fetch, 2, SH_FETCH_NOW);
    sh_fetch_need(fetch, 5, SH_FETCH_LATER);
    assert_order(fetch, 0, (const uint32_t[]){5, 2, 4, 0, 1, 3}, BLOCKS);
    assert_int_equal(sh_fetch_asked(fetch, 0), BLOCKS);
    assert_false(sh_fetch_is_urgent(fetch));
    for (uint32_t i = 0; i < BLOCKS; i++)
        sh_fetch_done(fetch, i);
    assert_int_equal(sh_fetch_left(fetch), 0);
    assert_int_equal(sh_fetch_asked(fetch, 0), 0);
    sh_fetch_done(fetch, 0);
    sh_fetch_free(fetch);
    sh_fetch_free(NULL);
}

static void what_came_is_not_asked_for_again(void **state)
{
    (void)state;
    sh_fetch *fetch;
    uint32_t block;
    assert_ok(sh_fetch_new(&fetch, BLOCKS));
    sh_fetch_need(fetch, 3, SH_FETCH_LATER);
    assert_true(sh_fetch_next(&block, fetch, 0));
    sh_fetch_done(fetch, 3);
    sh_fetch_need(fetch, 3, SH_FETCH_NOW);
    sh_fetch_refuse(fetch, 3, 0);
    assert_false(sh_fetch_is_urgent(fetch));
    assert_int_equal(sh_fetch_left(fetch), 0);
    sh_fetch_done(fetch, 4);
    sh_fetch_need(fetch, 4, SH_FETCH_SOON);
    assert_order(fetch, 1, NULL, 0);
    sh_fetch_free(fetch);
}

static void what_one_refuses_is_asked_of_others(void **state)
{
    (void)state;
    sh_fetch *fetch = all_later();
    uint32_t block;
    assert_true(sh_fetch_next(&block, fetch, 0));
    sh_fetch_refuse(fetch, 0, 0);
    assert_true(sh_fetch_next(&block, fetch, 0));
    assert_int_equal(block, 1);
    assert_true(sh_fetch_next(&block, fetch, 63));
    assert_int_equal(block, 0);
    assert_false(sh_fetch_stuck(&block, fetch, 1));
    sh_fetch_refuse(fetch, 0, 63);
    assert_true(sh_fetch_stuck(&block, fetch, (uint64_t)1 << 63 | 1));
    assert_int_equal(block, 0);
    assert_false(sh_fetch_stuck(&block, fetch, (uint64_t)1 << 63 | 3));
    assert_true(sh_fetch_stuck(&block, fetch, 0));
    sh_fetch_clear_refusals(fetch);
    assert_true(sh_fetch_next(&block, fetch, 63));
    assert_int_equal(block, 0);
    sh_fetch_refuse(fetch, 0, 63);
    sh_fetch_refuse(fetch, 0, 0);
    assert_true(sh_fetch_stuck(&block, fetch, (uint64_t)1 << 63 | 1));
    sh_fetch_remove_source(fetch, 63);
    assert_false(sh_fetch_stuck(&block, fetch, (uint64_t)1 << 63 | 1));
    sh_fetch_refuse(fetch, 1, 5); /* no effect: asked of source 0 */
    assert_int_equal(sh_fetch_asked(fetch, 0), 1);
    sh_fetch_free(fetch);
}

static void what_a_lost_source_owed_waits_again(void **state)
{
    (void)state;
    sh_fetch *fetch = all_later();
    uint32_t block;
    for (int i = 0; i < 4; i++) /* source 1: 0 and 2; source 2: 1 and 3 */
        assert_true(sh_fetch_next(&block, fetch, 1 + (i & 1)));
    sh_fetch_need(fetch, 2, SH_FETCH_NOW);
    assert_true(sh_fetch_next(&block, fetch, 2));
    assert_int_equal(block, 4);
    sh_fetch_remove_source(fetch, 1);
    assert_int_equal(sh_fetch_asked(fetch, 1), 0);
    assert_order(fetch, 3, (const uint32_t[]){2, 0, 5}, 3);
    sh_fetch_retry(fetch, 3);
    assert_int_equal(sh_fetch_asked(fetch, 2), 2);
    assert_order(fetch, 3, (const uint32_t[]){3}, 1);
    sh_fetch_done(fetch, 3);
    sh_fetch_retry(fetch, 3);
    assert_int_equal(sh_fetch_left(fetch), BLOCKS - 1);
    sh_fetch_free(fetch);
}

/* Each block is requested until it is done, from one source at a time. */
static void nothing_is_forgotten(void **state)
{
    (void)state;
    enum { MANY = 50, SOURCES = 4, EVENTS = 20000 };
    sh_fetch *fetch;
    assert_ok(sh_fetch_new(&fetch, MANY));
    int asked[MANY];
    bool needed[MANY] = {false}, here[MANY] = {false};
    uint32_t left = 0;
    for (uint32_t i = 0; i < MANY; i++)
        asked[i] = -1;
    for (uint32_t event = 0; event < EVENTS; event++) {
        const uint32_t counter[4] = {event}, key[2] = {1, 2};
        uint32_t draw[4], block;
        sh_philox(counter, key, draw);
        const uint32_t source = draw[1] % SOURCES, chosen = draw[2] % MANY;
        switch (draw[0] % 8) {
        case 0:
            left += !needed[chosen] && !here[chosen];
            needed[chosen] = !here[chosen];
            sh_fetch_need(fetch, chosen, (sh_fetch_level)(draw[3] % SH_FETCH_LEVELS));
            break;
        case 1:
            sh_fetch_remove_source(fetch, source);
            for (uint32_t i = 0; i < MANY; i++)
                asked[i] = asked[i] == (int)source ? -1 : asked[i];
            break;
        case 2:
            if (asked[chosen] == (int)source) {
                sh_fetch_refuse(fetch, chosen, source);
                asked[chosen] = -1;
            }
            break;
        case 3:
            if (draw[3] % 16 != 0) /* keeps some blocks missing */
                break;
            sh_fetch_done(fetch, chosen);
            left -= needed[chosen];
            needed[chosen] = false;
            here[chosen] = true;
            asked[chosen] = -1;
            break;
        case 4:
            sh_fetch_retry(fetch, chosen);
            asked[chosen] = -1;
            break;
        default:
            if (sh_fetch_next(&block, fetch, source)) {
                assert_true(needed[block]);
                assert_int_equal(asked[block], -1);
                asked[block] = (int)source;
            }
        }
        assert_int_equal(sh_fetch_left(fetch), left);
        uint32_t owed = 0;
        for (uint32_t i = 0; i < MANY; i++)
            owed += asked[i] == (int)source;
        assert_int_equal(sh_fetch_asked(fetch, source), owed);
    }
    for (uint32_t i = 0; i < SOURCES; i++)
        sh_fetch_remove_source(fetch, i);
    uint32_t block, count = 0;
    while (sh_fetch_next(&block, fetch, 0))
        count++;
    assert_int_equal(count, left);
    sh_fetch_free(fetch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_urgent_comes_first),
        cmocka_unit_test(what_came_is_not_asked_for_again),
        cmocka_unit_test(what_one_refuses_is_asked_of_others),
        cmocka_unit_test(what_a_lost_source_owed_waits_again),
        cmocka_unit_test(nothing_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
