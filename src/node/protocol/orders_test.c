/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/orders.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

#define DEVICE 2

static void fill(unsigned char key[SH_KEY_BYTES], int value)
{
    memset(key, value, SH_KEY_BYTES);
}

static sh_route route_to(const char *host, uint16_t port, int key)
{
    sh_route route = {.port = port};
    snprintf(route.host, sizeof route.host, "%s", host);
    fill(route.key, key);
    return route;
}

/* Every field has a distinct value: phase GO, three devices. */
static void some_orders(sh_orders *orders)
{
    memset(orders, 0, sizeof *orders);
    orders->directive = (sh_directive){
        .serial = UINT64_MAX,
        .dismissed = true,
        .phase = SH_DIRECTIVE_GO,
        .view = 7,
        .ring = 5,
        .planned = true,
        .left = 5,
        .seat_count = 3,
        .seats = {{0, true, {0, 4}, false},
                  {DEVICE, false, {4, 0}, false},
                  {9, true, {4, 3}, false}},
        .start = {UINT64_MAX - 1, 3},
        .ends = true,
        .keep = true,
        .work = {2, {{0, 1}, {2, 5}}},
        .audit = {.key = 14, .passed = true, .round = 15, .grains = {2, {{1, 1}, {3, 4}}}},
        .transfer_count = 3,
        .transfers = {{.number = 11,
                       .receiver = DEVICE,
                       .donors = {0, 9},
                       .donor_count = 2,
                       .live = true,
                       .wanted = {8, 1}},
                      {.number = 12,
                       .receiver = 9,
                       .donors = {0, DEVICE},
                       .donor_count = 2,
                       .wanted = {6, 0}},
                      {.number = 13, .receiver = 9, .donors = {0}, .donor_count = 1}},
    };
    orders->link_count = 2;
    orders->links[0] = (sh_link){.seat = 0, .inbound = true, .route = route_to("", 0, 2)};
    orders->links[1] =
        (sh_link){.seat = 2, .opened = true, .route = route_to("fe80::1%eth0", 65535, 1)};
    orders->donors[0][0] = route_to("10.0.0.1", 7700, 3);
    orders->donors[0][1] = route_to("10.0.0.9", 1, 4);
    orders->donors[1][1] = route_to("", 0, 5);
}

static Shoal__Message *send_orders(const sh_orders *orders)
{
    static sh_orders_message body;
    Shoal__Message message = SH_MESSAGE_INIT(ORDER, order, &body.body), *back = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    sh_orders_write(&body, orders);
    assert_ok(sh_message_pack(&bytes, &count, &message));
    assert_ok(sh_message_unpack(&back, bytes, count));
    free(bytes);
    return back;
}

static void assert_same_route(const sh_route *a, const sh_route *b)
{
    assert_string_equal(a->host, b->host);
    assert_int_equal(a->port, b->port);
    assert_memory_equal(a->key, b->key, SH_KEY_BYTES);
}

static void assert_same_directive(const sh_directive *a, const sh_directive *b)
{
    assert_true(a->serial == b->serial && a->dismissed == b->dismissed && a->phase == b->phase);
    assert_true(a->view == b->view && a->ring == b->ring && a->planned == b->planned);
    assert_int_equal(a->left, b->left);
    assert_int_equal(a->seat_count, b->seat_count);
    for (uint32_t i = 0; i < a->seat_count; i++) {
        assert_true(a->seats[i].device == b->seats[i].device);
        assert_true(a->seats[i].local == b->seats[i].local);
        assert_true(a->seats[i].serves == b->seats[i].serves);
        assert_true(a->seats[i].share.first == b->seats[i].share.first);
        assert_true(a->seats[i].share.count == b->seats[i].share.count);
    }
    assert_true(sh_position_same(a->start, b->start));
    assert_true(a->ends == b->ends && a->keep == b->keep);
    assert_true(a->audit.key == b->audit.key && a->audit.passed == b->audit.passed &&
                a->audit.round == b->audit.round);
    assert_memory_equal(&a->audit.grains, &b->audit.grains, sizeof a->audit.grains);
    assert_int_equal(a->work.count, b->work.count);
    assert_memory_equal(a->work.items, b->work.items, a->work.count * sizeof *a->work.items);
    assert_int_equal(a->transfer_count, b->transfer_count);
    for (uint32_t i = 0; i < a->transfer_count; i++) {
        const sh_transfer *one = &a->transfers[i], *other = &b->transfers[i];
        assert_true(one->number == other->number && one->receiver == other->receiver);
        assert_true(one->live == other->live);
        assert_true(sh_position_same(one->wanted, other->wanted));
        assert_int_equal(one->donor_count, other->donor_count);
        assert_memory_equal(one->donors, other->donors, sizeof one->donors);
    }
}

