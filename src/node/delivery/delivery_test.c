/* SPDX-License-Identifier: Apache-2.0 */
/* A device with the data and one without, on one loop. */
#include "node/delivery/delivery.h"

#include "base/log.h"
#include "data/delivery_fixture.h"
#include "net/listener.h"

#define LONG_MS 60000

typedef struct stage {
    fixture files;
    sh_dataset *data;
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_listener *door;
    sh_supply *supply;
    sh_sources sources;
    sh_status status;
    sh_channel *raw;
    sh_frame asked, answer;
    uint8_t body[64];
} stage;

static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    const stage *s = context;
    if (!sh_supply_accept(s->supply, channel, identity))
        sh_channel_close(channel);
}

static void do_open(void *context)
{
    stage *s = context;
    char identity[SH_LINK_IDENTITY];
    sh_source *source = &s->sources.items[0];
    s->sources.count = 1;
    *source = (sh_source){0, {"127.0.0.1", 0, {42}}};
    sh_data_identity(identity, 0);
    s->status = sh_listener_open(
        &s->door, s->loop,
        &(sh_listener_options){.host = "127.0.0.1", .on_accept = on_accept, .context = s});
    if (s->status == SH_OK)
        s->status = sh_listener_allow(s->door, identity, source->route.key);
    source->route.port = sh_listener_port(s->door);
}

static void do_close(void *context)
{
    stage *s = context;
    sh_channel_close(s->raw);
    sh_supply_close(s->supply);
    sh_listener_close(s->door);
}

static void stage_new(stage *s, bool vouches)
{
    memset(s, 0, sizeof *s);
    s->data = set_open(&s->files, SET_MNIST);
    assert_ok(sh_loop_start(&s->loop));
    assert_ok(sh_mailbox_new(&s->mailbox));
    assert_ok(sh_supply_new(
        &s->supply, &(sh_supply_options){.loop = s->loop, .dataset = s->data, .vouches = vouches}));
    sh_loop_call(s->loop, do_open, s);
    assert_ok(s->status);
}

static void stage_free(stage *s)
{
    sh_loop_call(s->loop, do_close, s);
    sh_supply_free(s->supply);
    sh_loop_stop(s->loop);
    sh_mailbox_free(s->mailbox);
    sh_dataset_close(s->data);
    fixture_remove(&s->files);
}

static sh_mail expect(stage *s, sh_mail_kind kind)
{
    sh_mail mail;
    do
        assert_ok(sh_mailbox_wait(s->mailbox, &mail, NULL, LONG_MS));
    while (mail.kind != kind);
    return mail;
}

static sh_delivery *start(stage *s, sh_status expected)
{
    sh_delivery *delivery;
    assert_ok(sh_delivery_start(
        &delivery,
        &(sh_delivery_options){.loop = s->loop, .mailbox = s->mailbox, .sources = &s->sources}));
    const sh_mail mail = expect(s, SH_MAIL_DATA);
    assert_int_equal(mail.status, expected);
    return delivery;
}

static sh_delivery *begin(stage *s, sh_dataset **mirror)
{
    sh_delivery *delivery = start(s, SH_OK);
    assert_ok(sh_delivery_open(mirror, delivery, sh_dataset_about(s->data)->fingerprint));
    assert_ok(sh_delivery_begin(delivery));
    return delivery;
}

static void end(sh_delivery *delivery, sh_dataset *mirror)
{
    sh_delivery_stop(delivery);
    sh_dataset_close(mirror);
    sh_delivery_free(delivery);
}

static void assert_same(const stage *s, const sh_dataset *mirror, uint32_t stride)
{
    uint8_t here[SET_IMAGE_MOST], there[SET_IMAGE_MOST];
    const sh_dataset_info *info = sh_dataset_about(s->data);
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < info->count[split]; i += stride) {
            int32_t a = -1, b = -2;
            assert_ok(sh_dataset_read(s->data, (sh_split)split, i, here, &a));
            assert_ok(sh_dataset_read(mirror, (sh_split)split, i, there, &b));
            assert_int_equal(a, b);
            assert_memory_equal(here, there, info->channels * info->height * info->width);
        }
}

