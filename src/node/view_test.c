/* SPDX-License-Identifier: Apache-2.0 */
#include "node/view.h"

#include "base/test.h"

#define MEMBERS 3

/* A view of devices 5, 0 and 8 with shares of 4, 0 and 6 grains, and room to spoil it. */
typedef struct sent {
    Shoal__Message message;
    Shoal__View body;
    Shoal__Member members[MEMBERS];
    Shoal__Member *list[MEMBERS];
    unsigned char to_next[SH_KEY_BYTES + 1], from_previous[SH_KEY_BYTES + 1];
    char long_host[SH_TOKEN_HOST + 1];
} sent;

static void make(sent *s)
{
    static const uint32_t devices[] = {5, 0, 8}, ports[] = {1, 65535, 7000};
    static const uint32_t first[] = {0, 4, 4}, grains[] = {4, 0, 6};
    static const char *const hosts[] = {"10.0.0.5", "fe80::1", "10.0.0.8"};
    s->body = (Shoal__View)SHOAL__VIEW__INIT;
    s->message = (Shoal__Message)SH_MESSAGE_INIT(NEW_VIEW, new_view, &s->body);
    s->message.view = 12;
    for (int i = 0; i < MEMBERS; i++) {
        s->members[i] = (Shoal__Member)SHOAL__MEMBER__INIT;
        s->members[i].device = devices[i];
        s->members[i].host = (char *)hosts[i];
        s->members[i].port = ports[i];
        s->members[i].first_grain = first[i];
        s->members[i].grains = grains[i];
        s->list[i] = &s->members[i];
    }
    s->body.n_members = MEMBERS;
    s->body.members = s->list;
    memset(s->to_next, 'n', sizeof s->to_next);
    memset(s->from_previous, 'p', sizeof s->from_previous);
    s->body.key_to_next = (ProtobufCBinaryData){SH_KEY_BYTES, s->to_next};
    s->body.key_from_previous = (ProtobufCBinaryData){SH_KEY_BYTES, s->from_previous};
    memset(s->long_host, 'h', SH_TOKEN_HOST);
    s->long_host[SH_TOKEN_HOST] = '\0';
}

static void each_device_finds_its_place(void **state)
{
    (void)state;
    static const struct {
        uint32_t device, rank, first, grains;
        const char *next_host;
        uint16_t next_port;
    } places[] = {
        {5, 0, 0, 4, "fe80::1", 65535},
        {0, 1, 4, 0, "10.0.0.8", 7000},
        {8, 2, 4, 6, "10.0.0.5", 1},
    };
    for (size_t i = 0; i < MEMBERS; i++) {
        sent s;
        sh_view view;
        make(&s);
        memset(&view, 0xff, sizeof view);
        assert_ok(sh_view_read(&view, &s.message, places[i].device));
        assert_int_equal(view.number, 12);
        assert_int_equal(view.rank, places[i].rank);
        assert_int_equal(view.devices, MEMBERS);
        assert_int_equal(view.first_grain, places[i].first);
        assert_int_equal(view.grains, places[i].grains);
        assert_int_equal(view.of, 10);
        assert_string_equal(view.next_host, places[i].next_host);
        assert_int_equal(view.next_port, places[i].next_port);
        assert_memory_equal(view.key_to_next, s.to_next, SH_KEY_BYTES);
        assert_memory_equal(view.key_from_previous, s.from_previous, SH_KEY_BYTES);
    }
}

/* Each spoils one thing in the view as it is sent to device 5, whose next is device 0. */
static void alone(sent *s)
{
    s->body.n_members = 1;
}

static void empty(sent *s)
{
    s->body.n_members = 0;
    s->body.members = NULL;
}

static void without_me(sent *s)
{
    s->members[0].device = 6;
}

static void no_key_to_next(sent *s)
{
    s->body.key_to_next = (ProtobufCBinaryData){0, NULL};
}

