/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/console.h"
#include "shoal/hand_over.h"
#include "shoal/runs.h"

typedef struct hand_over_values {
    const char *to;
} hand_over_values;

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "to", .value = "NAME",
     .help = "device that takes over (default: the first that can)",
     .offset = offsetof(hand_over_values, to)},
    {.kind = SH_OPTION_END},
};

static int run(const sh_arguments *arguments, void *values)
{
    const hand_over_values *given = values;
    const char *folder = arguments->positionals[0];
    char receiver[SH_NAME_BYTES];
    sh_run_snapshot snapshot;
    if (sh_run_look(&snapshot, folder) != SH_OK)
        return sh_console_fail("%s", sh_message());
    const sh_run_state state = snapshot.about.state;
    sh_run_snapshot_release(&snapshot);
    if (state != SH_STATE_RUNNING)
        return sh_console_fail("%s: is not running (%s): nothing to hand over", folder,
                               sh_run_state_text(state));
    if (sh_hand_over(receiver, folder, given->to) != SH_OK)
        return sh_console_fail("%s", sh_message());
    sh_console_note("%s coordinates the job from now on; the former coordinator takes part",
                    receiver);
    return SH_EXIT_DONE;
}

const sh_command sh_hand_over_command = {
    .name = "hand-over",
    .usage = "RUN [--to NAME]",
    .summary = "makes another device coordinate a running training",
    .details = "RUN is the folder of the training, on the device that coordinates it. Another\n"
               "device takes over at once, with its own run folder (shoal join --run DIR) and the "
               "same token; the\n"
               "first one takes part as a device, and may leave. The weights are the same.\n"
               "\n"
               "examples:\n"
               "  shoal hand-over runs/RUN\n"
               "  shoal hand-over runs/RUN --to attic\n",
    .options = options,
    .values_bytes = sizeof(hand_over_values),
    .positionals_least = 1,
    .positionals_most = 1,
    .run = run,
};