static void samples_come_when_they_are_read(void **state)
{
    (void)state;
    stage s;
    sh_dataset *mirror;
    stage_new(&s, true);
    sh_delivery *delivery = begin(&s, &mirror);
    assert_same(&s, mirror, 900);
    assert_false(sh_delivery_is_whole(delivery));
    sh_delivery_complete(delivery);
    while (strstr(expect(&s, SH_MAIL_NOTE).text, "is complete: ") == NULL)
        ;
    assert_true(sh_delivery_is_whole(delivery));
    assert_same(&s, mirror, 1);
    end(delivery, mirror);
    delivery = begin(&s, &mirror);
    assert_true(sh_delivery_is_whole(delivery));
    assert_same(&s, mirror, 7);
    assert_non_null(strstr(expect(&s, SH_MAIL_NOTE).text, "are in the cache"));
    end(delivery, mirror);
    sh_delivery_stop(NULL);
    sh_delivery_free(NULL);
    stage_free(&s);
}

static void other_data_are_refused(void **state)
{
    (void)state;
    stage s;
    sh_dataset *mirror = NULL;
    stage_new(&s, true);
    sh_delivery *delivery = start(&s, SH_OK);
    assert_fails(sh_delivery_open(&mirror, delivery, "another"), SH_MISMATCH,
                 "device 0 offers data other than the job's");
    assert_null(mirror);
    end(delivery, NULL);
    stage_free(&s);
}

static void who_does_not_vouch_gives_no_manifest(void **state)
{
    (void)state;
    stage s;
    stage_new(&s, false);
    end(start(&s, SH_REFUSED), NULL);
    stage_free(&s);
}

static void a_reader_does_not_wait_for_a_delivery_that_stopped(void **state)
{
    (void)state;
    stage s;
    sh_dataset *mirror;
    uint8_t bytes[SET_IMAGE_MOST];
    int32_t label;
    stage_new(&s, true);
    sh_delivery *delivery = begin(&s, &mirror);
    sh_delivery_stop(delivery);
    assert_fails(sh_dataset_read(mirror, SH_SPLIT_TRAIN, 3, bytes, &label), SH_STOPPED,
                 "the data are no longer fetched");
    sh_dataset_close(mirror);
    sh_delivery_free(delivery);
    stage_free(&s);
}

static void count_failures(void *context, sh_log_level level, const char *line)
{
    *(int *)context += level >= SH_LOG_WARN && strstr(line, "data.failed") != NULL;
}

static void the_end_of_a_job_is_no_failure(void **state)
{
    (void)state;
    static const struct {
        sh_status status;
        int failures;
    } cases[] = {{SH_STOPPED, 0}, {SH_PEER_LOST, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        sh_dataset *mirror;
        uint8_t bytes[SET_IMAGE_MOST];
        int32_t label;
        int failures = 0;
        sh_log_tap tap = {.lowest = SH_LOG_WARN, .sink = count_failures, .context = &failures};
        stage_new(&s, true);
        sh_delivery *delivery = begin(&s, &mirror);
        sh_log_tap_add(&tap);
        sh_delivery_fail(delivery, cases[i].status, "it is over");
        sh_log_tap_remove(&tap);
        assert_int_equal(failures, cases[i].failures);
        assert_fails(sh_dataset_read(mirror, SH_SPLIT_TRAIN, 3, bytes, &label), cases[i].status,
                     "it is over");
        end(delivery, mirror);
        stage_free(&s);
    }
}

/* ---- the wire -------------------------------------------------------------------------------- */

static void blocks_fit_into_the_fields_of_a_frame(void **state)
{
    (void)state;
    static const sh_block blocks[] = {
        {0, 0, 1},
        {3, 4096, 65535},
        {15, SH_CONTENTS_BYTES_MOST - 4096, 4096},
        {1, 65536, SH_MANIFEST_BLOCK_MOST},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        unsigned char wire[SH_FRAME_BYTES];
        sh_frame head = sh_block_frame(7, &blocks[i]);
        sh_frame_encode(wire, &head);
        assert_ok(sh_frame_decode(&head, wire));
        const sh_block back = sh_block_of_frame(&head);
        assert_int_equal(head.step, 7);
        assert_int_equal(back.file, blocks[i].file);
        assert_int_equal(back.offset, blocks[i].offset);
        assert_int_equal(back.bytes, blocks[i].bytes);
    }
}

static sh_flow raw_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    stage *s = context;
    (void)channel;
    (void)head;
    *sink = (sh_sink){.data = s->body, .bytes = sizeof s->body};
    return SH_FLOW_TAKE;
}

