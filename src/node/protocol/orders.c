/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/orders.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fields with the same name in the struct and in the message. */
#define DIRECTIVE_FIELDS(X)                                                                        \
    X(serial) X(dismissed) X(view) X(ring) X(planned) X(left) X(ends) X(keep)
/* clang-format off */
#define NOTICE_FIELDS(X)                                                                           \
    X(serial) X(leaving) X(whole) X(grains) X(check) X(view) X(halted) X(linked) X(broken)         \
    X(broken_peer) X(differing) X(own_check) X(total) X(not_finite) X(own_not_finite) X(fetched) X(failed) X(receiving) X(left_ms)
/* clang-format on */

/* ---- small parts ----------------------------------------------------------------------------- */

static void write_position(Shoal__Position *body, sh_position position)
{
    shoal__position__init(body);
    body->steps = position.steps;
    body->phase = position.phase;
}

static void write_ranges(Shoal__Range *items, Shoal__Range **list, const sh_ranges *ranges)
{
    for (uint32_t i = 0; i < ranges->count; i++) {
        shoal__range__init(&items[i]);
        items[i].first = ranges->items[i].first;
        items[i].count = ranges->items[i].count;
        list[i] = &items[i];
    }
}

static sh_position read_position(const Shoal__Position *body)
{
    return (sh_position){body->steps, body->phase};
}

static sh_status read_ranges(sh_ranges *ranges, Shoal__Range *const *items, size_t count)
{
    if (count > SH_RANGES_MAX)
        return sh_fail(SH_FORMAT, "%zu ranges of grains; at most %d are allowed", count,
                       SH_RANGES_MAX);
    ranges->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        ranges->items[i] = (sh_range){items[i]->first, items[i]->count};
    return sh_ranges_valid(ranges, UINT32_MAX) ? SH_OK
                                               : sh_fail(SH_FORMAT, "invalid ranges of grains");
}

static sh_status read_route(sh_route *route, const char *host, uint32_t port,
                            const ProtobufCBinaryData *key)
{
    if (strlen(host) >= sizeof route->host || port > UINT16_MAX || (host[0] != '\0' && port == 0))
        return sh_fail(SH_FORMAT, "orders with an invalid address");
    snprintf(route->host, sizeof route->host, "%s", host);
    route->port = (uint16_t)port;
    if (key->len != SH_KEY_BYTES)
        return sh_fail(SH_FORMAT, "orders without a key");
    memcpy(route->key, key->data, SH_KEY_BYTES);
    return SH_OK;
}

static void write_route(char **host, uint32_t *port, ProtobufCBinaryData *key,
                        const sh_route *route)
{
    *host = (char *)(uintptr_t)route->host;
    *port = route->port;
    *key = (ProtobufCBinaryData){SH_KEY_BYTES, (uint8_t *)(uintptr_t)route->key};
}

static void write_donor(Shoal__Donor *body, uint32_t device, const sh_route *route)
{
    shoal__donor__init(body);
    body->device = device;
    write_route(&body->host, &body->port, &body->key, route);
}

void sh_link_identity(char identity[SH_LINK_IDENTITY], uint32_t ring, uint32_t from, uint32_t to)
{
    snprintf(identity, SH_LINK_IDENTITY, "link/%u/%u>%u", ring, from, to);
}

void sh_stripe_identity(char identity[SH_LINK_IDENTITY], uint64_t transfer, uint32_t stripe)
{
    snprintf(identity, SH_LINK_IDENTITY, "state/%" PRIu64 "/%u", transfer, stripe);
}

void sh_data_identity(char identity[SH_LINK_IDENTITY], uint32_t device)
{
    snprintf(identity, SH_LINK_IDENTITY, "data/%u", device);
}

/* ---- audits ---------------------------------------------------------------------------------- */

static void write_check(size_t *count, uint64_t **numbers, const sh_sum_check *check)
{
    *count = SH_SUM_CHECK_WORDS;
    *numbers = (uint64_t *)(uintptr_t)check->words;
}

static sh_status read_check(sh_sum_check *check, const uint64_t *numbers, size_t count)
{
    if (count != SH_SUM_CHECK_WORDS)
        return sh_fail(SH_FORMAT, "a check of a sum with %zu numbers", count);
    memcpy(check->words, numbers, sizeof check->words);
    return SH_OK;
}

