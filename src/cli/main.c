/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"

static int run(int argc, char **argv)
{
    if (argc < 2)
        return sh_console_misuse(NULL, "no command given");
    const char *name = argv[1]; /* conventional options for commands */
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    const sh_command *command = sh_command_find(name);
    if (command == NULL)
        return sh_command_unknown(name);
    return sh_command_run(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an ordinary error */
    return sh_console_finish(run(argc, argv));
}
