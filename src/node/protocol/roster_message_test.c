/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/roster_message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "plan/device_list.h"

static sh_device_info devices[2];
static sh_device_list sent = {.batch_size = 64, .grain = 16, .steps = 7, .devices = devices};

static void fill(void)
{
    for (size_t i = 0; i < 2; i++)
        sh_device_info_clear(&devices[i]);
    sent.count = 2;
    snprintf(sent.model, sizeof sent.model, "lenet");
    snprintf(sent.data, sizeof sent.data, "digits");
    snprintf(devices[0].name, sizeof devices[0].name, "first");
    devices[0].state = SH_DEVICE_COMPUTES;
    devices[0].lanes = 4;
    devices[0].grains = 3;
    devices[0].samples_per_second = 480;
    devices[0].flops_per_second = 2e10;
    snprintf(devices[1].name, sizeof devices[1].name, "second");
    snprintf(devices[1].why, sizeof devices[1].why, "its link is slow");
    devices[1].state = SH_DEVICE_STANDBY;
    devices[1].in_bytes_per_second = 1e6;
    devices[1].out_bytes_per_second = 2e6;
    devices[1].delay_seconds = 0.003;
}

/* The caller changes the message in between. */
static sh_roster_message *pack(const sh_sample *newest)
{
    const sh_sample *samples[] = {newest, NULL};
    sh_roster_message *message;
    assert_ok(sh_roster_message_new(&message, &sent, samples));
    return message;
}

static void a_list_comes_back(void **state)
{
    (void)state;
    sh_sample newest;
    sh_device_list got;
    uint8_t *bytes;
    size_t count;
    Shoal__Message *back;
    fill();
    sh_sample_clear(&newest);
    newest.figures[SH_FIGURE_temperature_celsius] = 0; /* known, not missing */
    newest.figures[SH_FIGURE_memory_available_bytes] = 1e9;
    sh_roster_message *roster = pack(&newest);
    const Shoal__Message message = SH_MESSAGE_INIT(ROSTER, roster, &roster->body);
    assert_ok(sh_message_pack(&bytes, &count, &message));
    assert_ok(sh_message_unpack(&back, bytes, count));
    assert_ok(sh_roster_read(&got, back->roster));
    sh_message_free(back);
    free(bytes);
    free(roster);

    assert_string_equal(got.model, "lenet");
    assert_string_equal(got.data, "digits");
    assert_true(got.batch_size == 64 && got.grain == 16 && got.steps == 7 && got.count == 2);
    const sh_device_info *a = &got.devices[0], *b = &got.devices[1];
    assert_string_equal(a->name, "first");
    assert_true(a->state == SH_DEVICE_COMPUTES && a->lanes == 4 && a->grains == 3);
    assert_true(a->samples_per_second == 480 && a->flops_per_second == 2e10);
    assert_true(isnan(a->in_bytes_per_second) && isnan(a->power_watts));
    assert_true(a->temperature_celsius == 0 && a->memory_available_bytes == 1e9);
    assert_true(b->state == SH_DEVICE_STANDBY && isnan(b->temperature_celsius));
    assert_string_equal(b->why, "its link is slow");
    assert_true(b->in_bytes_per_second == 1e6 && b->out_bytes_per_second == 2e6);
    assert_true(b->delay_seconds == 0.003 && isnan(b->samples_per_second));
    sh_device_list_release(&got);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    sh_device_list got = {.count = 5};
    sh_sample newest;
    fill();
    sh_sample_clear(&newest);
    for (int i = 0; i < 6; i++) {
        sh_roster_message *roster = pack(&newest);
        Shoal__RosterDevice *second = roster->body.devices[1];
        char longest[300];
        memset(longest, 'x', sizeof longest);
        longest[299] = '\0';
        if (i == 0)
            roster->body.n_devices = 0;
        if (i == 1)
            second->state = SH_DEVICE_STATES;
        if (i == 2)
            second->name = (char *)"";
        if (i == 3)
            second->why = longest;
        if (i == 4)
            second->in_rate = -1;
        if (i == 5)
            roster->body.devices[0]->figures->known = UINT64_MAX;
        assert_fails(sh_roster_read(&got, &roster->body), SH_FORMAT, "");
        free(roster);
    }
    assert_int_equal(got.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_comes_back),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
