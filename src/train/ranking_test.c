/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranking.h"

#include <math.h>

#include "base/test.h"

enum { MOST = 8 };

/* `holds` has the label of each score, '0' or '1'. */
static size_t make(sh_ranked items[MOST], const float *scores, const char *holds)
{
    const size_t count = strlen(holds);
    for (size_t i = 0; i < count; i++)
        items[i] = sh_ranked_of(scores[i], holds[i] == '1');
    sh_ranking_sort(items, count);
    return count;
}

static void keys_have_the_order_of_scores(void **state)
{
    (void)state;
    const float rising[] = {-INFINITY, -3e38f, -1, -1e-40f, 0, 1e-40f, 1, 3e38f, INFINITY};
    for (size_t i = 1; i < sizeof rising / sizeof *rising; i++) {
        assert_true(sh_ranked_of(rising[i - 1], false).key < sh_ranked_of(rising[i], false).key);
        assert_true(sh_ranked_score(sh_ranked_of(rising[i], true)) == rising[i]);
    }
    assert_true(sh_ranked_of(-0.0f, false).key == sh_ranked_of(0, false).key);
    assert_true(sh_ranked_of(NAN, false).key < sh_ranked_of(-INFINITY, false).key);
    assert_true(sh_ranked_of(-NAN, false).key == sh_ranked_of(NAN, false).key);
    assert_true(sh_ranked_score(sh_ranked_of(NAN, false)) == -INFINITY);
}

/* Pairs of a positive and a negative sample. */
static void area_counts_pairs(void **state)
{
    (void)state;
    static const struct {
        float scores[MOST];
        const char *holds;
        double auc;
    } cases[] = {
        {{0.1f, 0.4f, 0.35f, 0.8f}, "0011", 0.75}, /* 3 of 4 won */
        {{1, 2, 3, 4}, "0011", 1},
        {{1, 2, 3, 4}, "1100", 0},
        {{5, 5, 5, 5}, "0110", 0.5},
        {{1, 2, 2, 3}, "0101", 0.875},            /* 3 won, 1 equal */
        {{0.0f, -0.0f, NAN, 1}, "0101", 3.5 / 4}, /* NaN loses */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_ranked items[MOST];
        const size_t count = make(items, cases[i].scores, cases[i].holds);
        assert_true(sh_ranking_auc(items, count) == cases[i].auc);
    }
    sh_ranked items[MOST];
    assert_true(isnan(sh_ranking_auc(items, make(items, cases[0].scores, "1111"))));
    assert_true(isnan(sh_ranking_auc(items, make(items, cases[0].scores, "0000"))));
    assert_true(isnan(sh_ranking_auc(items, 0)));
}

static void precision_is_averaged_over_recall(void **state)
{
    (void)state;
    static const struct {
        float scores[MOST];
        const char *holds;
        double precision;
    } cases[] = {
        /* From the highest score: positive (precision 1/1), negative, positive (2/3), negative. */
        {{0.1f, 0.4f, 0.35f, 0.8f}, "0011", (1 + 2.0 / 3) / 2},
        {{1, 2, 3, 4}, "0011", 1},
        /* Both samples with score 2 count together: 1/1, then 2/3. */
        {{1, 2, 2, 3}, "0101", (1 + 2.0 / 3) / 2},
        {{5, 5, 5, 5}, "0100", 0.25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_ranked items[MOST];
        const size_t count = make(items, cases[i].scores, cases[i].holds);
        assert_true(fabs(sh_ranking_average_precision(items, count) - cases[i].precision) < 1e-15);
    }
    sh_ranked items[MOST];
    const size_t count = make(items, cases[0].scores, "0000");
    assert_true(isnan(sh_ranking_average_precision(items, count)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_the_order_of_scores),
        cmocka_unit_test(area_counts_pairs),
        cmocka_unit_test(precision_is_averaged_over_recall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
