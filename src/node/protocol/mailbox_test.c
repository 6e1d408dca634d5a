/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/mailbox.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/team.h"
#include "base/test.h"

#define LONG_MS 60000

static sh_mailbox *new_mailbox(void)
{
    sh_mailbox *mailbox = NULL;
    assert_ok(sh_mailbox_new(&mailbox));
    return mailbox;
}

static void post_number(sh_mailbox *mailbox, uint32_t number)
{
    sh_mail mail = {.kind = SH_MAIL_WELCOME, .devices = number, .data = malloc(1)};
    assert_non_null(mail.data);
    sh_mailbox_post(mailbox, &mail);
}

static uint32_t take_number(sh_mailbox *mailbox)
{
    sh_mail mail;
    assert_ok(sh_mailbox_wait(mailbox, &mail, NULL, LONG_MS));
    free(mail.data);
    return mail.devices;
}

static void mail_comes_as_it_was_posted(void **state)
{
    (void)state;
    sh_mailbox *mailbox = new_mailbox();
    sh_mail sent = {.kind = SH_MAIL_JOINED, .status = SH_REFUSED, .devices = 3}, got;
    snprintf(sent.text, sizeof sent.text, "a text");
    sh_mailbox_post(mailbox, &sent);
    memset(&sent, 0xff, sizeof sent);
    assert_ok(sh_mailbox_wait(mailbox, &got, NULL, LONG_MS));
    assert_int_equal(got.kind, SH_MAIL_JOINED);
    assert_int_equal(got.status, SH_REFUSED);
    assert_int_equal(got.devices, 3);
    assert_null(got.data);
    assert_string_equal(got.text, "a text");

    char text[2 * SH_MESSAGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sh_mailbox_post_text(mailbox, SH_MAIL_END, SH_PEER_LOST, text);
    assert_ok(sh_mailbox_wait(mailbox, &got, NULL, LONG_MS));
    assert_int_equal(got.kind, SH_MAIL_END);
    assert_int_equal(got.status, SH_PEER_LOST);
    assert_int_equal(strlen(got.text), SH_MESSAGE_BYTES - 1);
    sh_mailbox_free(mailbox);
}

static void mail_comes_in_order(void **state)
{
    (void)state;
    sh_mailbox *mailbox = new_mailbox();
    uint32_t posted = 0, taken = 0;
    for (uint32_t length = 1; length < 20; length++) {
        for (uint32_t i = 0; i < length; i++)
            post_number(mailbox, posted++);
        for (uint32_t i = 0; i < length; i++)
            assert_int_equal(take_number(mailbox), taken++);
    }
    post_number(mailbox, 0);
    sh_mailbox_free(mailbox);
    sh_mailbox_free(NULL);
}

#define POSTERS 4
#define EACH 200

static void post_many(void *context, uint32_t worker)
{
    sh_mailbox *mailbox = context;
    uint32_t next[POSTERS] = {0};
    if (worker < POSTERS) {
        for (uint32_t i = 0; i < EACH; i++)
            post_number(mailbox, worker * EACH + i);
        return;
    }
    for (int i = 0; i < POSTERS * EACH; i++) { /* meanwhile, the last worker reads */
        const uint32_t number = take_number(mailbox), from = number / EACH;
        assert_int_equal(number % EACH, next[from]);
        next[from]++;
    }
}

static void mail_of_many_threads_keeps_each_ones_order(void **state)
{
    (void)state;
    sh_team *team = NULL;
    sh_mailbox *mailbox = new_mailbox();
    assert_ok(sh_team_start(&team, POSTERS + 1));
    sh_team_run(team, post_many, mailbox);
    sh_team_stop(team);
    sh_mailbox_free(mailbox);
}

/* Delivers queued mail, then reports the loss, then continues. */
static void too_much_mail_is_told(void **state)
{
    (void)state;
    sh_mail mail;
    sh_mailbox *mailbox = new_mailbox();
    for (uint32_t i = 0; i <= SH_MAILBOX_MAX; i++)
        post_number(mailbox, i);
    for (uint32_t i = 0; i < SH_MAILBOX_MAX; i++)
        assert_int_equal(take_number(mailbox), i);
    assert_fails(sh_mailbox_wait(mailbox, &mail, NULL, LONG_MS), SH_NO_MEMORY,
                 "mail was lost: no memory, or too much at once");
    post_number(mailbox, 7);
    assert_int_equal(take_number(mailbox), 7);
    sh_mailbox_free(mailbox);
}

static void waiting_has_an_end(void **state)
{
    (void)state;
    sh_mail mail = {.devices = 77};
    sh_mailbox *mailbox = new_mailbox();
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    assert_fails(sh_mailbox_wait(mailbox, &mail, NULL, 3), SH_LIMIT, "nothing came within 3 ms");
    assert_in_range(sh_clock_now_ns(sh_clock_system()) - start_ns, 3000000, 1000000000);
    assert_int_equal(mail.devices, 77);
    post_number(mailbox, 5);
    assert_int_equal(take_number(mailbox), 5);
    sh_mailbox_free(mailbox);
}

static void a_stop_comes_behind_the_mail(void **state)
{
    (void)state;
    sh_mail mail;
    sh_stop *stop = NULL;
    sh_mailbox *mailbox = new_mailbox();
    assert_ok(sh_stop_new(&stop));
    post_number(mailbox, 1);
    sh_stop_request(stop);
    assert_ok(sh_mailbox_wait(mailbox, &mail, stop, 0));
    free(mail.data);
    for (int i = 0; i < 2; i++)
        assert_fails(sh_mailbox_wait(mailbox, &mail, stop, 0), SH_STOPPED, "stopped on request");
    sh_mailbox_free(mailbox);
    sh_stop_free(stop);
}

typedef struct waiter {
    sh_mailbox *mailbox;
    sh_stop *stop;
} waiter;

static void *wake_by_stop(void *argument)
{
    sh_stop_request(((const waiter *)argument)->stop);
    return NULL;
}

static void *wake_by_mail(void *argument)
{
    post_number(((const waiter *)argument)->mailbox, 9);
    return NULL;
}

/* Posts from another thread during a wait without limit. */
static void mail_and_stop_wake_who_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        sh_mail mail;
        pthread_t thread;
        waiter w = {.mailbox = new_mailbox()};
        assert_ok(sh_stop_new(&w.stop));
        assert_int_equal(pthread_create(&thread, NULL, wake_by_mail, &w), 0);
        assert_ok(sh_mailbox_wait(w.mailbox, &mail, w.stop, 0));
        assert_int_equal(mail.devices, 9);
        free(mail.data);
        pthread_join(thread, NULL);
        assert_int_equal(pthread_create(&thread, NULL, wake_by_stop, &w), 0);
        assert_fails(sh_mailbox_wait(w.mailbox, &mail, w.stop, 0), SH_STOPPED, "on request");
        pthread_join(thread, NULL);
        sh_mailbox_free(w.mailbox);
        sh_stop_free(w.stop);
    }
}

