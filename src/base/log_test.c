/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/team.h"
#include "base/test.h"

typedef struct kept {
    int lines;
    sh_log_level level;
    char last[2048];
} kept;

static void keep(void *context, sh_log_level level, const char *line)
{
    kept *place = context;
    place->lines++;
    place->level = level;
    snprintf(place->last, sizeof place->last, "%s", line);
}

static void says_when_what_and_how_much_it_matters(void **state)
{
    (void)state;
    kept own = {0};
    sh_log_to(SH_LOG_DEBUG, keep, &own);
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s", "x");
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    int used = 0;
    assert_int_equal(sscanf(own.last, "%*4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ %n", &used), 0);
    assert_int_equal(used, 25);
    assert_string_equal(own.last + used, "WARN net.refused peer=x");
    assert_int_equal(own.level, SH_LOG_WARN);
}

static void every_place_has_a_level_of_its_own(void **state)
{
    (void)state;
    kept own = {0}, first = {0}, second = {0};
    sh_log_tap info = {.lowest = SH_LOG_INFO, .sink = keep, .context = &first};
    sh_log_tap error = {.lowest = SH_LOG_ERROR, .sink = keep, .context = &second};
    sh_log(SH_LOG_ERROR, "nobody.listens", " ");
    sh_log_tap_add(&info);
    sh_log_tap_add(&error);
    sh_log_to(SH_LOG_WARN, keep, &own);
    const struct {
        sh_log_level level;
        int own, first, second;
    } cases[] = {{SH_LOG_DEBUG, 0, 0, 0},
                 {SH_LOG_INFO, 0, 1, 0},
                 {SH_LOG_WARN, 1, 2, 0},
                 {SH_LOG_ERROR, 2, 3, 1},
                 {SH_LOG_OFF, 2, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_log(cases[i].level, "some.event", "case=%d", (int)i);
        assert_int_equal(own.lines, cases[i].own);
        assert_int_equal(first.lines, cases[i].first);
        assert_int_equal(second.lines, cases[i].second);
    }
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    sh_log(SH_LOG_ERROR, "some.event", " ");
    assert_int_equal(own.lines, 2);
    assert_int_equal(first.lines, 4);
    assert_int_equal(second.lines, 2);
    sh_log_tap_remove(&info);
    sh_log(SH_LOG_ERROR, "some.event", " ");
    assert_int_equal(first.lines, 4);
    assert_int_equal(second.lines, 3);
    sh_log_tap_remove(&error);
    sh_log_tap_remove(&error);
    sh_log(SH_LOG_ERROR, "some.event", " ");
    assert_int_equal(second.lines, 3);
}

static void one_event_is_one_line(void **state)
{
    (void)state;
    kept own = {0};
    char name[3000];
    sh_log_to(SH_LOG_DEBUG, keep, &own);
    sh_log(SH_LOG_WARN, "device.ready", "name=\"%s\"", "a\nb\r\033[2J\x7f\tz \xc3\xbc");
    assert_non_null(strstr(own.last, " device.ready name=\"a?b??[2J??z \xc3\xbc\""));
    sh_log(SH_LOG_WARN, "device.ready", "name=%s",
           "\xe2\x80\xae"
           "b\xc2\x9b"
           "31m\xff");
    assert_non_null(strstr(own.last, " device.ready name=\"?b?31m?\""));
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    sh_log(SH_LOG_WARN, "device.ready", "name=%s", name);
    assert_int_equal(strlen(own.last), 1023);
    sh_log_to(SH_LOG_OFF, NULL, NULL);
}

static void a_value_is_never_another_field(void **state)
{
    (void)state;
    static const struct {
        const char *value, *bare, *quoted; /* as values of bare=%s and quoted="%s" */
    } cases[] = {
        {"pi-1", "pi-1", "\"pi-1\""},
        {"a=b", "a=b", "\"a=b\""},
        {"", "\"\"", "\"\""},
        {"pi device=0 loss=0", "\"pi device=0 loss=0\"", "\"pi device=0 loss=0\""},
        {"pi\" device=\"0", "\"pi' device='0\"", "\"pi' device='0\""},
        {"\"", "\"'\"", "\"'\""},
        {"a\tb=c", "\"a?b=c\"", "\"a?b=c\""},
        {"a\xc2\xa0"
         "b=c",
         "\"a\xc2\xa0"
         "b=c\"",
         "\"a\xc2\xa0"
         "b=c\""},
    };
    kept own = {0};
    sh_log_to(SH_LOG_DEBUG, keep, &own);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        sh_log(SH_LOG_WARN, "x", "bare=%s quoted=\"%s\" end=%u", cases[i].value, cases[i].value,
               7u);
        snprintf(expected, sizeof expected, " WARN x bare=%s quoted=%s end=7", cases[i].bare,
                 cases[i].quoted);
        assert_non_null(strstr(own.last, expected));
    }
    sh_log_to(SH_LOG_OFF, NULL, NULL);
}

