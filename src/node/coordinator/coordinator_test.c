/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted clients with the token connect to a real coordinator on the loopback. */
#include "node/coordinator/coordinator.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/test.h"
#include "net/message.h"
#include "node/coordinator/pending_clients.h"
#include "shoal/about.h"
#include "shoal/device_info.h"

#define SILENT 512 /* more than a coordinator admits */

static uint64_t hands_ns;
static uint64_t read_hands(void *context)
{
    (void)context;
    return __atomic_load_n(&hands_ns, __ATOMIC_SEQ_CST);
}

static struct scene {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_session *session;
    sh_coordinator *coordinator;
    unsigned char key[SH_KEY_BYTES];
    sh_channel *silent[SILENT], *talker;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    uint32_t opened, closed;
    uint32_t ended;
    bool welcomed, talker_closed;
} scene;

static void count(uint32_t *counter)
{
    pthread_mutex_lock(&scene.lock);
    ++*counter;
    pthread_cond_broadcast(&scene.changed);
    pthread_mutex_unlock(&scene.lock);
}

static void silent_open(void *context, sh_channel *channel)
{
    (void)context;
    (void)channel;
    count(&scene.opened);
}

static void silent_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_channel **place = context;
    (void)channel;
    (void)why;
    (void)reason;
    *place = NULL;
    count(&scene.closed);
}

static void silent_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    Shoal__Message *message;
    (void)context;
    (void)channel;
    assert_ok(sh_message_unpack(&message, body, bytes));
    if (message->body_case == SHOAL__MESSAGE__BODY_END &&
        strcmp(message->end->reason, "that is all") == 0)
        count(&scene.ended);
    sh_message_free(message);
}

static const sh_channel_events silent_events = {
    .on_open = silent_open, .on_control = silent_control, .on_close = silent_close};

static void talker_open(void *context, sh_channel *channel)
{
    (void)context;
    Shoal__Hello hello = SHOAL__HELLO__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
    hello.version = (char *)(uintptr_t)sh_version();
    hello.name = (char *)(uintptr_t) "talker";
    uint8_t origin[SH_MESSAGE_ORIGIN_BYTES] = {1};
    hello.origin = (ProtobufCBinaryData){sizeof origin, origin};
    hello.link_port = 1;
    assert_ok(sh_message_send(channel, &message));
}

static void talker_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    Shoal__Message *message;
    (void)context;
    (void)channel;
    assert_ok(sh_message_unpack(&message, body, bytes));
    const bool welcome = message->body_case == SHOAL__MESSAGE__BODY_WELCOME;
    sh_message_free(message);
    pthread_mutex_lock(&scene.lock);
    scene.welcomed = scene.welcomed || welcome;
    pthread_cond_broadcast(&scene.changed);
    pthread_mutex_unlock(&scene.lock);
}

static void talker_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)context;
    (void)channel;
    (void)why;
    (void)reason;
    pthread_mutex_lock(&scene.lock);
    scene.talker = NULL;
    scene.talker_closed = true;
    pthread_cond_broadcast(&scene.changed);
    pthread_mutex_unlock(&scene.lock);
}

static const sh_channel_events talker_events = {
    .on_open = talker_open, .on_control = talker_control, .on_close = talker_close};

static void connect_to(sh_channel **channel, const sh_channel_events *events, void *context)
{
    const sh_token *token = &sh_coordinator_invitation(scene.coordinator)->token;
    const sh_channel_target target = {.host = "127.0.0.1",
                                      .port = token->addresses[0].port,
                                      .identity = SH_TOKEN_IDENTITY,
                                      .key = scene.key,
                                      .patience_ms = 60000};
    assert_ok(sh_channel_connect(channel, scene.loop, &target, events, context));
}

static void connect_silent(void *context)
{
    sh_channel **place = context;
    connect_to(place, &silent_events, place);
}

static void connect_talker(void *context)
{
    (void)context;
    connect_to(&scene.talker, &talker_events, NULL);
}

static void close_all(void *context)
{
    (void)context;
    for (uint32_t i = 0; i < SILENT; i++)
        sh_channel_close(scene.silent[i]);
    sh_channel_close(scene.talker);
}

