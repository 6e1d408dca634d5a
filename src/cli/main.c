/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"

/* The command that an option in its place stands for, by convention. */
static const char *command_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    return strcmp(word, "--version") == 0 ? "version" : word;
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return sh_console_misuse(NULL, "no command given");
    const char *name = command_name(argv[1]);
    const sh_command *command = sh_command_find(name);
    if (command == NULL)
        return sh_command_unknown(name);
    return sh_command_run(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error like others */
    return sh_console_finish(run(argc, argv));
}
