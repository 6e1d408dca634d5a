/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_losses.h"

#include <stdio.h>
#include <string.h>

#include "cluster/membership_transfers.h"

void sh_membership_lose(sh_membership *membership, sh_roster_entry *one, const char *reason,
                        sh_loss_message word)
{
    const uint64_t silent_ms = sh_silence_ms(&one->silence, membership->clock_ms);
    const bool seated = one->seated, told = one->ready && !one->dismissed;
    one->present = false;
    if (word != SH_LOSS_MESSAGE_NONE) {
        sh_membership_act(membership, SH_MEMBERSHIP_REFUSE, one->device, "%.255s", reason);
        membership->actions[membership->action_count - 1].again = word == SH_LOSS_MESSAGE_FOR_NOW;
    }
    if (told)
        sh_membership_note(membership, SH_NEWS_LOST, one->device,
                           "device %.64s was lost %llu ms after its last message: %.255s",
                           one->name, (unsigned long long)silent_ms, reason);
    sh_membership_drop_transfers(membership, one->device);
    membership->vacant = membership->vacant || seated;
    if (!seated && !sh_membership_expects(membership, one->device))
        return;
    if (sh_membership_is_done(membership))
        sh_membership_end(membership, SH_OK, "");
    else if (!seated)
        sh_membership_give_up(membership);
    else if (membership->phase != SH_MEMBERSHIP_HALTING)
        sh_membership_halt(membership);
}

void sh_membership_evict(sh_membership *membership, sh_roster_entry *one, const char *reason,
                         bool guilty)
{
    sh_membership_note(membership, SH_NEWS_LOST, one->device, "device %.64s is evicted: %.255s",
                       one->name, reason);
    sh_membership_remember(membership, one->name, guilty);
    one->ready = false;
    sh_membership_lose(membership, one, reason, SH_LOSS_MESSAGE_REFUSAL);
}

void sh_membership_remember(sh_membership *membership, const char *name, bool guilty)
{
    sh_evicted *evicted = (sh_evicted *)sh_membership_find_evicted(membership, name);
    if (evicted == NULL)
        evicted =
            &membership->faults.evicted[membership->faults.evicted_count++ % SH_FAULTS_EVICTED];
    evicted->guilty = guilty;
    snprintf(evicted->name, sizeof evicted->name, "%s", name);
}

const sh_evicted *sh_membership_find_evicted(const sh_membership *membership, const char *name)
{
    for (uint32_t i = 0; i < SH_FAULTS_EVICTED; i++)
        if (name[0] != '\0' && strcmp(membership->faults.evicted[i].name, name) == 0)
            return &membership->faults.evicted[i];
    return NULL;
}

/* The entry of the pair a < b; without one, reuses the entry that broke longest ago. */
static sh_broken_pair *pair_of(sh_membership *membership, uint32_t a, uint32_t b)
{
    sh_broken_pair *found = &membership->pairs[0];
    for (uint32_t i = 0; i < SH_MEMBERSHIP_PAIRS_MAX; i++) {
        sh_broken_pair *pair = &membership->pairs[i];
        if (pair->a == a && pair->b == b)
            return pair;
        if (pair->broke_ms < found->broke_ms)
            found = pair;
    }
    *found = (sh_broken_pair){.a = a, .b = b};
    return found;
}

void sh_membership_count_broken(sh_membership *membership, uint32_t reporter, uint32_t peer,
                                const char *address)
{
    const uint32_t a = reporter < peer ? reporter : peer, b = reporter < peer ? peer : reporter;
    sh_broken_pair *pair = pair_of(membership, a, b);
    pair->broke_ms = membership->clock_ms;
    pair->count += address != NULL && !sh_membership_works(membership) ? 2 : 1;
    if (pair->count < SH_MEMBERSHIP_PATIENCE)
        return;
    pair->count = 0;
    sh_roster_entry *later = sh_membership_find(membership, b);
    const sh_roster_entry *other = sh_membership_find(membership, a);
    char reason[SH_MEMBERSHIP_TEXT];
    if (later == NULL || other == NULL)
        return;
    if (address != NULL)
        snprintf(reason, sizeof reason,
                 "device %.40s cannot reach device %.40s at %.60s: allow connections there, or "
                 "choose another port with shoal join --port N",
                 reporter == a ? other->name : later->name,
                 reporter == a ? later->name : other->name, address);
    else
        snprintf(reason, sizeof reason,
                 "its link with device %.64s broke %d times: check the network", other->name,
                 SH_MEMBERSHIP_PATIENCE);
    sh_membership_lose(membership, later, reason, SH_LOSS_MESSAGE_REFUSAL);
}

void sh_membership_forget_broken(sh_membership *membership)
{
    for (uint32_t i = 0; i < SH_MEMBERSHIP_PAIRS_MAX; i++)
        membership->pairs[i].count = 0;
}

void sh_membership_fail_transfer(sh_membership *membership, sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    const bool once = transfer->once, live = transfer->live;
    sh_membership_drop_transfer(membership, transfer);
    if (once) {
        sh_membership_put_off_keeping(membership, one);
        return;
    }
    one->failures++;
    if (one->device == 0 && one->failures >= SH_MEMBERSHIP_PATIENCE * SH_MEMBERSHIP_PATIENCE)
        sh_membership_end(membership, SH_ABORTED,
                          "this device cannot receive a replica from the others: check its "
                          "network, and continue from the checkpoint with --resume");
    else if (one->device != 0 && one->failures >= SH_MEMBERSHIP_PATIENCE)
        sh_membership_lose(
            membership, one,
            "it could not receive a replica from the others in time: its connection is too slow",
            SH_LOSS_MESSAGE_REFUSAL);
    else if (live && !one->seated && one->failures + 1 == SH_MEMBERSHIP_PATIENCE &&
             sh_membership_works(membership)) {
        one->seated = true; /* its link may carry less than the steps change: they wait for it */
        sh_membership_halt(membership);
    } else if (one->seated && membership->phase == SH_MEMBERSHIP_ENTERING)
        sh_membership_halt(membership);
    else if (membership->phase != SH_MEMBERSHIP_RECOVERING &&
             sh_membership_expects(membership, one->device))
        sh_membership_give_up(membership);
}