static void assert_same_links(const sh_orders *a, const sh_orders *b)
{
    assert_int_equal(a->link_count, b->link_count);
    for (uint32_t i = 0; i < a->link_count; i++) {
        assert_int_equal(a->links[i].seat, b->links[i].seat);
        assert_int_equal(a->links[i].inbound, b->links[i].inbound);
        assert_int_equal(a->links[i].opened, b->links[i].opened);
        assert_same_route(&a->links[i].route, &b->links[i].route);
    }
}

static void orders_come_back(void **state)
{
    (void)state;
    static sh_orders sent, back;
    static const sh_route nobody;
    some_orders(&sent);
    Shoal__Message *message = send_orders(&sent);
    memset(&back, 0xee, sizeof back);
    assert_ok(sh_orders_read(&back, message->order, DEVICE));
    assert_same_directive(&back.directive, &sent.directive);
    assert_same_links(&back, &sent);
    assert_same_route(&back.donors[0][0], &sent.donors[0][0]);
    assert_same_route(&back.donors[0][1], &sent.donors[0][1]);
    assert_same_route(&back.donors[1][1], &sent.donors[1][1]);
    assert_same_route(&back.donors[1][0], &nobody); /* only for the receiver and this donor */
    assert_same_route(&back.donors[2][0], &nobody);
    sh_message_free(message);
}

/* No flag may be read from another's field. */
static void each_truth_comes_back_by_itself(void **state)
{
    (void)state;
    static sh_orders sent, back;
    for (int bit = 0; bit < 10; bit++) {
        memset(&sent, 0, sizeof sent);
        sh_directive *directive = &sent.directive;
        directive->phase = SH_DIRECTIVE_GO;
        directive->seat_count = 2;
        directive->seats[0] = (sh_seat){DEVICE, bit == 0, {0, 1}, bit == 8};
        directive->seats[1] = (sh_seat){3, bit == 1, {1, 1}, bit == 9};
        directive->dismissed = bit == 2;
        directive->planned = bit == 3;
        directive->ends = bit == 4;
        directive->keep = bit == 5;
        sent.link_count = bit < 8 ? 2 : 1;
        sent.links[0] = (sh_link){.seat = 1, .opened = bit == 6, .route = route_to("h", 7, 1)};
        sent.links[1] = (sh_link){.seat = 1, .inbound = true, .route = route_to("", 0, 1)};
        directive->transfer_count = 1;
        directive->transfers[0] =
            (sh_transfer){.number = 1, .receiver = 5, .donor_count = 1, .live = bit == 7};
        Shoal__Message *message = send_orders(&sent);
        assert_ok(sh_orders_read(&back, message->order, DEVICE));
        assert_same_directive(&back.directive, &directive[0]);
        assert_same_links(&back, &sent);
        sh_message_free(message);
    }
}

