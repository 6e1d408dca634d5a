/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_losses.h"

#include <stdio.h>
#include <string.h>

void sh_membership_lose(sh_membership *membership, sh_roster_entry *one, const char *reason,
                        sh_farewell word)
{
    const uint64_t silent_ms = sh_silence_ms(&one->silence, membership->clock_ms);
    const bool seated = one->seated, told = one->ready && !one->dismissed;
    one->present = false;
    if (word != SH_FAREWELL_NONE) {
        sh_membership_act(membership, SH_MEMBERSHIP_REFUSE, one->device, "%.255s", reason);
        membership->actions[membership->action_count - 1].again = word == SH_FAREWELL_SILENCE;
    }
    if (told)
        sh_membership_note(membership, SH_NEWS_LOST, one->device,
                           "device %.64s was lost %llu ms after it was last heard: %.255s",
                           one->name, (unsigned long long)silent_ms, reason);
    sh_membership_drop_transfers(membership, one->device);
    if (!seated && !sh_membership_expects(membership, one->device))
        return;
    if (sh_membership_is_done(membership))
        sh_membership_end(membership, SH_OK, "");
    else if (!seated)
        sh_membership_give_up(membership);
    else if (membership->phase != SH_MEMBERSHIP_HALTING)
        sh_membership_halt(membership);
}

void sh_membership_put_out(sh_membership *membership, sh_roster_entry *one, const char *reason,
                           bool guilty)
{
    sh_membership_note(membership, SH_NEWS_LOST, one->device, "device %.64s is put out: %.255s",
                       one->name, reason);
    sh_membership_remember(membership, one->name, guilty);
    one->ready = false; /* this was told */
    sh_membership_lose(membership, one, reason, SH_FAREWELL_REFUSAL);
}

void sh_membership_remember(sh_membership *membership, const char *name, bool guilty)
{
    sh_outcast *outcast = (sh_outcast *)sh_membership_outcast(membership, name);
    if (outcast == NULL)
        outcast = &membership->outcasts[membership->outcast_count++ % SH_MEMBERSHIP_OUTCASTS];
    outcast->guilty = guilty;
    snprintf(outcast->name, sizeof outcast->name, "%s", name);
}

const sh_outcast *sh_membership_outcast(const sh_membership *membership, const char *name)
{
    for (uint32_t i = 0; i < SH_MEMBERSHIP_OUTCASTS; i++)
        if (name[0] != '\0' && strcmp(membership->outcasts[i].name, name) == 0)
            return &membership->outcasts[i];
    return NULL;
}