static sh_status read_report(sh_audit_report *report, const Shoal__AuditReport *body)
{
    if (body->key == 0)
        return SH_OK;
    report->key = body->key;
    report->round = body->round;
    SH_TRY(read_ranges(&report->grains, body->grains, body->n_grains));
    SH_TRY(read_check(&report->own, body->own, body->n_own));
    SH_TRY(read_check(&report->total, body->total, body->n_total));
    return read_check(&report->answer, body->answer, body->n_answer);
}

static sh_status read_audit(sh_audit_order *order, const Shoal__AuditOrder *body)
{
    if (body->key == 0)
        return SH_OK;
    *order = (sh_audit_order){.key = body->key, .passed = body->passed, .round = body->round};
    SH_TRY(read_ranges(&order->grains, body->grains, body->n_grains));
    return order->round != 0 && order->grains.count == 0
               ? sh_fail(SH_FORMAT, "orders for an audit without grains")
               : SH_OK;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void sh_orders_write(sh_orders_message *message, const sh_orders *orders)
{
    const sh_directive *directive = &orders->directive;
    Shoal__Order *body = &message->body;
    shoal__order__init(body);
#define WRITE(field) body->field = directive->field;
    DIRECTIVE_FIELDS(WRITE)
#undef WRITE
    body->phase = (uint32_t)directive->phase;
    for (uint32_t i = 0; i < directive->seat_count; i++) {
        const sh_seat *from = &directive->seats[i];
        Shoal__Seat *seat = &message->seats[i];
        shoal__seat__init(seat);
        seat->device = from->device;
        seat->local = from->local;
        seat->serves = from->serves;
        seat->first_grain = from->share.first;
        seat->grains = from->share.count;
        message->seat_list[i] = seat;
    }
    body->n_seats = directive->seat_count;
    body->seats = message->seat_list;
    write_position(&message->start, directive->start);
    body->start = &message->start;
    write_ranges(message->work, message->work_list, &directive->work);
    body->n_work = directive->work.count;
    body->work = message->work_list;
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const sh_transfer *transfer = &orders->directive.transfers[i];
        Shoal__Transfer *one = &message->transfers[i];
        shoal__transfer__init(one);
        one->number = transfer->number;
        one->receiver = transfer->receiver;
        one->live = transfer->live;
        one->once = transfer->once;
        write_position(&message->wanted[i], transfer->wanted);
        one->wanted = &message->wanted[i];
        one->n_donors = transfer->donor_count;
        one->donors = message->donor_lists[i];
        for (uint32_t k = 0; k < transfer->donor_count; k++) {
            write_donor(&message->donors[i][k], transfer->donors[k], &orders->donors[i][k]);
            message->donor_lists[i][k] = &message->donors[i][k];
        }
        message->transfer_list[i] = one;
    }
    body->n_transfers = directive->transfer_count;
    body->transfers = message->transfer_list;
    for (uint32_t i = 0; i < orders->link_count; i++) {
        const sh_link *from = &orders->links[i];
        Shoal__Link *link = &message->links[i];
        shoal__link__init(link);
        link->seat = from->seat;
        link->inbound = from->inbound;
        link->opened = from->opened;
        write_route(&link->host, &link->port, &link->key, &from->route);
        message->link_list[i] = link;
    }
    body->n_links = orders->link_count;
    body->links = message->link_list;
    Shoal__AuditOrder *audit = &message->audit;
    shoal__audit_order__init(audit);
    body->audit = audit;
    if (directive->audit.key == 0)
        return;
    audit->key = directive->audit.key;
    audit->passed = directive->audit.passed;
    audit->round = directive->audit.round;
    write_ranges(message->audited, message->audited_list, &directive->audit.grains);
    audit->n_grains = directive->audit.grains.count;
    audit->grains = message->audited_list;
}

/* Seats are numbered without gaps; no device has two. */
static sh_status read_seats(sh_directive *directive, const Shoal__Order *body)
{
    uint32_t next = 0;
    if (body->n_seats > SH_DEVICES_MAX)
        return sh_fail(SH_FORMAT, "orders for %zu devices; at most %d are allowed", body->n_seats,
                       SH_DEVICES_MAX);
    directive->seat_count = (uint32_t)body->n_seats;
    for (uint32_t i = 0; i < directive->seat_count; i++) {
        const Shoal__Seat *seat = body->seats[i];
        if (seat->first_grain != next || seat->grains > UINT32_MAX - next)
            return sh_fail(SH_FORMAT, "orders whose shares have gaps");
        for (uint32_t k = 0; k < i; k++)
            if (directive->seats[k].device == seat->device)
                return sh_fail(SH_FORMAT, "orders that seat device %u twice", seat->device);
        directive->seats[i] = (sh_seat){.device = seat->device,
                                        .local = seat->local,
                                        .serves = seat->serves,
                                        .share = {seat->first_grain, seat->grains}};
        next += seat->grains;
    }
    return SH_OK;
}