static void every_phase_comes_back_and_links_only_where_they_are_made(void **state)
{
    (void)state;
    static sh_orders sent, back;
    for (int phase = SH_DIRECTIVE_NONE; phase <= SH_DIRECTIVE_GO; phase++) {
        some_orders(&sent);
        sent.directive.phase = (sh_directive_phase)phase;
        Shoal__Message *message = send_orders(&sent);
        assert_ok(sh_orders_read(&back, message->order, DEVICE));
        assert_same_directive(&back.directive, &sent.directive);
        sent.link_count = phase >= SH_DIRECTIVE_LINK ? 2 : 0;
        assert_same_links(&back, &sent);
        assert_ok(sh_orders_read(&back, message->order, 77));
        assert_int_equal(back.link_count, 0);
        sh_message_free(message);
    }
    some_orders(&sent);
    sent.directive.seat_count = 1;
    sent.directive.seats[0] = (sh_seat){DEVICE, false, {0, 7}, false};
    sent.link_count = 0;
    Shoal__Message *message = send_orders(&sent);
    assert_ok(sh_orders_read(&back, message->order, DEVICE));
    assert_int_equal(back.link_count, 0);
    sh_message_free(message);
}

static void the_most_of_everything_comes_back(void **state)
{
    (void)state;
    static sh_orders sent, back;
    memset(&sent, 0, sizeof sent);
    sh_directive *directive = &sent.directive;
    directive->phase = SH_DIRECTIVE_LINK;
    directive->seat_count = SH_DEVICES_MAX;
    for (uint32_t i = 0; i < SH_DEVICES_MAX; i++)
        directive->seats[i] = (sh_seat){UINT32_MAX - i, true, {i * 1000, 1000}, true};
    for (uint32_t i = 0; i + 1 < SH_DEVICES_MAX; i++) {
        sh_link *link = &sent.links[sent.link_count++];
        *link = (sh_link){.seat = i + 1, .opened = true, .route = route_to("", 65535, (int)i)};
        memset(link->route.host, 'h', sizeof link->route.host - 1);
    }
    directive->work.count = SH_RANGES_MAX;
    for (uint32_t i = 0; i < SH_RANGES_MAX; i++)
        directive->work.items[i] = (sh_range){i * 100, 99};
    directive->transfer_count = SH_TRANSFERS_MAX;
    for (uint32_t i = 0; i < SH_TRANSFERS_MAX; i++) {
        directive->transfers[i] = (sh_transfer){
            UINT64_MAX - i, UINT32_MAX, {1, 2, 3, 4}, SH_DONORS_MAX, true, true, {0, 0}};
        for (uint32_t k = 0; k < SH_DONORS_MAX; k++) {
            sent.donors[i][k] = route_to("", UINT16_MAX, (int)(i + k));
            memset(sent.donors[i][k].host, 'h', sizeof sent.donors[i][k].host - 1);
        }
    }
    Shoal__Message *message = send_orders(&sent);
    assert_ok(sh_orders_read(&back, message->order, UINT32_MAX));
    assert_same_directive(&back.directive, directive);
    assert_same_links(&back, &sent);
    for (uint32_t i = 0; i < SH_TRANSFERS_MAX; i++)
        for (uint32_t k = 0; k < SH_DONORS_MAX; k++)
            assert_same_route(&back.donors[i][k], &sent.donors[i][k]);
    sh_message_free(message);
}

/* ---- inconsistent orders --------------------------------------------------------------------- */

typedef void spoil_orders(Shoal__Order *body);

static void phase_4(Shoal__Order *body)
{
    body->phase = SH_DIRECTIVE_GO + 1;
}

static void nine_transfers(Shoal__Order *body)
{
    static Shoal__Transfer *many[SH_TRANSFERS_MAX + 1];
    for (size_t i = 0; i <= SH_TRANSFERS_MAX; i++)
        many[i] = body->transfers[0];
    body->transfers = many;
    body->n_transfers = SH_TRANSFERS_MAX + 1;
}

static void seats_257(Shoal__Order *body)
{
    static Shoal__Seat seats[SH_DEVICES_MAX + 1];
    static Shoal__Seat *many[SH_DEVICES_MAX + 1];
    for (uint32_t i = 0; i <= SH_DEVICES_MAX; i++) {
        shoal__seat__init(&seats[i]);
        seats[i].device = i;
        many[i] = &seats[i];
    }
    body->seats = many;
    body->n_seats = SH_DEVICES_MAX + 1;
}

