/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/coordinator_impl.h"

_Static_assert(SH_GAUGE_BYTES_MAX <= SH_MESSAGE_PADDING_MAX, "a probe is a message");

static uint64_t now_ns(const client *one)
{
    return sh_clock_now_ns(one->of->options.clock);
}

void sh_client_probe(client *to)
{
    static uint8_t padding[SH_GAUGE_BYTES_MAX];
    sh_probe probe;
    if (!sh_gauge_next(&to->gauge, now_ns(to), &probe))
        return;
    Shoal__Probe body = SHOAL__PROBE__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(PROBE, probe, &body);
    body.number = probe.number;
    body.wanted = probe.wanted;
    body.padding = (ProtobufCBinaryData){probe.bytes, padding};
    sh_client_send(to, &message);
}

void sh_client_take_echo(client *from, uint32_t number)
{
    sh_gauge_answer(&from->gauge, number, now_ns(from));
    sh_client_probe(from);
}

void sh_client_send_standby(client *to, const char *text)
{
    Shoal__Rest body = SHOAL__REST__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(REST, rest, &body);
    body.reason = (char *)(uintptr_t)text;
    sh_client_send(to, &message);
}