static void short_key_to_next(sent *s)
{
    s->body.key_to_next.len--;
}

static void long_key_from_previous(sent *s)
{
    s->body.key_from_previous.len++;
}

static void gap_at_the_start(sent *s)
{
    s->members[0].first_grain = 1;
}

static void gap_inside(sent *s)
{
    s->members[2].first_grain++;
}

static void overlap(sent *s)
{
    s->members[1].first_grain--;
}

static void grains_that_wrap(sent *s)
{
    s->members[2].grains = UINT32_MAX - 3; /* with the 4 before it 2^32 */
}

static void no_grains(sent *s)
{
    for (int i = 0; i < MEMBERS; i++)
        s->members[i].first_grain = s->members[i].grains = 0;
}

static void port_of_nothing(sent *s)
{
    s->members[1].port = 0;
}

static void port_too_high(sent *s)
{
    s->members[1].port = 65536;
}

static void host_of_nothing(sent *s)
{
    s->members[1].host = (char *)"";
}

static void host_too_long(sent *s)
{
    s->members[1].host = s->long_host;
}

static const struct {
    void (*spoil)(sent *s);
    const char *part;
} damages[] = {
    {alone, "the view is without this device or without keys"},
    {empty, "the view is without this device or without keys"},
    {without_me, "the view is without this device or without keys"},
    {no_key_to_next, "the view is without this device or without keys"},
    {short_key_to_next, "the view is without this device or without keys"},
    {long_key_from_previous, "the view is without this device or without keys"},
    {gap_at_the_start, "the view's shares have gaps"},
    {gap_inside, "the view's shares have gaps"},
    {overlap, "the view's shares have gaps"},
    {grains_that_wrap, "the view's shares have gaps"},
    {no_grains, "the view has no grains"},
    {port_of_nothing, "the view's address of the next device makes no sense"},
    {port_too_high, "the view's address of the next device makes no sense"},
    {host_of_nothing, "the view's address of the next device makes no sense"},
    {host_too_long, "the view's address of the next device makes no sense"},
};

static void views_without_sense_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        sent s;
        sh_view view = {.number = 77};
        make(&s);
        assert_ok(sh_view_read(&view, &s.message, 5));
        view = (sh_view){.number = 77};
        damages[i].spoil(&s);
        assert_fails(sh_view_read(&view, &s.message, 5), SH_FORMAT, damages[i].part);
        assert_int_equal(view.number, 77); /* untouched */
    }
}

/* Only the next device's address is read: the others' are not sent along. */
static void other_addresses_do_not_matter(void **state)
{
    (void)state;
    sent s;
    sh_view view;
    make(&s);
    for (int i = 0; i < MEMBERS; i += 2) {
        s.members[i].host = (char *)"";
        s.members[i].port = 0;
    }
    assert_ok(sh_view_read(&view, &s.message, 5));
    s.long_host[SH_TOKEN_HOST - 1] = '\0'; /* the longest that fits */
    s.members[1].host = s.long_host;
    assert_ok(sh_view_read(&view, &s.message, 5));
    assert_string_equal(view.next_host, s.long_host);
}

static void a_link_has_one_name_at_both_ends(void **state)
{
    (void)state;
    static const struct {
        uint32_t number, devices, from;
        const char *identity;
    } links[] = {
        {1, 2, 0, "link/1/0>1"},
        {1, 2, 1, "link/1/1>0"},
        {7, 3, 2, "link/7/2>0"},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX - 1, "link/4294967295/4294967294>0"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char identity[SH_LINK_IDENTITY];
        const sh_view view = {.number = links[i].number, .devices = links[i].devices};
        sh_view_identity(identity, &view, links[i].from);
        assert_string_equal(identity, links[i].identity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_finds_its_place),
        cmocka_unit_test(views_without_sense_are_refused),
        cmocka_unit_test(other_addresses_do_not_matter),
        cmocka_unit_test(a_link_has_one_name_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