static void late_share(Shoal__Order *body)
{
    body->seats[0]->first_grain = 1;
}

static void share_with_a_gap(Shoal__Order *body)
{
    body->seats[2]->first_grain++;
}

static void share_over_another(Shoal__Order *body)
{
    body->seats[2]->first_grain--;
}

static void shares_beyond_all_numbers(Shoal__Order *body)
{
    body->seats[2]->grains = UINT32_MAX - 3;
}

static void one_device_twice(Shoal__Order *body)
{
    body->seats[2]->device = body->seats[0]->device;
}

static void ranges_33(Shoal__Order *body)
{
    static Shoal__Range ranges[SH_RANGES_MAX + 1];
    static Shoal__Range *many[SH_RANGES_MAX + 1];
    for (uint32_t i = 0; i <= SH_RANGES_MAX; i++) {
        shoal__range__init(&ranges[i]);
        ranges[i].first = 2 * i;
        ranges[i].count = 1;
        many[i] = &ranges[i];
    }
    body->work = many;
    body->n_work = SH_RANGES_MAX + 1;
}

static void empty_range(Shoal__Order *body)
{
    body->work[0]->count = 0;
}

static void ranges_that_touch(Shoal__Order *body)
{
    body->work[1]->first = 1;
}

static void ranges_that_fall(Shoal__Order *body)
{
    body->work[0]->first = 8;
}

static void range_beyond_all_numbers(Shoal__Order *body)
{
    body->work[1]->count = UINT32_MAX;
}

static void no_donor(Shoal__Order *body)
{
    body->transfers[2]->n_donors = 0;
}

static void five_donors(Shoal__Order *body)
{
    static Shoal__Donor *many[SH_DONORS_MAX + 1];
    for (size_t i = 0; i <= SH_DONORS_MAX; i++)
        many[i] = body->transfers[0]->donors[0];
    body->transfers[0]->donors = many;
    body->transfers[0]->n_donors = SH_DONORS_MAX + 1;
}

static void donor_without_a_key(Shoal__Order *body)
{
    body->transfers[0]->donors[1]->key.len = 0;
}

static void gift_without_a_key(Shoal__Order *body)
{
    body->transfers[1]->donors[1]->key.len = 0;
}

static void donor_without_a_port(Shoal__Order *body)
{
    body->transfers[0]->donors[0]->port = 0;
}

static void port_65536(Shoal__Order *body)
{
    body->links[1]->port = UINT16_MAX + 1;
}

static void next_without_a_port(Shoal__Order *body)
{
    body->links[1]->port = 0;
}

static void long_host(Shoal__Order *body)
{
    static char host[SH_TOKEN_HOST + 1];
    memset(host, 'h', SH_TOKEN_HOST);
    body->links[1]->host = host;
}

static void no_key_to_next(Shoal__Order *body)
{
    body->links[1]->key.len = 0;
}

static void no_key_from_previous(Shoal__Order *body)
{
    body->links[0]->key.len = 0;
}

static void no_link_from_previous(Shoal__Order *body)
{
    body->n_links = 1;
    body->links[0] = body->links[1];
}

static void a_link_too_many(Shoal__Order *body)
{
    static Shoal__Link *many[3];
    for (size_t i = 0; i < 3; i++)
        many[i] = body->links[i % 2];
    body->links = many;
    body->n_links = 3;
}

static void one_link_twice(Shoal__Order *body)
{
    body->links[0] = body->links[1];
}

static void link_the_wrong_way(Shoal__Order *body)
{
    body->links[0]->inbound = false;
}

static void link_with_itself(Shoal__Order *body)
{
    body->links[0]->seat = 1;
}

static void link_with_nobody(Shoal__Order *body)
{
    body->links[0]->seat = 3;
}

static void links_of_a_ring_for_servers(Shoal__Order *body)
{
    body->seats[2]->serves = true;
}

