/* SPDX-License-Identifier: Apache-2.0 */
/* The request is a file with a device's name, or empty; the answer is a file with "yes NAME" or "no
 * REASON". */
#include "node/job/handover_request.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "shoal/hand_over.h"
#include "store/file.h"

#define LOOK_NS 200000000u
#define ANSWER_MS 10000 /* a step may be long */
#define POLL_MS 20
#define YES "yes "
#define NO "no "

bool sh_handover_request_take(sh_handover_request *handover, const sh_run *run, uint64_t now_ns)
{
    char path[SH_PATH_BYTES], *text;
    size_t bytes;
    if (now_ns < handover->looked_ns + LOOK_NS)
        return false;
    handover->looked_ns = now_ns;
    if (sh_run_path(run, SH_RUN_REQUEST, path) != SH_OK || access(path, F_OK) != 0 ||
        sh_file_read_own(&text, &bytes, path, SH_NAME_BYTES - 1) != SH_OK)
        return false;
    unlink(path);
    handover->run = run;
    snprintf(handover->name, sizeof handover->name, "%.*s", (int)bytes, text);
    free(text);
    return true;
}

void sh_handover_request_answer(const sh_handover_request *handover, bool good, const char *text)
{
    char path[SH_PATH_BYTES], answer[SH_MESSAGE_BYTES];
    snprintf(answer, sizeof answer, "%s%.900s", good ? YES : NO, text);
    if (sh_run_path(handover->run, SH_RUN_ANSWER, path) != SH_OK ||
        sh_file_replace_private(path, answer, strlen(answer)) != SH_OK)
        sh_log(SH_LOG_WARN, "handover.unanswered", "reason=\"%s\"", sh_message());
}

/* ---- the requesting side --------------------------------------------------------------------- */

static sh_status read_answer(char receiver[SH_NAME_BYTES], const char *text)
{
    char clean[SH_MESSAGE_BYTES];
    if (strncmp(text, YES, strlen(YES)) != 0)
        return sh_fail(SH_REFUSED, "%.900s",
                       sh_utf8_clean(clean, sizeof clean, text + strnlen(text, strlen(NO))));
    snprintf(receiver, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, text + strlen(YES));
    return SH_OK;
}

sh_status sh_hand_over(char receiver[SH_NAME_BYTES], const char *run, const char *device)
{
    char request[SH_PATH_BYTES], answer[SH_PATH_BYTES], *text;
    const char *name = device == NULL ? "" : device;
    if (strlen(name) >= SH_NAME_BYTES)
        return sh_fail(SH_INVALID, "'%.80s...': too long for a device's name", name);
    SH_TRY(sh_path_join(request, run, SH_RUN_REQUEST));
    SH_TRY(sh_path_join(answer, run, SH_RUN_ANSWER));
    unlink(answer);
    SH_TRY(sh_file_replace_private(request, name, strlen(name)));
    for (uint32_t waited_ms = 0; waited_ms < ANSWER_MS; waited_ms += POLL_MS) {
        if (sh_file_read_own(&text, NULL, answer, SH_MESSAGE_BYTES - 1) == SH_OK) {
            const sh_status status = read_answer(receiver, text);
            free(text);
            unlink(answer);
            return status;
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    unlink(request);
    return sh_fail(SH_LIMIT,
                   "%.160s: its training has not answered for %d s: it has ended, hangs, or has "
                   "not finished its first step",
                   run, ANSWER_MS / 1000);
}
