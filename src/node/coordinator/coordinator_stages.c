/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: the engine's loop announces, or the step's thread; the step's thread enters views. */
#include <string.h>

#include "node/coordinator/coordinator_impl.h"

static uint32_t draw_audit(sh_coordinator *coordinator)
{
    unsigned char random[SH_KEY_BYTES];
    uint32_t numbers[4];
    if (sh_key_make(random) != SH_OK)
        return 0;
    memcpy(numbers, random, sizeof numbers);
    /* Device 0 is in the stage, so its replica does not change. */
    return sh_membership_draw_audit(coordinator->membership, coordinator->entered,
                                    sh_replica_position(coordinator->options.session->replica),
                                    numbers);
}

bool sh_coordinator_announce(sh_coordinator *coordinator, bool last, uint64_t *word)
{
    sh_membership *membership = coordinator->membership;
    pthread_mutex_lock(&coordinator->lock);
    const bool audits = coordinator->options.audit > 0;
    const uint32_t next = audits && !last ? 0 : sh_membership_announce(membership);
    const bool settled = last || (!audits && (next != 0 || !sh_membership_is_changing(membership)));
    const uint32_t audit = audits && last ? draw_audit(coordinator) : 0;
    if (next != 0)
        sh_membership_handle(membership,
                             &(sh_membership_event){SH_MEMBERSHIP_ANNOUNCED, .view = next});
    pthread_mutex_unlock(&coordinator->lock);
    *word = sh_sum_word(next, audit);
    return settled;
}

void sh_coordinator_enter(sh_coordinator *coordinator, uint32_t view, uint64_t step)
{
    sh_directive directive;
    pthread_mutex_lock(&coordinator->lock);
    coordinator->entered = view;
    const bool known = sh_membership_directive(&directive, coordinator->membership, 0);
    for (uint32_t i = 0; known && i < directive.seat_count; i++)
        directive.seats[i].device =
            sh_device_reports_first(&coordinator->reports, directive.seats[i].device);
    pthread_mutex_unlock(&coordinator->lock);
    if (known && directive.view == view) /* else it is already changing */
        sh_run_journal_view(coordinator->options.journal, view, step, directive.seats,
                            directive.seat_count);
}