static void raw_done(void *context, sh_channel *channel, const sh_frame *head)
{
    stage *s = context;
    (void)channel;
    s->answer = *head;
    sh_mailbox_post_text(s->mailbox, SH_MAIL_TASK, SH_OK, "");
}

static void raw_open(void *context, sh_channel *channel)
{
    stage *s = context;
    if (sh_channel_send(channel, &s->asked, NULL) != SH_OK)
        sh_mailbox_post_text(s->mailbox, SH_MAIL_END, SH_NETWORK, sh_message());
}

static void raw_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    stage *s = context;
    (void)channel;
    (void)reason;
    s->raw = NULL;
    s->answer.step = UINT32_MAX;
    sh_mailbox_post_text(s->mailbox, SH_MAIL_TASK, why, "");
}

static const sh_channel_events raw_events = {
    .on_open = raw_open, .on_frame = raw_frame, .on_done = raw_done, .on_close = raw_close};

static void do_connect(void *context)
{
    stage *s = context;
    const sh_route *route = &s->sources.items[0].route;
    s->status = sh_channel_connect(
        &s->raw, s->loop,
        &(sh_channel_target){
            .host = route->host, .port = route->port, .identity = "data/0", .key = route->key},
        &raw_events, s);
}

/* Step UINT32_MAX: the supply closed the channel. */
static sh_frame ask(stage *s, const sh_frame *head)
{
    s->asked = *head;
    sh_loop_call(s->loop, do_connect, s);
    assert_ok(s->status);
    (void)expect(s, SH_MAIL_TASK);
    return s->answer;
}

static void wild_requests_get_no_bytes(void **state)
{
    (void)state;
    static const struct {
        sh_block block;
        uint32_t bytes;
    } cases[] = {
        {{2, 0, 64}, 64},         {{2, 0, 0}, 0},          {{77, 0, 64}, 0},
        {{2, 1ull << 40, 64}, 0}, {{2, 0, UINT32_MAX}, 0}, {{1, 0, 65536}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        stage_new(&s, true);
        const sh_frame asked = sh_block_frame(5, &cases[i].block), answer = ask(&s, &asked);
        assert_int_equal(answer.kind, SH_FRAME_BLOCK);
        assert_int_equal(answer.step, 5);
        assert_int_equal(answer.bytes, cases[i].bytes);
        stage_free(&s);
    }
    stage s;
    stage_new(&s, true);
    assert_int_equal(ask(&s, &(sh_frame){.kind = SH_FRAME_SEGMENT}).step, UINT32_MAX);
    stage_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_when_they_are_read),
        cmocka_unit_test(other_data_are_refused),
        cmocka_unit_test(who_does_not_vouch_gives_no_manifest),
        cmocka_unit_test(a_reader_does_not_wait_for_a_delivery_that_stopped),
        cmocka_unit_test(the_end_of_a_job_is_no_failure),
        cmocka_unit_test(blocks_fit_into_the_fields_of_a_frame),
        cmocka_unit_test(wild_requests_get_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