static void prints_numbers_as_printf_does(void **state)
{
    (void)state;
    kept own = {0};
    sh_log_to(SH_LOG_DEBUG, keep, &own);
    sh_log(SH_LOG_WARN, "x", "a=%d b=%u c=%llu d=%lu e=%zu f=%.3f g=%g h=%.4s i=%lld j=%x k=%c 9%%",
           -7, 4000000000u, 18446744073709551615ull, 5ul, (size_t)6, 1.0 / 3, 2.5, "12345678", -8ll,
           255u, 'y');
    assert_non_null(strstr(own.last, " x a=-7 b=4000000000 c=18446744073709551615 d=5 e=6 f=0.333 "
                                     "g=2.5 h=1234 i=-8 j=ff k=y 9%"));
    sh_log_to(SH_LOG_OFF, NULL, NULL);
}

static atomic_bool going;

static void *log_on(void *unused)
{
    (void)unused;
    while (atomic_load(&going))
        sh_log(SH_LOG_WARN, "net.refused", "peer=%s", "x");
    return NULL;
}

/* It may be on the stack of a function that returns. */
static void a_removed_tap_is_not_called(void **state)
{
    (void)state;
    pthread_t other;
    atomic_store(&going, true);
    assert_int_equal(pthread_create(&other, NULL, log_on, NULL), 0);
    for (int round = 0; round < 200; round++) {
        kept mine = {0};
        sh_log_tap tap = {.lowest = SH_LOG_WARN, .sink = keep, .context = &mine};
        sh_log_tap_add(&tap);
        sh_log(SH_LOG_WARN, "own.line", "round=%d", round);
        sh_log_tap_remove(&tap);
        assert_true(mine.lines >= 1);
        mine.lines = -1;
        assert_int_equal(mine.lines, -1);
    }
    atomic_store(&going, false);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    kept own = {0};
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sh_log_to(SH_LOG_DEBUG, keep, &own);
    sh_log(SH_LOG_INFO, "some.event", "text=%s", text);
    assert_int_equal(strlen(own.last), 1023);
    sh_log(SH_LOG_INFO, text, "never=seen");
    assert_int_equal(strlen(own.last), 1023);
    sh_log_to(SH_LOG_OFF, NULL, NULL);
}

static void tell(void *context, uint32_t worker)
{
    (void)context;
    for (int i = 0; i < 50; i++)
        sh_log(SH_LOG_INFO, "some.event", "worker=%u", worker);
}

/* The sink's counter is not atomic. */
static void lines_of_many_threads_come_one_by_one(void **state)
{
    (void)state;
    kept own = {0};
    sh_team *team = NULL;
    sh_log_to(SH_LOG_INFO, keep, &own);
    assert_ok(sh_team_start(&team, 4));
    sh_team_run(team, tell, NULL);
    sh_team_stop(team);
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    assert_int_equal(own.lines, 4 * 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_when_what_and_how_much_it_matters),
        cmocka_unit_test(every_place_has_a_level_of_its_own),
        cmocka_unit_test(one_event_is_one_line),
        cmocka_unit_test(a_value_is_never_another_field),
        cmocka_unit_test(prints_numbers_as_printf_does),
        cmocka_unit_test(a_removed_tap_is_not_called),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(lines_of_many_threads_come_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
