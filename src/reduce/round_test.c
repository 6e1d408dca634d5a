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
    pthread_mutex_lock(&round.lock); /* it cannot continue before this is unlocked */
    sh_round_wake(&round);
    assert_false(round.waiting);
    pthread_mutex_unlock(&round.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(sh_round_waits(&round));
    sh_round_release(&round);
}

static void *begin_and_wait(void *argument)
{
    sh_round *round = argument;
    round->begun = 1;
    return sh_round_wait(&round->engine) == SH_PEER_LOST ? round : NULL;
}

/* Until it continues to wait, a called thread does not count as waiting. */
static void who_is_called_goes_on_waiting(void **state)
{
    (void)state;
    static sh_round round;
    pthread_t thread;
    void *ended;
    sh_round_init(&round, &(sh_engine){0}, NULL, &(sh_round_events){0});
    sh_round_call(&round);
    assert_false(sh_round_waits(&round));
    assert_int_equal(pthread_create(&thread, NULL, begin_and_wait, &round), 0);
    for (int i = 0; i < 3; i++) {
        while (!sh_round_waits(&round))
            ;
        sh_round_call(&round);
    }
    while (!sh_round_waits(&round))
        ;
    sh_round_fail(&round, SH_PEER_LOST, "gone");
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_ptr_equal(ended, &round);
    sh_round_release(&round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_woken_does_not_wait),
        cmocka_unit_test(who_is_called_goes_on_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
