/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/about.h"

typedef struct version_values {
    const char *json;
} version_values;

#define FIELD(member) offsetof(version_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write it to FILE ('-': standard output) instead", .offset = FIELD(json)},
    {.kind = SH_OPTION_END},
};

static int run(const sh_arguments *arguments, void *values)
{
    (void)arguments;
    const version_values *given = values;
    const char *name, *variant;
    int present;
    if (sh_kernel_variant(&variant) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->json != NULL) {
        json_t *parts = json_object();
        for (size_t i = 0; sh_part_list(i, &name, &present) == SH_OK; i++)
            sh_json_set(&parts, name, json_boolean(present));
        json_t *root = json_pack("{s:s, s:s, s:s, s:o}", "version", sh_version(), "compiler",
                                 sh_build_compiler(), "variant", variant, "parts", parts);
        return sh_command_write_json(given->json, root, SH_EXIT_DONE);
    }
    sh_table *table = sh_table_new("<<", NULL);
    sh_table_add(table, "compiler");
    sh_table_add(table, sh_build_compiler());
    sh_table_add(table, "variant");
    sh_table_add(table, variant);
    for (size_t i = 0; sh_part_list(i, &name, &present) == SH_OK; i++) {
        sh_table_add(table, name);
        sh_table_add(table, present ? "yes" : "no");
    }
    printf("shoal %s\n", sh_version());
    return sh_command_print_table(table, "");
}

const sh_command sh_version_command = {
    .name = "version",
    .usage = "[--json FILE]",
    .summary = "shows the version, the compiler, and optional parts",
    .options = options,
    .values_bytes = sizeof(version_values),
    .run = run,
};
