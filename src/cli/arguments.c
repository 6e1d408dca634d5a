/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getopt_long accepts abbreviations, which break scripts when an option is added, and leaves values
 * unchecked; so the parser is written out here. Numbers must be numbers to their last letter:
 * strtoull and strtof alone would take "12x", " 7", "-1" (as a huge number) and "nan".
 */
#include "cli/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cut where someone pastes a page into an option. */
#define SHOWN "%.160s"

static bool refuse(sh_trouble *trouble, const sh_option *option, const char *text,
                   const char *reason)
{
    sh_trouble_set(trouble, "--%s " SHOWN ": %s", option->name, text, reason);
    return false; /* said here, so that the compiler sees that no refusal stores a value */
}

static bool check_range(sh_trouble *trouble, const sh_option *option, const char *text,
                        uint64_t number, bool too_large, uint64_t type_max)
{
    const uint64_t max = option->max != 0 ? option->max : type_max;
    char reason[64];
    if (too_large || number > max) {
        snprintf(reason, sizeof reason, "must be at most %" PRIu64, max);
        return refuse(trouble, option, text, reason);
    }
    if (number < option->min) {
        snprintf(reason, sizeof reason, "must be at least %" PRIu64, option->min);
        return refuse(trouble, option, text, reason);
    }
    return true;
}

static bool refuse_form(sh_trouble *trouble, const sh_option *option, const char *text,
                        const char *form)
{
    char reason[96];
    snprintf(reason, sizeof reason, "must be %s, at least %" PRIu64, form, option->min);
    return refuse(trouble, option, text, reason);
}

static bool read_whole(uint64_t *number, sh_trouble *trouble, const sh_option *option,
                       const char *text, uint64_t type_max)
{
    if (!is_digit(text[0]))
        return refuse_form(trouble, option, text, "a whole number");
    char *end;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    const bool too_large = errno == ERANGE;
    if (*end != '\0')
        return refuse_form(trouble, option, text, "a whole number");
    if (!check_range(trouble, option, text, value, too_large, type_max))
        return false;
    *number = value;
    return true;
}

static bool store_u32(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    uint64_t number;
    if (!read_whole(&number, trouble, option, text, UINT32_MAX))
        return false;
    const uint32_t value = (uint32_t)number;
    memcpy(field, &value, sizeof value);
    return true;
}

static bool store_u64(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    uint64_t number;
    if (!read_whole(&number, trouble, option, text, UINT64_MAX))
        return false;
    memcpy(field, &number, sizeof number);
    return true;
}

static bool store_bytes(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    static const char form[] = "must be a size such as 96M or 2G";
    static const char units[] = "KMGT";
    if (!is_digit(text[0]))
        return refuse(trouble, option, text, form);
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    bool too_large = errno == ERANGE;
    if (*end != '\0') {
        const char *unit = strchr(units, *end);
        if (unit == NULL || (end[1] != '\0' && strcmp(end + 1, "iB") != 0))
            return refuse(trouble, option, text, form);
        for (const char *u = units; u <= unit; u++)
            too_large = __builtin_mul_overflow(value, UINT64_C(1024), &value) || too_large;
    }
    if (!check_range(trouble, option, text, value, too_large, UINT64_MAX))
        return false;
    memcpy(field, &value, sizeof value);
    return true;
}

static bool store_float(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    char reason[64];
    char *end;
    errno = 0;
    const float value = strtof(text, &end);
    const bool decimal = text[strspn(text, "+-.0123456789eE")] == '\0';
    if (!decimal || end == text || *end != '\0')
        return refuse(trouble, option, text, "must be a number, such as 0.01 or 1e-4");
    if (!isfinite(value) || (value == 0 && errno == ERANGE))
        return refuse(trouble, option, text, "does not fit a 32-bit floating-point number");
    if (value < (float)option->min) {
        snprintf(reason, sizeof reason, "must be at least %" PRIu64, option->min);
        return refuse(trouble, option, text, reason);
    }
    if (option->max != 0 && value >= (float)option->max) {
        snprintf(reason, sizeof reason, "must be below %" PRIu64, option->max);
        return refuse(trouble, option, text, reason);
    }
    memcpy(field, &value, sizeof value);
    return true;
}

static bool check_text(sh_trouble *trouble, const sh_option *option, const char *text)
{
    char reason[64];
    if (text[0] == '\0')
        return sh_trouble_set(trouble, "--%s: must not be empty", option->name);
    if (option->max != 0 && strlen(text) > option->max) {
        snprintf(reason, sizeof reason, "must have at most %" PRIu64 " bytes", option->max);
        return refuse(trouble, option, text, reason);
    }
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return sh_trouble_set(trouble, "--%s: must not have control characters in it",
                                  option->name);
    return true;
}