static const struct {
    spoil_orders *spoil;
    const char *message;
} senseless[] = {
    {phase_4, "orders of phase 4 with 3 transfers"},
    {nine_transfers, "orders of phase 3 with 9 transfers"},
    {seats_257, "orders for 257 devices; at most 256 are allowed"},
    {late_share, "orders whose shares have gaps"},
    {share_with_a_gap, "orders whose shares have gaps"},
    {share_over_another, "orders whose shares have gaps"},
    {shares_beyond_all_numbers, "orders whose shares have gaps"},
    {one_device_twice, "orders that seat device 0 twice"},
    {ranges_33, "33 ranges of grains; at most 32 are allowed"},
    {empty_range, "invalid ranges of grains"},
    {ranges_that_touch, "invalid ranges of grains"},
    {ranges_that_fall, "invalid ranges of grains"},
    {range_beyond_all_numbers, "invalid ranges of grains"},
    {no_donor, "a transfer with 0 donors"},
    {five_donors, "a transfer with 5 donors"},
    {donor_without_a_key, "orders without a key"},
    {gift_without_a_key, "orders without a key"},
    {donor_without_a_port, "orders with an invalid address"},
    {port_65536, "orders with an invalid address"},
    {next_without_a_port, "orders with an invalid address"},
    {long_host, "orders with an invalid address"},
    {no_key_to_next, "orders without a key"},
    {no_key_from_previous, "orders without a key"},
    {no_link_from_previous, "orders with 1 links that differ from the view's"},
    {a_link_too_many, "orders with 3 links that differ from the view's"},
    {one_link_twice, "orders with a link to seat 2, which the view lacks"},
    {link_the_wrong_way, "orders with a link to seat 0, which the view lacks"},
    {link_with_itself, "orders with a link to seat 1, which the view lacks"},
    {link_with_nobody, "orders with a link to seat 3, which the view lacks"},
    {links_of_a_ring_for_servers, "orders with 2 links that differ from the view's"},
};

static void senseless_orders_are_refused(void **state)
{
    (void)state;
    static sh_orders sent, back;
    static sh_orders_message body;
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        some_orders(&sent);
        sh_orders_write(&body, &sent);
        assert_ok(sh_orders_read(&back, &body.body, DEVICE));
        senseless[i].spoil(&body.body);
        const sh_status status = sh_orders_read(&back, &body.body, DEVICE);
        if (status != SH_FORMAT || strcmp(sh_message(), senseless[i].message) != 0)
            fail_msg("case %zu: %s: '%s' is not '%s'", i, sh_status_text(status), sh_message(),
                     senseless[i].message);
    }
}

/* ---- heartbeats ------------------------------------------------------------------------------ */

static sh_heartbeat some_heartbeat(void)
{
    return (sh_heartbeat){
        .notice = {.serial = UINT64_MAX,
                   .life = SH_LIFE_FINISHED,
                   .leaving = true,
                   .whole = true,
                   .position = {UINT64_MAX - 2, 4},
                   .grains = 5,
                   .check = UINT64_MAX - 3,
                   .speed = {1.5f, 0.25f, 0.125f},
                   .view = 6,
                   .halted = 7,
                   .held = {2, {{0, 3}, {4, 1}}},
                   .linked = 8,
                   .broken = 9,
                   .broken_peer = 10,
                   .differing = 11,
                   .not_finite = 17,
                   .own_not_finite = true,
                   .own_check = UINT64_MAX - 8,
                   .total = UINT64_MAX - 9,
                   .audit = {.key = 18,
                             .round = 19,
                             .grains = {2, {{1, 2}, {6, 3}}},
                             .own = {{1, 2, 3, 4, 5, 6, 7, UINT64_MAX}},
                             .total = {{8, 7, 6, 5, 4, 3, 2, UINT64_MAX - 1}},
                             .answer = {{9, 9, 9, 9, 9, 9, 9, UINT64_MAX - 2}}},
                   .fetched = UINT64_MAX - 4,
                   .failed = UINT64_MAX - 5,
                   .receiving = UINT64_MAX - 6,
                   .left_ms = UINT32_MAX - 7},
        .opened = 12,
        .done = {.grains = 13,
                 .samples = 14,
                 .cpu_seconds = 0.25,
                 .peak_rss_bytes = UINT64_MAX - 6,
                 .bytes_sent = 15,
                 .bytes_received = 16},
    };
}

