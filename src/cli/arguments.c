/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why not getopt_long: it accepts abbreviations, which break scripts when an option is added, and
 * does not check values. Nor do strtoull and strtof check enough: they accept "12x", " 7", "-1" (as
 * a huge number) and "nan".
 */
#include "cli/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/suggestion.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

#define SHOWN "%.160s"

/* "--NAME TEXT: reason" */
__attribute__((format(printf, 3, 4))) static SHOAL_CHECKED sh_status refuse(const sh_option *option,
                                                                            const char *text,
                                                                            const char *format, ...)
{
    char reason[96];
    va_list values;
    va_start(values, format);
    vsnprintf(reason, sizeof reason, format, values);
    va_end(values);
    return sh_fail(SH_INVALID, "--%s " SHOWN ": %s", option->name, text, reason);
}

static sh_status check_range(const sh_option *option, const char *text, uint64_t number,
                             bool too_large, uint64_t type_max)
{
    /* A job checks its own maximum. */
    const bool checked_later = option->owner == SH_OPTION_OF_JOB;
    const uint64_t max = option->max != 0 && !checked_later ? (uint64_t)option->max : type_max;
    if (too_large || number > max)
        return refuse(option, text, "must be at most %" PRIu64, max);
    if (number < (uint64_t)option->min)
        return refuse(option, text, "must be at least %.0f", option->min);
    return SH_OK;
}

static sh_status store_whole(const sh_option *option, const char *text, void *field)
{
    const bool is_wide = option->kind == SH_OPTION_U64;
    char *end;
    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    const bool too_large = errno == ERANGE;
    if (!is_digit(text[0]) || *end != '\0')
        return refuse(option, text, "must be a whole number, at least %.0f", option->min);
    SH_TRY(check_range(option, text, number, too_large, is_wide ? UINT64_MAX : UINT32_MAX));
    const uint32_t narrow = (uint32_t)number;
    memcpy(field, is_wide ? (const void *)&number : &narrow,
           is_wide ? sizeof number : sizeof narrow);
    return SH_OK;
}

static sh_status store_bytes(const sh_option *option, const char *text, void *field)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    bool too_large = errno == ERANGE;
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    const bool is_whole =
        *end == '\0' || (unit != NULL && (end[1] == '\0' || strcmp(end + 1, "iB") == 0));
    if (!is_digit(text[0]) || !is_whole)
        return refuse(option, text, "must be a size such as 96M or 2G");
    for (const char *u = units; unit != NULL && u <= unit; u++)
        too_large = __builtin_mul_overflow(value, UINT64_C(1024), &value) || too_large;
    SH_TRY(check_range(option, text, value, too_large, UINT64_MAX));
    memcpy(field, &value, sizeof value);
    return SH_OK;
}

static sh_status store_float(const sh_option *option, const char *text, void *field)
{
    char *end;
    errno = 0;
    const float value = strtof(text, &end);
    const double number = (double)value, max = option->max;
    const bool decimal = text[strspn(text, "+-.0123456789eE")] == '\0';
    if (!decimal || end == text || *end != '\0')
        return refuse(option, text, "must be a number, such as 0.01 or 1e-4");
    if (!isfinite(value) || (value == 0 && errno == ERANGE))
        return refuse(option, text, "does not fit a 32-bit floating-point number");
    if (number < option->min)
        return refuse(option, text, "must be at least %g", option->min);
    if (option->above && number == option->min && option->zero == NULL)
        return refuse(option, text, "must be a number above %g", option->min);
    if (max != 0 && (option->below ? number >= max : number > max))
        return refuse(option, text, "must be %s %g", option->below ? "below" : "at most", max);
    memcpy(field, &value, sizeof value);
    return SH_OK;
}

/* TEXT stores the argument, NAME a copy. */
static sh_status store_text(const sh_option *option, const char *text, void *field)
{
    if (text[0] == '\0')
        return sh_fail(SH_INVALID, "--%s: must not be empty", option->name);
    if (option->max != 0 && strlen(text) > (size_t)option->max)
        return refuse(option, text, "must have at most %.0f bytes", option->max);
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return sh_fail(SH_INVALID, "--%s: must not contain control characters", option->name);
    if (option->kind == SH_OPTION_NAME)
        memcpy(field, text, strlen(text) + 1);
    else
        memcpy(field, &text, sizeof text);
    return SH_OK;
}

/* `name` and `length`: the name in the argument `text`. */
static sh_status unknown(const sh_option *options, const char *text, const char *name,
                         size_t length)
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
        return sh_fail(SH_INVALID, "unknown option %.*s", shown, text);
    return sh_fail(SH_INVALID, "unknown option %.*s; did you mean --%s?", shown, text, meant.name);
}

static sh_status take_option(const sh_option *options, void *values, int argc, char *const *argv,
                             int *at)
{
    const char *text = argv[*at];
    const bool is_long = text[1] == '-';
    const char *name = text + (is_long ? 2 : 1);
    const size_t length = strcspn(name, "=");
    const sh_option *option = options;
    while (option->kind != SH_OPTION_END &&
           (is_long ? strlen(option->name) != length || strncmp(option->name, name, length) != 0
                    : length != 1 || option->letter != name[0]))
        option++;
    if (option->kind == SH_OPTION_END)
        return unknown(options, text, name, length);

    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const bool on = true;
    if (option->given != 0)
        memcpy((char *)values + option->given, &on, sizeof on);
    if (option->kind == SH_OPTION_FLAG || option->kind == SH_OPTION_SWITCH) {
        const uint32_t one = 1;
        const bool is_flag = option->kind == SH_OPTION_FLAG;
        if (value != NULL)
            return sh_fail(SH_INVALID, "--%s: takes no value", option->name);
        memcpy((char *)values + option->offset, is_flag ? (const void *)&on : &one,
               is_flag ? sizeof on : sizeof one);
        return SH_OK;
    }
    const char *next = *at + 1 < argc ? argv[*at + 1] : "--";
    if (value == NULL && (option->alone == NULL ? strncmp(next, "--", 2) != 0 : is_digit(next[0])))
        value = argv[++*at];
    if (value == NULL)
        value = option->alone;
    if (value == NULL)
        return sh_fail(SH_INVALID, "--%s: needs a value, %s", option->name, option->value);
    void *field = (char *)values + option->offset;
    switch (option->kind) {
    case SH_OPTION_BYTES:
        return store_bytes(option, value, field);
    case SH_OPTION_FLOAT:
        return store_float(option, value, field);
    case SH_OPTION_TEXT:
    case SH_OPTION_NAME:
        return store_text(option, value, field);
    default:
        return store_whole(option, value, field);
    }
}

sh_status sh_arguments_parse(sh_arguments *arguments, const sh_option *options, void *values,
                             int argc, char *const *argv)
{
    *arguments = (sh_arguments){.positionals = arguments->positionals};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        arguments->help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    if (arguments->help)
        return SH_OK;
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && text[0] == '-' && text[1] != '\0') {
            SH_TRY(take_option(options, values, argc, argv, &i));
        } else {
            arguments->positionals[arguments->positional_count++] = text;
        }
    }
    return SH_OK;
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