static bool store_text(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    if (!check_text(trouble, option, text))
        return false;
    memcpy(field, &text, sizeof text);
    return true;
}

static bool store_name(sh_trouble *trouble, const sh_option *option, const char *text, void *field)
{
    if (!check_text(trouble, option, text))
        return false;
    memcpy(field, text, strlen(text) + 1);
    return true;
}

static bool store(sh_trouble *trouble, const sh_option *option, const char *text, void *values)
{
    void *field = (char *)values + option->offset;
    switch (option->kind) {
    case SH_OPTION_U32:
        return store_u32(trouble, option, text, field);
    case SH_OPTION_U64:
        return store_u64(trouble, option, text, field);
    case SH_OPTION_BYTES:
        return store_bytes(trouble, option, text, field);
    case SH_OPTION_FLOAT:
        return store_float(trouble, option, text, field);
    case SH_OPTION_TEXT:
        return store_text(trouble, option, text, field);
    case SH_OPTION_NAME:
        return store_name(trouble, option, text, field);
    case SH_OPTION_FLAG:
    case SH_OPTION_END:
        break; /* take_option deals with those that have no value */
    }
    return false;
}

static const sh_option *find(const sh_option *options, const char *name, size_t length)
{
    for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const sh_option *find_letter(const sh_option *options, const char *name, size_t length)
{
    for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
        if (length == 1 && option->letter == name[0])
            return option;
    return NULL;
}

/* `text` is the argument as typed, `length` that of the name in it. */
static bool unknown(sh_trouble *trouble, const sh_option *options, const char *text,
                    const char *name, size_t length)
{
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", length < sizeof typed ? (int)length : 63, name);
    sh_suggestion meant = {.typed = typed};
    for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
        if (!option->hidden)
            sh_suggestion_offer(&meant, option->name);
    sh_suggestion_offer(&meant, "help");
    const int shown = (int)(name - text) + (length < 160 ? (int)length : 160);
    if (meant.name == NULL)
        return sh_trouble_set(trouble, "unknown option %.*s", shown, text);
    return sh_trouble_set(trouble, "unknown option %.*s; did you mean --%s?", shown, text,
                          meant.name);
}

/* Takes the option at argv[*at], and moves *at on where its value is the next argument. */
static bool take_option(sh_arguments *arguments, sh_trouble *trouble, const sh_option *options,
                        void *values, int argc, char *const *argv, int *at)
{
    const char *text = argv[*at];
    const bool is_long = text[1] == '-';
    const char *name = text + (is_long ? 2 : 1);
    const size_t length = strcspn(name, "=");
    const sh_option *option =
        is_long ? find(options, name, length) : find_letter(options, name, length);
    if (option == NULL)
        return unknown(trouble, options, text, name, length);

    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    arguments->marks |= option->marks;
    if (option->kind == SH_OPTION_FLAG) {
        if (value != NULL)
            return sh_trouble_set(trouble, "--%s: takes no value", option->name);
        const bool on = true;
        memcpy((char *)values + option->offset, &on, sizeof on);
        return true;
    }
    if (value == NULL && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
        value = argv[++*at];
    if (value == NULL)
        return sh_trouble_set(trouble, "--%s: needs a value, %s", option->name, option->value);
    return store(trouble, option, value, values);
}

static bool asks_for_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

bool sh_arguments_parse(sh_arguments *arguments, sh_trouble *trouble, const sh_option *options,
                        void *values, int argc, char *const *argv)
{
    *arguments = (sh_arguments){.help = asks_for_help(argc, argv)};
    if (arguments->help)
        return true;
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && text[0] == '-' && text[1] != '\0') {
            if (!take_option(arguments, trouble, options, values, argc, argv, &i))
                return false;
        } else {
            if (arguments->positional_count == SH_POSITIONALS_MAX)
                return sh_trouble_set(trouble, "unexpected argument '" SHOWN "'", text);
            arguments->positionals[arguments->positional_count++] = text;
        }
    }
    return true;
}

void sh_option_default(const sh_option *option, const void *values, char text[32])
{
    const void *field = (const char *)values + option->offset;
    uint32_t u32;
    uint64_t u64;
    float number;
    text[0] = '\0';
    if (option->kind == SH_OPTION_U32) {
        memcpy(&u32, field, sizeof u32);
        snprintf(text, 32, "%" PRIu32, u32);
    } else if (option->kind == SH_OPTION_U64) {
        memcpy(&u64, field, sizeof u64);
        snprintf(text, 32, "%" PRIu64, u64);
    } else if (option->kind == SH_OPTION_FLOAT) {
        memcpy(&number, field, sizeof number);
        snprintf(text, 32, "%g", (double)number);
    } else if (option->kind == SH_OPTION_NAME) {
        snprintf(text, 32, "%s", (const char *)field);
    }
}