static int open_scene(void **state)
{
    (void)state;
    struct rlimit files;
    sh_job job;
    static const sh_clock clock = {.now_ns = read_hands};
    memset(&scene, 0, sizeof scene);
    hands_ns = 1000000000;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    pthread_mutex_init(&scene.lock, NULL);
    pthread_cond_init(&scene.changed, NULL);
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:h8");
    snprintf(job.data, sizeof job.data, "digits:30/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&scene.session, &job, NULL));
    assert_ok(sh_loop_start(&scene.loop));
    assert_ok(sh_mailbox_new(&scene.mailbox));
    const sh_coordinator_options options = {.loop = scene.loop,
                                            .mailbox = scene.mailbox,
                                            .session = scene.session,
                                            .name = "zero",
                                            .first_grain = "",
                                            .min_devices = 2,
                                            .clock = &clock};
    static sh_coordinator_options kept; /* borrowed */
    kept = options;
    assert_ok(sh_coordinator_open(&scene.coordinator, &kept));
    assert_ok(sh_token_key(scene.key, &sh_coordinator_invitation(scene.coordinator)->token));
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    sh_loop_call(scene.loop, close_all, NULL);
    sh_coordinator_close(scene.coordinator);
    sh_loop_stop(scene.loop);
    sh_mailbox_free(scene.mailbox);
    sh_session_close(scene.session);
    pthread_mutex_destroy(&scene.lock);
    pthread_cond_destroy(&scene.changed);
    return 0;
}

static void wait_for(const uint32_t *counter, uint32_t wanted)
{
    pthread_mutex_lock(&scene.lock);
    while (*counter < wanted)
        pthread_cond_wait(&scene.changed, &scene.lock);
    pthread_mutex_unlock(&scene.lock);
}

static void wait_for_talker(void)
{
    sh_loop_call(scene.loop, connect_talker, NULL);
    pthread_mutex_lock(&scene.lock);
    while (!scene.welcomed && !scene.talker_closed)
        pthread_cond_wait(&scene.changed, &scene.lock);
    assert_true(scene.welcomed);
    pthread_mutex_unlock(&scene.lock);
}

static void silent_connections_keep_no_device_out(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SILENT; i++) {
        sh_loop_call(scene.loop, connect_silent, &scene.silent[i]);
        wait_for(&scene.opened, i + 1);
    }
    wait_for_talker();
    wait_for(&scene.closed, SILENT - SH_PENDING_CLIENTS_HOST_MAX);
    for (uint32_t i = 0; i < SILENT - SH_PENDING_CLIENTS_HOST_MAX; i++)
        assert_null(scene.silent[i]);

    __atomic_add_fetch(&hands_ns, SH_PENDING_CLIENTS_PATIENCE_MS * UINT64_C(1000000),
                       __ATOMIC_SEQ_CST);
    wait_for(&scene.closed, SILENT);
}

/* Clients that wait before their hello, and clients that connect only afterwards. */
static void all_that_are_connected_hear_of_the_end(void **state)
{
    (void)state;
    sh_loop_call(scene.loop, connect_silent, &scene.silent[0]);
    wait_for(&scene.opened, 1);
    wait_for_talker(); /* so the previous one has arrived */
    sh_coordinator_fail(scene.coordinator, "that is all");
    sh_loop_call(scene.loop, connect_silent, &scene.silent[1]);
    wait_for(&scene.ended, 2);
}

/* A client with the token asks; the device that has said hello prepares. */
static void the_job_lists_its_devices(void **state)
{
    (void)state;
    const sh_invitation *invitation = sh_coordinator_invitation(scene.coordinator);
    sh_device_list list;
    wait_for_talker();
    assert_ok(sh_devices_of_job(&list, invitation->text));
    assert_string_equal(list.model, "mlp:h8");
    assert_string_equal(list.data, "digits:30/10");
    assert_int_equal(list.count, 2);
    assert_string_equal(list.devices[0].name, "zero");
    assert_string_equal(list.devices[1].name, "talker");
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.devices[i].state, SH_DEVICE_PREPARES);
        assert_int_equal(list.devices[i].grains, 0);
        assert_true(isnan(list.devices[i].samples_per_second));
    }
    sh_device_list_release(&list);

    sh_token stranger = invitation->token;
    char text[SH_TOKEN_TEXT];
    stranger.secret[0] ^= 1;
    assert_ok(sh_token_print(text, &stranger));
    assert_fails(sh_devices_of_job(&list, text), SH_REFUSED, "the job did not accept the token");
    stranger = invitation->token;
    stranger.leader[0] ^= 1;
    assert_ok(sh_token_print(text, &stranger));
    assert_fails(sh_devices_of_job(&list, text), SH_REFUSED,
                 "it did not prove that it may coordinate");
    sh_token_wipe(&stranger);
    sh_coordinator_fail(scene.coordinator, "that is all");
    assert_fails(sh_devices_of_job(&list, invitation->text), SH_NOT_FOUND, "the job has ended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(silent_connections_keep_no_device_out, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(all_that_are_connected_hear_of_the_end, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(the_job_lists_its_devices, open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