/* Requires exactly the links of the seat. */
static sh_status read_links(sh_orders *orders, const Shoal__Order *body, uint32_t device)
{
    const sh_directive *directive = &orders->directive;
    const bool links = directive->phase >= SH_DIRECTIVE_LINK && directive->seat_count > 1;
    const sh_seat *seat = sh_seat_of(directive->seats, directive->seat_count, device);
    if (!links || seat == NULL)
        return SH_OK;
    const uint32_t rank = (uint32_t)(seat - directive->seats);
    uint32_t due = 0;
    for (uint32_t i = 0; i < directive->seat_count; i++)
        due += (uint32_t)sh_directive_links(directive, rank, i) +
               (uint32_t)sh_directive_links(directive, i, rank);
    if (body->n_links != due)
        return sh_fail(SH_FORMAT, "orders with %zu links that differ from the view's",
                       body->n_links);
    orders->link_count = (uint32_t)body->n_links;
    for (uint32_t i = 0; i < orders->link_count; i++) {
        const Shoal__Link *one = body->links[i];
        const bool is_due = one->seat < directive->seat_count &&
                            (one->inbound ? sh_directive_links(directive, one->seat, rank)
                                          : sh_directive_links(directive, rank, one->seat));
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again = again || (orders->links[k].seat == one->seat &&
                              orders->links[k].inbound == (one->inbound != 0));
        if (!is_due || again)
            return sh_fail(SH_FORMAT, "orders with a link to seat %u, which the view lacks",
                           one->seat);
        orders->links[i].seat = one->seat;
        orders->links[i].inbound = one->inbound;
        orders->links[i].opened = one->opened;
        SH_TRY(read_route(&orders->links[i].route, one->host, one->port, &one->key));
    }
    return SH_OK;
}

sh_status sh_orders_read(sh_orders *orders, const Shoal__Order *body, uint32_t device)
{
    sh_directive *directive = &orders->directive;
    memset(orders, 0, sizeof *orders);
    if (body->phase > SH_DIRECTIVE_GO || body->n_transfers > SH_TRANSFERS_MAX)
        return sh_fail(SH_FORMAT, "orders of phase %u with %zu transfers", body->phase,
                       body->n_transfers);
#define READ(field) directive->field = body->field;
    DIRECTIVE_FIELDS(READ)
#undef READ
    directive->phase = (sh_directive_phase)body->phase;
    directive->start = read_position(body->start);
    SH_TRY(read_seats(directive, body));
    SH_TRY(read_ranges(&directive->work, body->work, body->n_work));
    SH_TRY(read_audit(&directive->audit, body->audit));
    directive->transfer_count = (uint32_t)body->n_transfers;
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const Shoal__Transfer *one = body->transfers[i];
        sh_transfer *transfer = &orders->directive.transfers[i];
        if (one->n_donors == 0 || one->n_donors > SH_DONORS_MAX)
            return sh_fail(SH_FORMAT, "a transfer with %zu donors", one->n_donors);
        *transfer = (sh_transfer){.number = one->number,
                                  .receiver = one->receiver,
                                  .donor_count = (uint32_t)one->n_donors,
                                  .live = one->live,
                                  .once = one->once,
                                  .wanted = read_position(one->wanted)};
        for (uint32_t k = 0; k < transfer->donor_count; k++) {
            const Shoal__Donor *donor = one->donors[k];
            transfer->donors[k] = donor->device;
            if (donor->device == device || one->receiver == device)
                SH_TRY(read_route(&orders->donors[i][k], donor->host, donor->port, &donor->key));
        }
    }
    return read_links(orders, body, device);
}

/* ---- heartbeats ------------------------------------------------------------------------------ */

