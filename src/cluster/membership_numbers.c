/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_numbers.h"

#include <stdio.h>

#include "cluster/membership_losses.h"

static bool is_there(const sh_membership *membership, uint32_t seat)
{
    const sh_roster_entry *one = sh_membership_seated(membership, &membership->next, seat);
    return membership->recovery.agreement[seat] == SH_REPLICA_AT &&
           sh_position_same(one->notice.position, membership->recovery.target);
}

static bool is_suspected(const sh_membership *membership, uint32_t device)
{
    return membership->faults.suspecting && membership->faults.suspected == device &&
           sh_position_same(membership->faults.suspected_at, membership->recovery.target);
}

static sh_finding end(sh_membership *membership, const char *who)
{
    char text[2 * SH_MEMBERSHIP_TEXT];
    snprintf(
        text, sizeof text,
        "step %llu: the result of %.200s is no longer finite; the learning rate may be too high",
        (unsigned long long)membership->recovery.target.steps + 1, who);
    sh_membership_end(membership, SH_NUMERIC, text);
    return SH_FINDING_END;
}

/* Evicts a device that had such numbers again where others had none; ends the job for device 0. */
static sh_finding put_out(sh_membership *membership, sh_roster_entry *one)
{
    char reason[SH_MEMBERSHIP_TEXT];
    const char *remedy =
        one->device == 0 ? "; continue from the checkpoint with --resume, on another device" : "";
    snprintf(reason, sizeof reason,
             "%s alone had non-finite numbers twice, last in step %llu: its memory or processor "
             "computes wrongly%s",
             one->device == 0 ? "this device" : "it",
             (unsigned long long)membership->recovery.target.steps + 1, remedy);
    if (one->device == 0) {
        sh_membership_end(membership, SH_DIVERGED, reason);
        return SH_FINDING_END;
    }
    sh_membership_evict(membership, one, reason, false);
    return SH_FINDING_OUT;
}

sh_finding sh_membership_check_numbers(sh_membership *membership)
{
    sh_roster_entry *guilty = NULL;
    uint32_t count = 0;
    bool by_zero = false, explained = false;
    if (!membership->faults.not_finite)
        return SH_FINDING_NOBODY;
    membership->faults.not_finite = false;
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->next, i);
        explained = explained || (!is_there(membership, i) && one->notice.own_not_finite);
        if (!is_there(membership, i))
            continue;
        by_zero = by_zero || (one->device == 0 && one->notice.not_finite >= membership->now.number);
        count += one->notice.own_not_finite;
        guilty = one->notice.own_not_finite ? one : guilty;
    }
    for (uint32_t i = 0; i < membership->now.seat_count; i++)
        explained = explained || sh_membership_seated(membership, &membership->now, i) == NULL;
    if (explained && count == 0)
        return SH_FINDING_NOBODY; /* by a device that is lost or receives another replica */
    if (count > 1 || membership->next.seat_count == 1)
        return end(membership, count > 1 ? "several devices" : "this device");
    if (guilty == NULL) /* a sum that overflows, or a false report */
        return by_zero ? end(membership, "all devices together") : SH_FINDING_NOBODY;
    if (membership->faults.suspecting && !is_suspected(membership, guilty->device) &&
        sh_position_same(membership->faults.suspected_at, membership->recovery.target))
        return end(membership, "a second device");
    if (guilty->wrong_numbers > 0 || is_suspected(membership, guilty->device))
        return put_out(membership, guilty);
    membership->faults.suspecting = true;
    membership->faults.suspected = guilty->device;
    membership->faults.suspected_at = membership->recovery.target;
    sh_membership_note(
        membership, SH_NEWS_REPAIRED, guilty->device,
        "device %.64s alone has non-finite numbers in step %llu: others compute its grains again",
        guilty->name, (unsigned long long)membership->recovery.target.steps + 1);
    return SH_FINDING_NOBODY;
}

void sh_membership_spare_suspect(const sh_membership *membership, sh_range *shares)
{
    const sh_seating *next = &membership->next;
    for (uint32_t i = 0; i < next->seat_count && next->seat_count > 1; i++) {
        if (!is_suspected(membership, next->seats[i].device))
            continue;
        sh_range *successor = i > 0 ? &shares[i - 1] : &shares[1];
        if (i == 0)
            successor->first = shares[0].first;
        else
            shares[i].first += shares[i].count;
        successor->count += shares[i].count;
        shares[i].count = 0;
    }
}

void sh_membership_numbers_passed(sh_membership *membership)
{
    sh_roster_entry *one = sh_membership_find(membership, membership->faults.suspected);
    if (membership->faults.suspecting && one != NULL) {
        one->wrong_numbers++;
        sh_membership_note(membership, SH_NEWS_DEFECT, one->device,
                           "device %.64s alone had non-finite numbers in step %llu: if it has some "
                           "again, it is evicted",
                           one->name,
                           (unsigned long long)membership->faults.suspected_at.steps + 1);
    }
    membership->faults.suspecting = false;
}
