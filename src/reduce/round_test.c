/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/round.h"

#include "base/test.h"

static void *wait_in(void *argument)
{
    sh_round *round = argument;
    pthread_mutex_lock(&round->lock);
    sh_round_await(round);
    pthread_mutex_unlock(&round->lock);
    return NULL;
}

/* A thread that was woken waits for nobody any more, although it has not gone on yet. */
static void who_was_woken_does_not_wait(void **state)
{
    (void)state;
    static sh_round round;
    pthread_t thread;
    sh_round_init(&round, &(sh_engine){0}, NULL, &(sh_round_events){0});
    assert_false(sh_round_waits(&round));
    assert_int_equal(pthread_create(&thread, NULL, wait_in, &round), 0);
    while (!sh_round_waits(&round))
        ;
    pthread_mutex_lock(&round.lock); /* it cannot go on before this is free */
    sh_round_wake(&round);
    assert_false(round.waiting);
    pthread_mutex_unlock(&round.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(sh_round_waits(&round));
    sh_round_release(&round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_woken_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
