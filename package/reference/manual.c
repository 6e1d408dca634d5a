/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages in the macros of man(7), which groff and mandoc read. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "shoal/about.h"

#define LINE_BYTES 72 /* of text that troff fills again */

/* Writes `length` bytes of text, so that troff shows them as they are. Dashes of options, and all
 * of literal lines, are those of the keyboard. Other text is broken into lines anew. */
static void escape(FILE *file, const char *text, size_t length, bool literal)
{
    bool in_option = false, begins = true; /* a line, which a dot would make a request */
    size_t column = 0;
    for (size_t i = 0; i < length; i++, column++) {
        const char before = i > 0 ? text[i - 1] : '\n', c = text[i];
        if (begins && (c == '.' || c == '\''))
            fputs("\\&", file);
        begins = c == '\n';
        if (c == '-')
            in_option |= strchr("\n ('[|", before) != NULL;
        else if (isspace((unsigned char)c))
            in_option = false;
        if (isspace((unsigned char)c) && !literal && i + 1 < length) {
            begins = column + 1 + strcspn(text + i + 1, " \n") > LINE_BYTES;
            column = begins ? 0 : column;
            fputc(begins ? '\n' : ' ', file);
        } else if (c == '\\') {
            fputs("\\e", file);
        } else if (c == '-' && (literal || in_option)) {
            fputs("\\-", file);
        } else if (c == '\'' && literal) {
            fputs("\\(aq", file);
        } else if (c == '~') {
            fputs("\\(ti", file);
        } else {
            fputc(c, file);
        }
    }
}

static void say(FILE *file, const char *text)
{
    escape(file, text, strlen(text), false);
}

static void write_literal(FILE *file, const sh_block *block)
{
    fputs(".nf\n", file);
    for (const char *line = block->text; line < block->text + block->bytes;) {
        const size_t length = strcspn(line, "\n");
        escape(file, line, length, true);
        fputc('\n', file);
        line += length + 1;
    }
    fputs(".fi\n", file);
}

static void write_details(FILE *file, const char *details)
{
    sh_block block;
    bool first = true;
    while (sh_block_next(&block, &details)) {
        if (block.examples) {
            (void)sh_block_next(&block, &details); /* the page has a part for them */
            continue;
        }
        if (block.apart && !first)
            fputs(".PP\n", file);
        if (block.literal)
            write_literal(file, &block);
        else
            escape(file, block.text, block.bytes, false);
        first = false;
    }
}

static void write_examples(FILE *file, const char *details)
{
    sh_block block;
    while (sh_block_next(&block, &details))
        if (block.examples && sh_block_next(&block, &details)) {
            fputs(".SH EXAMPLES\n", file);
            write_literal(file, &block);
        }
}

static void write_data_formats(FILE *file)
{
    sh_data_info info;
    fputs(".SS Data\nDATA is one of these, or a folder that is recognised by its files.\n", file);
    for (size_t i = 0; sh_data_list(i, &info) == SH_OK; i++) {
        fputs(".TP\n.B ", file);
        escape(file, info.usage, strlen(info.usage), true);
        fputc('\n', file);
        say(file, info.summary);
        fputc('\n', file);
    }
}

static void write_options(FILE *file, const sh_command *command)
{
    sh_option *options = sh_shown_options(command);
    fputs(".SH OPTIONS\n", file);
    for (const sh_option *each = options; each->kind != SH_OPTION_END; each++) {
        char chosen[32];
        fputs(".TP\n", file);
        if (each->letter != 0)
            fprintf(file, "\\fB\\-%c\\fR, ", each->letter);
        fputs("\\fB\\-\\-", file);
        escape(file, each->name, strlen(each->name), true);
        fputs("\\fR", file);
        if (each->value != NULL) {
            fputs(" \\fI", file);
            escape(file, each->value, strlen(each->value), true);
            fputs("\\fR", file);
        }
        fputc('\n', file);
        sh_shown_default(command, each, chosen);
        char text[256];
        snprintf(text, sizeof text, "%s%s%s%s", each->help, chosen[0] != '\0' ? " (default " : "",
                 chosen, chosen[0] != '\0' ? ")" : "");
        say(file, text);
        fputc('\n', file);
    }
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a short form of this page\n", file);
    free(options);
}

