/* SPDX-License-Identifier: Apache-2.0 */
/* A device without the network and two that may have it, on one loop. */
#include "node/delivery/network_call.h"

#include "net/listener.h"
#include "node/delivery/supply.h"
#include "onnx/onnx_fixture.h"

#define LONG_MS 60000
#define GIVERS 2

typedef struct stage {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_listener *door;
    sh_supply *supplies[GIVERS];
    sh_sources sources;
    sh_status status;
    sh_network *right, *wrong;
    sh_network large;
} stage;

typedef enum gift { RIGHT, WRONG, LARGE, NOTHING, STRANGER, UNREACHED } gift;

static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    const stage *s = context;
    if (!sh_supply_accept(s->supplies[0], channel, identity) &&
        !sh_supply_accept(s->supplies[1], channel, identity))
        sh_channel_close(channel);
}

static void do_open(void *context)
{
    stage *s = context;
    s->status = sh_listener_open(
        &s->door, s->loop,
        &(sh_listener_options){.host = "127.0.0.1", .on_accept = on_accept, .context = s});
    for (uint32_t i = 0; i < s->sources.count && s->status == SH_OK; i++) {
        char identity[SH_LINK_IDENTITY];
        sh_source *source = &s->sources.items[i];
        sh_data_identity(identity, source->device);
        source->route.port = sh_listener_port(s->door);
        s->status = sh_listener_allow(s->door, identity, source->route.key);
    }
}

static void do_close(void *context)
{
    stage *s = context;
    for (int i = 0; i < GIVERS; i++)
        sh_supply_close(s->supplies[i]);
    sh_listener_close(s->door);
}

static sh_network *network_of(const char *name)
{
    sh_network *network;
    sh_onnx *model;
    assert_ok(sh_onnx_open(&model, fixture_path(name)));
    assert_ok(sh_network_of_model(&network, model, sh_onnx_path(model)));
    sh_onnx_close(model);
    return network;
}

static void stage_new(stage *s, const gift gifts[GIVERS])
{
    *s = (stage){.right = network_of("mlp.onnx"), .wrong = network_of("cnn.onnx")};
    s->large =
        (sh_network){.bytes = calloc(1, SH_SKELETON_MOST + 1), .count = SH_SKELETON_MOST + 1};
    assert_non_null(s->large.bytes);
    const sh_network *given[] = {s->right, s->wrong, &s->large, NULL, NULL, NULL};
    assert_ok(sh_loop_start(&s->loop));
    assert_ok(sh_mailbox_new(&s->mailbox));
    for (uint32_t i = 0; i < GIVERS; i++) {
        assert_ok(sh_supply_new(
            &s->supplies[i],
            &(sh_supply_options){.loop = s->loop, .network = given[gifts[i]], .device = i}));
        s->sources.items[s->sources.count++] = (sh_source){i, {"127.0.0.1", 0, {42}}};
    }
    sh_loop_call(s->loop, do_open, s);
    assert_ok(s->status);
    for (uint32_t i = 0; i < GIVERS; i++) {
        sh_route *route = &s->sources.items[i].route;
        route->key[0] ^= gifts[i] == STRANGER;
        if (gifts[i] == UNREACHED)
            route->port = 1;
    }
}

static void stage_free(stage *s)
{
    sh_loop_call(s->loop, do_close, s);
    for (int i = 0; i < GIVERS; i++)
        sh_supply_free(s->supplies[i]);
    sh_loop_stop(s->loop);
    sh_mailbox_free(s->mailbox);
    sh_network_unref(s->right);
    sh_network_unref(s->wrong);
    free(s->large.bytes);
}

static sh_network_call *start(stage *s)
{
    sh_network_call *call;
    assert_ok(sh_network_call_start(&call, &(sh_network_call_options){.loop = s->loop,
                                                                      .mailbox = s->mailbox,
                                                                      .sources = &s->sources,
                                                                      .spec = s->right->spec}));
    return call;
}

static void somebody_gives_it_or_the_reason_is_said(void **state)
{
    (void)state;
    static const struct {
        gift gifts[GIVERS];
        sh_status status;
        const char *message;
    } cases[] = {
        {{RIGHT, WRONG}, SH_OK, ""},
        {{NOTHING, RIGHT}, SH_OK, ""},
        {{WRONG, RIGHT}, SH_OK, ""},
        {{LARGE, RIGHT}, SH_OK, ""},
        {{UNREACHED, RIGHT}, SH_OK, ""},
        {{STRANGER, RIGHT}, SH_OK, ""},
        {{WRONG, NOTHING}, SH_REFUSED, "device 1: this device does not have"},
        {{NOTHING, WRONG}, SH_CORRUPT, "device 1: is damaged or different"},
        {{NOTHING, LARGE}, SH_FORMAT, "device 1: what it sends is too large for"},
        {{NOTHING, STRANGER}, SH_REFUSED, "device 1: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        sh_mail mail;
        stage_new(&s, cases[i].gifts);
        sh_network_call *call = start(&s);
        assert_ok(sh_mailbox_wait(s.mailbox, &mail, NULL, LONG_MS));
        assert_int_equal(mail.kind, SH_MAIL_NETWORK);
        assert_int_equal(mail.status, cases[i].status);
        if (strstr(mail.text, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, mail.text);
        if (mail.status == SH_OK) {
            sh_network *network;
            assert_ok(sh_network_call_take(&network, call));
            assert_string_equal(network->spec, s.right->spec);
            assert_int_equal(network->count, s.right->count);
            sh_network_unref(network);
        }
        sh_network_call_free(call);
        assert_false(sh_mailbox_take(s.mailbox, &mail));
        stage_free(&s);
    }
}

static void a_call_may_end_at_any_time(void **state)
{
    (void)state;
    stage s;
    stage_new(&s, (const gift[]){RIGHT, RIGHT});
    sh_network_call_free(start(&s));
    sh_network_call_free(NULL);
    stage_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(somebody_gives_it_or_the_reason_is_said, fixture_release),
        cmocka_unit_test_teardown(a_call_may_end_at_any_time, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
