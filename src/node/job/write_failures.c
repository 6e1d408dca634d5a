/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/write_failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [SH_WRITE_FAILURE_CHECKPOINT] = "checkpoints",
    [SH_WRITE_FAILURE_METRICS] = SH_RUN_METRICS,
    [SH_WRITE_FAILURE_BOARD] = "TensorBoard's file",
};

bool sh_write_failures_may_pass(sh_status status)
{
    return status == SH_NO_SPACE || status == SH_IO;
}

sh_status sh_write_failures_note(sh_write_failures *all, sh_write_failure kind, sh_status status,
                                 uint64_t now_ns, char text[SH_MESSAGE_BYTES])
{
    const bool before = all->kind[kind].lasts;
    text[0] = '\0';
    if (status != SH_OK && !sh_write_failures_may_pass(status))
        return status;
    all->kind[kind].lasts = status != SH_OK;
    all->kind[kind].retry_ns = now_ns + SH_WRITE_FAILURES_RETRY_NS;
    if (status != SH_OK)
        snprintf(all->kind[kind].reason, SH_MESSAGE_BYTES, "%s", sh_message());
    if (status != SH_OK && !before)
        snprintf(text, SH_MESSAGE_BYTES, "%.900s: training continues and retries every %llu s",
                 sh_message(), SH_WRITE_FAILURES_RETRY_NS / 1000000000);
    else if (status == SH_OK && before)
        snprintf(text, SH_MESSAGE_BYTES, "%s can be written again", names[kind]);
    return SH_OK;
}

bool sh_write_failures_is_due(const sh_write_failures *all, sh_write_failure kind, uint64_t now_ns)
{
    return all->kind[kind].lasts && now_ns >= all->kind[kind].retry_ns;
}

static void remove_first(sh_write_failures *all)
{
    free(all->lines[0]);
    all->line_count--;
    memmove(all->lines, all->lines + 1, all->line_count * sizeof *all->lines);
}

sh_status sh_write_failures_append(sh_write_failures *all, const sh_run *run, const char *line)
{
    if (line != NULL) {
        char *copy = strdup(line);
        if (copy == NULL)
            return sh_fail_memory(strlen(line) + 1, "a line of metrics");
        if (all->line_count == SH_WRITE_FAILURES_LINES) {
            remove_first(all);
            all->lost_lines++;
        }
        all->lines[all->line_count++] = copy;
    }
    while (all->line_count > 0) {
        SH_TRY(sh_run_append_line(run, SH_RUN_METRICS, all->lines[0]));
        remove_first(all);
    }
    return SH_OK;
}

bool sh_write_failures_left(const sh_write_failures *all, char text[SH_MESSAGE_BYTES])
{
    const unsigned missing = all->line_count + all->lost_lines;
    const bool board = all->kind[SH_WRITE_FAILURE_BOARD].lasts;
    if (missing > 0)
        snprintf(text, SH_MESSAGE_BYTES, "%u line%s of " SH_RUN_METRICS "%s never written: %.900s",
                 missing, missing == 1 ? "" : "s",
                 board          ? " and the end of TensorBoard's file were"
                 : missing == 1 ? " was"
                                : " were",
                 all->kind[SH_WRITE_FAILURE_METRICS].reason);
    else if (board)
        snprintf(text, SH_MESSAGE_BYTES, "the end of TensorBoard's file was never written: %.900s",
                 all->kind[SH_WRITE_FAILURE_BOARD].reason);
    return missing > 0 || board;
}

void sh_write_failures_release(sh_write_failures *all)
{
    while (all->line_count > 0)
        remove_first(all);
}