static void assert_same_notice(const sh_notice *a, const sh_notice *b)
{
    assert_true(a->serial == b->serial && a->life == b->life);
    assert_true(a->leaving == b->leaving && a->whole == b->whole);
    assert_true(sh_position_same(a->position, b->position));
    assert_true(a->grains == b->grains && a->check == b->check && a->speed.rate == b->speed.rate);
    assert_true(a->speed.error == b->speed.error && a->speed.step_s == b->speed.step_s);
    assert_true(a->view == b->view && a->halted == b->halted && a->linked == b->linked);
    assert_int_equal(a->held.count, b->held.count);
    assert_memory_equal(a->held.items, b->held.items, a->held.count * sizeof *a->held.items);
    assert_true(a->broken == b->broken && a->broken_peer == b->broken_peer);
    assert_true(a->differing == b->differing && a->own_check == b->own_check &&
                a->total == b->total);
    assert_true(a->not_finite == b->not_finite && a->own_not_finite == b->own_not_finite);
    assert_true(a->audit.key == b->audit.key && a->audit.round == b->audit.round);
    assert_memory_equal(&a->audit.grains, &b->audit.grains, sizeof a->audit.grains);
    assert_memory_equal(&a->audit.own, &b->audit.own, 3 * sizeof a->audit.own);
    assert_true(a->fetched == b->fetched && a->failed == b->failed);
    assert_true(a->receiving == b->receiving && a->left_ms == b->left_ms);
}

static void a_standing_comes_back(void **state)
{
    (void)state;
    const sh_heartbeat sent = some_heartbeat();
    static sh_heartbeat_message body;
    sh_heartbeat back;
    Shoal__Message message = SH_MESSAGE_INIT(NOTICE, notice, &body.body), *got = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    sh_heartbeat_write(&body, &sent);
    assert_ok(sh_message_pack(&bytes, &count, &message));
    assert_ok(sh_message_unpack(&got, bytes, count));
    memset(&back, 0xee, sizeof back);
    assert_ok(sh_heartbeat_read(&back, got->notice));
    assert_same_notice(&back.notice, &sent.notice);
    assert_int_equal(back.opened, sent.opened);
    assert_true(back.done.grains == 13 && back.done.samples == 14);
    assert_true(back.done.cpu_seconds == 0.25);
    assert_true(back.done.peak_rss_bytes == UINT64_MAX - 6);
    assert_true(back.done.bytes_sent == 15 && back.done.bytes_received == 16);
    assert_string_equal(back.done.name, "");
    sh_message_free(got);
    free(bytes);
}

