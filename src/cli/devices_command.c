/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/secrecy.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/device_rows.h"
#include "cli/json_file.h"
#include "cli/token_argument.h"
#include "shoal/device_info.h"

typedef struct devices_values {
    const char *json;
} devices_values;

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the list to FILE ('-': standard output)",
     .offset = offsetof(devices_values, json)},
    {.kind = SH_OPTION_END},
};

static int print(const sh_device_list *list)
{
    sh_quantity a, b;
    char model[SH_MODEL_BYTES], data[SH_DATA_BYTES];
    if (list->model[0] != '\0')
        printf("job         %s, %s, batches of %s, at step %s\n\n",
               sh_utf8_clean(model, sizeof model, list->model),
               sh_utf8_clean(data, sizeof data, list->data),
               sh_quantity_count(&a, list->batch_size, "sample"),
               sh_quantity_whole(&b, list->steps));
    int code = sh_device_rows_print(list);
    if (code == SH_EXIT_DONE)
        code = sh_device_rows_print_gpus(list);
    const bool idle = list->devices[0].state == SH_DEVICE_IDLE;
    if (code == SH_EXIT_DONE && idle && isnan(list->devices[0].flops_per_second))
        puts("\nIts speed is not known: run shoal bench.");
    return code;
}

static int run(const sh_arguments *arguments, void *values)
{
    const devices_values *given = values;
    char line[SH_TOKEN_LINE_BYTES];
    sh_device_list list;
    sh_status status;
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (arguments->positional_count == 0) {
        status = sh_devices_here(&list);
    } else if (!sh_token_is(arguments->positionals[0])) {
        status = sh_devices_read(&list, arguments->positionals[0]);
    } else {
        sh_secrecy_begin();
        const char *token = sh_token_argument(line, arguments->positionals[0]);
        if (token == NULL)
            return SH_EXIT_FAILURE;
        status = sh_devices_of_job(&list, token);
        explicit_bzero(line, sizeof line);
    }
    if (status != SH_OK)
        return sh_console_fail("%s", sh_message());
    const int code = sh_json_is_output(given->json) ? SH_EXIT_DONE : print(&list);
    const int done = sh_command_write_json(given->json, sh_device_rows_json(&list), code);
    sh_device_list_release(&list);
    return done;
}

const sh_command sh_devices_command = {
    .name = "devices",
    .usage = "[TOKEN|FILE] [options]",
    .summary = "lists the devices of a job, or this device",
    .details = "With the token of a running job: which devices compute, which are on standby and "
               "why, how fast they\n"
               "are, their links to the coordinator, free memory, temperature and power. The job "
               "is not disturbed.\n"
               "TOKEN may be -, to read it from standard input. Without an argument: this device, "
               "as shoal bench has\n"
               "measured it, and its GPUs. FILE is an earlier list of --json. shoal plan --on "
               "takes both.\n"
               "\n"
               "examples:\n"
               "  shoal devices\n"
               "  shoal devices - --json devices.json <token.txt\n"
               "  shoal plan resnet:20 cifar10:DIR --on devices.json\n",
    .options = options,
    .values_bytes = sizeof(devices_values),
    .positionals_most = 1,
    .run = run,
};