/* The linker prefers these to those of the C library (the second in fortified builds). They count
 * wiped bytes. */
static size_t wiped;
void __explicit_bzero_chk(void *block, size_t bytes, size_t room);

void explicit_bzero(void *block, size_t bytes)
{
    memset(block, 0, bytes);
    wiped += bytes;
}

void __explicit_bzero_chk(void *block, size_t bytes, size_t room)
{
    assert_true(bytes <= room);
    memset(block, 0, bytes);
    wiped += bytes;
}

/* A welcome has keys. */
static void what_is_not_read_is_wiped(void **state)
{
    (void)state;
    sh_mail mail = {.kind = SH_MAIL_WELCOME, .data_bytes = 100};
    sh_mailbox *mailbox = new_mailbox();
    mail.data = calloc(1, 100);
    sh_mailbox_post(mailbox, &mail);
    sh_mailbox_free(mailbox);
    assert_int_equal(wiped, 100);

    mailbox = new_mailbox();
    for (int i = 0; i < SH_MAILBOX_MAX; i++)
        sh_mailbox_post_text(mailbox, SH_MAIL_NOTE, SH_OK, "");
    mail.data = calloc(1, 100);
    sh_mailbox_post(mailbox, &mail); /* there is no room */
    assert_int_equal(wiped, 200);
    sh_mailbox_free(mailbox);

    mail.data = calloc(1, 100);
    sh_mail_drop(&mail);
    assert_null(mail.data);
    sh_mail_drop(&mail);
    assert_int_equal(wiped, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mail_comes_as_it_was_posted),
        cmocka_unit_test(mail_comes_in_order),
        cmocka_unit_test(mail_of_many_threads_keeps_each_ones_order),
        cmocka_unit_test(too_much_mail_is_told),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(a_stop_comes_behind_the_mail),
        cmocka_unit_test(mail_and_stop_wake_who_waits),
        cmocka_unit_test(what_is_not_read_is_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