static void senseless_standings_are_refused(void **state)
{
    (void)state;
    static sh_heartbeat_message body;
    sh_heartbeat back;
    static const struct {
        uint32_t life, grains;
        float rate;
        const char *message;
    } cases[] = {
        {SH_LIFE_PREPARING, 1, 0, NULL},
        {SH_LIFE_FINISHED, 1, 1e30f, NULL},
        {SH_LIFE_PREPARING - 1, 1, 0, "a notice with invalid numbers"},
        {SH_LIFE_FINISHED + 1, 1, 0, "a notice with invalid numbers"},
        {SH_LIFE_READY, 1, -1e-30f, "a notice with invalid numbers"},
        {SH_LIFE_READY, 0, 0, "invalid ranges of grains"},
        {SH_LIFE_READY, UINT32_MAX, 0, "invalid ranges of grains"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_heartbeat sent = some_heartbeat();
        sh_heartbeat_write(&body, &sent);
        body.body.life = cases[i].life;
        body.body.held[1]->count = cases[i].grains;
        body.body.rate = cases[i].rate;
        if (cases[i].message == NULL)
            assert_ok(sh_heartbeat_read(&back, &body.body));
        else
            assert_fails(sh_heartbeat_read(&back, &body.body), SH_FORMAT, cases[i].message);
    }
    body.body.n_held = SH_RANGES_MAX + 1;
    body.body.life = SH_LIFE_READY;
    assert_fails(sh_heartbeat_read(&back, &body.body), SH_FORMAT,
                 "33 ranges of grains; at most 32 are allowed");
}

/* ---- sources --------------------------------------------------------------------------------- */

static sh_sources some_sources(void)
{
    sh_sources sources = {.count = 2};
    sources.items[0] = (sh_source){0, {"10.0.0.1", 7700, {1, 2, 3}}};
    sources.items[1] = (sh_source){5, {"fe80::1", 65535, {9}}};
    return sources;
}

static void sources_come_back(void **state)
{
    (void)state;
    const sh_sources before = some_sources();
    sh_sources_message message;
    sh_sources after;
    memset(&after, 7, sizeof after);
    sh_sources_write(&message, &before);
    assert_ok(sh_sources_read(&after, message.list, before.count));
    assert_int_equal(after.count, before.count);
    for (uint32_t i = 0; i < before.count; i++) {
        const sh_route *a = &before.items[i].route, *b = &after.items[i].route;
        assert_int_equal(after.items[i].device, before.items[i].device);
        assert_string_equal(a->host, b->host);
        assert_int_equal(a->port, b->port);
        assert_memory_equal(a->key, b->key, SH_KEY_BYTES);
    }
}

static void senseless_sources_are_refused(void **state)
{
    (void)state;
    const sh_sources good = some_sources();
    sh_sources_message message;
    sh_sources read = {.count = 77};
    char host[SH_TOKEN_HOST + 1];
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    sh_sources_write(&message, &good);
    assert_fails(sh_sources_read(&read, message.list, 0), SH_FORMAT, "0 sources of the data");
    assert_fails(sh_sources_read(&read, message.list, SH_SOURCES_MAX + 1), SH_FORMAT, "1 to 4");
    for (int i = 0; i < 5; i++) {
        sh_sources_write(&message, &good);
        Shoal__Donor *bad = &message.items[1];
        bad->port = i == 0 ? 0 : i == 1 ? 65536 : bad->port;
        bad->key.len = i == 2 ? 0 : bad->key.len;
        bad->host = i == 3 ? (char *)(uintptr_t) "" : i == 4 ? host : bad->host;
        assert_fails(sh_sources_read(&read, message.list, 2), SH_FORMAT, "cannot be reached");
    }
    assert_int_equal(read.count, 77);
}

/* ---- identities ------------------------------------------------------------------------------ */

static void identities_say_what_a_key_is_for(void **state)
{
    (void)state;
    char identity[SH_LINK_IDENTITY];
    sh_link_identity(identity, 7, 1, 2);
    assert_string_equal(identity, "link/7/1>2");
    sh_link_identity(identity, 7, 2, 0);
    assert_string_equal(identity, "link/7/2>0");
    sh_link_identity(identity, UINT32_MAX, UINT32_MAX - 2, UINT32_MAX - 1);
    assert_string_equal(identity, "link/4294967295/4294967293>4294967294");
    sh_stripe_identity(identity, UINT64_MAX, UINT32_MAX);
    assert_string_equal(identity, "state/18446744073709551615/4294967295");
    sh_data_identity(identity, 0);
    assert_string_equal(identity, "data/0");
    sh_data_identity(identity, UINT32_MAX);
    assert_string_equal(identity, "data/4294967295");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_come_back),
        cmocka_unit_test(each_truth_comes_back_by_itself),
        cmocka_unit_test(every_phase_comes_back_and_links_only_where_they_are_made),
        cmocka_unit_test(the_most_of_everything_comes_back),
        cmocka_unit_test(senseless_orders_are_refused),
        cmocka_unit_test(a_standing_comes_back),
        cmocka_unit_test(senseless_standings_are_refused),
        cmocka_unit_test(sources_come_back),
        cmocka_unit_test(senseless_sources_are_refused),
        cmocka_unit_test(identities_say_what_a_key_is_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