void sh_heartbeat_write(sh_heartbeat_message *message, const sh_heartbeat *heartbeat)
{
    const sh_notice *notice = &heartbeat->notice;
    Shoal__Notice *body = &message->body;
    shoal__notice__init(body);
#define WRITE(field) body->field = notice->field;
    NOTICE_FIELDS(WRITE)
#undef WRITE
    body->life = (uint32_t)notice->life;
    body->activity = (uint32_t)notice->doing.activity;
    body->progress = notice->doing.progress;
    body->stuck_ms = notice->doing.stuck_ms;
    body->stuck_peer = notice->doing.stuck_peer;
    write_position(&message->position, notice->position);
    body->position = &message->position;
    body->rate = notice->speed.rate;
    body->rate_error = notice->speed.error;
    body->step_s = notice->speed.step_s;
    write_ranges(message->held, message->held_list, &notice->held);
    body->n_held = notice->held.count;
    body->held = message->held_list;
    body->opened = heartbeat->opened;
    body->able = heartbeat->able;
    body->computed = heartbeat->done.grains;
    body->samples = heartbeat->done.samples;
    body->cpu_seconds = heartbeat->done.cpu_seconds;
    body->peak_rss_bytes = heartbeat->done.peak_rss_bytes;
    body->bytes_sent = heartbeat->done.bytes_sent;
    body->bytes_received = heartbeat->done.bytes_received;
    Shoal__AuditReport *audit = &message->audit;
    shoal__audit_report__init(audit);
    body->audit = audit;
    if (notice->audit.key == 0)
        return;
    audit->key = notice->audit.key;
    audit->round = notice->audit.round;
    write_ranges(message->added, message->added_list, &notice->audit.grains);
    audit->n_grains = notice->audit.grains.count;
    audit->grains = message->added_list;
    write_check(&audit->n_own, &audit->own, &notice->audit.own);
    write_check(&audit->n_total, &audit->total, &notice->audit.total);
    write_check(&audit->n_answer, &audit->answer, &notice->audit.answer);
}

/* Finite and not negative. */
static bool is_amount(float number)
{
    return isfinite(number) && number >= 0;
}

sh_status sh_heartbeat_read(sh_heartbeat *heartbeat, const Shoal__Notice *body)
{
    sh_notice *notice = &heartbeat->notice;
    memset(heartbeat, 0, sizeof *heartbeat);
    if (body->life < SH_LIFE_PREPARING || body->life > SH_LIFE_FINISHED || !is_amount(body->rate) ||
        !is_amount(body->rate_error) || !is_amount(body->step_s) ||
        body->activity > SH_ACTIVITY_TAKES)
        return sh_fail(SH_FORMAT, "a notice with invalid numbers");
#define READ(field) notice->field = body->field;
    NOTICE_FIELDS(READ)
#undef READ
    notice->life = (sh_life)body->life;
    notice->doing =
        (sh_doing){(sh_activity)body->activity, body->progress, body->stuck_ms, body->stuck_peer};
    notice->position = read_position(body->position);
    notice->speed = (sh_speed){body->rate, body->rate_error, body->step_s};
    SH_TRY(read_ranges(&notice->held, body->held, body->n_held));
    SH_TRY(read_report(&notice->audit, body->audit));
    heartbeat->opened = body->opened;
    heartbeat->able = body->able;
    heartbeat->done = (sh_device_report){
        .grains = body->computed,
        .samples = body->samples,
        .cpu_seconds = body->cpu_seconds,
        .peak_rss_bytes = body->peak_rss_bytes,
        .bytes_sent = body->bytes_sent,
        .bytes_received = body->bytes_received,
    };
    return SH_OK;
}

/* ---- sources --------------------------------------------------------------------------------- */

void sh_sources_write(sh_sources_message *message, const sh_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        write_donor(&message->items[i], sources->items[i].device, &sources->items[i].route);
        message->list[i] = &message->items[i];
    }
}

sh_status sh_sources_read(sh_sources *sources, Shoal__Donor *const *items, size_t count)
{
    sh_sources fresh = {.count = (uint32_t)count};
    if (count == 0 || count > SH_SOURCES_MAX)
        return sh_fail(SH_FORMAT, "%zu sources of the data; 1 to %d are allowed", count,
                       SH_SOURCES_MAX);
    for (size_t i = 0; i < count; i++) {
        const Shoal__Donor *body = items[i];
        sh_route *route = &fresh.items[i].route;
        if (body->port == 0 || body->port > UINT16_MAX || body->key.len != SH_KEY_BYTES ||
            body->host[0] == '\0' || strlen(body->host) >= sizeof route->host)
            return sh_fail(SH_FORMAT, "a source of the data that cannot be reached");
        fresh.items[i].device = body->device;
        route->port = (uint16_t)body->port;
        snprintf(route->host, sizeof route->host, "%s", body->host);
        memcpy(route->key, body->key.data, SH_KEY_BYTES);
    }
    *sources = fresh;
    return SH_OK;
}