static void write_exit_codes(FILE *file, const sh_command *command)
{
    int code;
    const char *text;
    fputs(".SH EXIT STATUS\n", file);
    for (size_t i = 0; sh_exit_code_at(command, i, &code, &text); i++) {
        fprintf(file, ".TP\n.B %d\n", code);
        say(file, text);
        fputc('\n', file);
    }
}

static void write_surroundings(FILE *file, const sh_command *command, bool files)
{
    size_t at = 0;
    for (const sh_surrounding *one, *first = NULL;
         (one = sh_surrounding_next(command, files, &at)) != NULL;) {
        if (first == NULL)
            fputs(files ? ".SH FILES\n" : ".SH ENVIRONMENT\n", file);
        first = one;
        fputs(files ? ".TP\n.I " : ".TP\n.B ", file);
        escape(file, one->name, strlen(one->name), true);
        fputc('\n', file);
        say(file, one->text);
        fputc('\n', file);
    }
}

static void write_see_also(FILE *file, const sh_command *self)
{
    fputs(".SH SEE ALSO\n", file);
    if (self != NULL)
        fputs(".BR shoal (1),\n", file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
        if (*each != self)
            fprintf(file, ".BR shoal\\-%s (1),\n", (*each)->name);
    fputs(".BR shoal\\-join@.service (8)\n", file);
}

static void write_overview(FILE *file)
{
    fputs(".SH NAME\nshoal \\- trains one neural network on many small computers as if they were "
          "one\n"
          ".SH SYNOPSIS\n.B shoal\n.I COMMAND\n.RI [ arguments ]\n"
          ".SH DESCRIPTION\n.B shoal train\ntrains a network on one device, and\n"
          ".B shoal join\nlends other devices to it. The weights depend on the job alone,\n"
          "bit for bit: not on how many devices take part, nor on which device\n"
          "computes what. Only devices that have the job's token can take part.\n"
          "All traffic between devices is encrypted.\n"
          ".SH COMMANDS\nEach command has a page of its own.\n",
          file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        fprintf(file, ".TP\n\\fB%s\\fR ", (*each)->name);
        escape(file, (*each)->usage, strlen((*each)->usage), true);
        fputc('\n', file);
        say(file, (*each)->summary);
        fputc('\n', file);
    }
}

static void write_command(const sh_command *command, FILE *file)
{
    fprintf(file, ".SH NAME\nshoal\\-%s \\- ", command->name);
    say(file, command->summary);
    fprintf(file, "\n.SH SYNOPSIS\n.B shoal %s\n", command->name);
    escape(file, command->usage, strlen(command->usage), true);
    fputc('\n', file);
    if (command->details != NULL || strstr(command->usage, "DATA") != NULL)
        fputs(".SH DESCRIPTION\n", file);
    write_details(file, command->details);
    if (strstr(command->usage, "DATA") != NULL)
        write_data_formats(file);
    write_options(file, command);
}

void sh_manual_write(const sh_command *command, FILE *file)
{
    char title[32] = "SHOAL";
    if (command != NULL)
        snprintf(title, sizeof title, "SHOAL\\-%s", command->name);
    for (char *c = title; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    fprintf(file,
            ".\\\" SPDX-License-Identifier: Apache-2.0\n"
            ".\\\" Made from the tables in src/cli by package/reference.\n"
            ".TH %s 1 \"\" \"shoal %s\" \"User commands\"\n",
            title, sh_version());
    if (command != NULL)
        write_command(command, file);
    else
        write_overview(file);
    write_exit_codes(file, command);
    write_surroundings(file, command, false);
    write_surroundings(file, command, true);
    if (command != NULL)
        write_examples(file, command->details);
    else
        fputs(
            ".SH EXAMPLES\n.nf\n  shoal train lenet digits \\-\\-epochs 2\n"
            "  shoal train lenet mnist:DIR \\-\\-listen :7700\n  shoal join \\(aqshoal://...\\(aq\n"
            ".fi\n",
            file);
    write_see_also(file, command);
}
