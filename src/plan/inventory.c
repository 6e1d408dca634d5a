/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/inventory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"
#include "plan/shares.h"

#define REACHED 0.5 /* of a peak, estimated for trainings */
#define GROUP_BYTES 64
#define BITS_MAX 1e12
#define GFLOPS_MAX 1e6
#define WATTS_MAX 1e5
#define KNOWN                                                                                      \
    "Known are this, pi4, pi5, jetson-nano, orin-nano, agx-orin, or a speed, such as "             \
    "25gflops"

/* Cores, GHz, float32 operations per cycle and core (a multiply-add is two), and watts under load.
 * Estimates: one 128-bit multiply-add per cycle for Cortex-A57 and A72, two for A76 and A78AE; the
 * power modes of Jetsons, and the typical load of a Pi. */
static const struct board {
    const char *name;
    double cores, ghz, flops_a_cycle, watts;
} boards[] = {
    {"pi4", 4, 1.5, 8, 6},         {"pi5", 4, 2.4, 16, 10},       {"jetson-nano", 4, 1.43, 8, 10},
    {"orin-nano", 6, 1.5, 16, 15}, {"agx-orin", 12, 2.2, 16, 40},
};
#define BOARDS (sizeof boards / sizeof *boards)

/* Reads a positive decimal number. Returns its end; NULL: invalid. */
static const char *read_number(const char *text, double *number)
{
    const size_t whole = strspn(text, "0123456789");
    const size_t length =
        whole + (text[whole] == '.' ? 1 + strspn(text + whole + 1, "0123456789") : 0);
    *number = 0;
    double digit = 1;
    for (size_t i = 0; i < whole; i++)
        *number = 10 * *number + (text[i] - '0');
    for (size_t i = whole + 1; i < length; i++)
        *number += (text[i] - '0') * (digit /= 10);
    return length > 0 && *number > 0 && isfinite(*number) ? text + length : NULL;
}

static bool read_rate(const char *text, double *bytes)
{
    static const struct {
        const char *name;
        double bits;
    } units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
    double number;
    const char *unit = read_number(text, &number);
    for (size_t i = 0; unit != NULL && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *bytes = number * units[i].bits / 8;
            return number * units[i].bits <= BITS_MAX;
        }
    return false;
}

static sh_status read_device(sh_inventory_kind *kind, const char *text)
{
    sh_suggestion meant = {.typed = text};
    double number;
    const char *unit = read_number(text, &number);
    snprintf(kind->name, sizeof kind->name, "%.*s", SH_INVENTORY_NAME - 1, text);
    if (strcmp(text, "this") == 0)
        return SH_OK;
    if (unit != NULL && strcmp(unit, "gflops") == 0 && number <= GFLOPS_MAX &&
        strlen(text) < SH_INVENTORY_NAME) {
        kind->flops = 1e9 * number;
        return SH_OK;
    }
    for (size_t i = 0; i < BOARDS; i++) {
        const struct board *board = &boards[i];
        kind->board = strcmp(text, board->name) == 0;
        kind->flops = REACHED * board->cores * board->ghz * 1e9 * board->flops_a_cycle;
        if (kind->board) {
            kind->watts = kind->watts > 0 ? kind->watts : board->watts;
            return SH_OK;
        }
        sh_suggestion_offer(&meant, board->name);
    }
    if (meant.name != NULL)
        return sh_fail(SH_INVALID, "--on: unknown device '%.40s'; did you mean '%s'? " KNOWN, text,
                       meant.name);
    return sh_fail(SH_INVALID, "--on: unknown device '%.40s'. " KNOWN, text);
}

/* `text` is in lower case, without surrounding spaces. */
static sh_status read_group(sh_inventory_kind *kind, char *text)
{
    const size_t digits = strspn(text, "0123456789");
    char *device = text, *at = strchr(text, '@'), *slash = strchr(text, '/');
    *kind = (sh_inventory_kind){.count = 1};
    if (slash != NULL) {
        const char *unit = read_number(slash + 1, &kind->watts);
        if (unit == NULL || strcmp(unit, "w") != 0 || kind->watts > WATTS_MAX)
            return sh_fail(SH_INVALID, "--on: power '%.40s': expected watts such as 6.5w",
                           slash + 1);
        *slash = '\0';
    }
    if (digits > 0 && text[digits] == 'x') {
        const unsigned long count = strtoul(text, NULL, 10);
        if (digits > 4 || count < 1 || count > SH_DEVICES_MAX)
            return sh_fail(SH_INVALID, "--on: %.40s: from 1 to %d devices", text, SH_DEVICES_MAX);
        kind->count = (uint32_t)count;
        device = text + digits + 1;
        device += strspn(device, " ");
    }
    if (at != NULL && !read_rate(at + 1, &kind->link))
        return sh_fail(SH_INVALID, "--on: link '%.40s': expected a rate such as 100mbit or 1gbit",
                       at + 1);
    if (at != NULL)
        *at = '\0';
    return read_device(kind, device);
}

sh_status sh_inventory_parse(sh_inventory *inventory, const char *text)
{
    sh_inventory found = {0};
    while (true) {
        char group[GROUP_BYTES];
        text += strspn(text, " ");
        size_t length = strcspn(text, ",");
        const char *next = text[length] == ',' ? text + length + 1 : NULL;
        while (length > 0 && text[length - 1] == ' ')
            length--;
        if (length == 0 || length >= GROUP_BYTES)
            return sh_fail(SH_INVALID, "--on: expected devices with commas between them, such as "
                                       "'this@1gbit, 8x pi4@100mbit'");
        for (size_t i = 0; i < length; i++)
            group[i] = (char)tolower((unsigned char)text[i]);
        group[length] = '\0';
        if (found.kinds == SH_INVENTORY_KINDS)
            return sh_fail(SH_INVALID, "--on: at most %d groups of devices", SH_INVENTORY_KINDS);
        SH_TRY(read_group(&found.kind[found.kinds], group));
        found.devices += found.kind[found.kinds++].count;
        if (found.devices > SH_DEVICES_MAX)
            return sh_fail(SH_INVALID, "--on: %u devices: at most %d", found.devices,
                           SH_DEVICES_MAX);
        if (next == NULL)
            break;
        text = next;
    }
    *inventory = found;
    return SH_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The mean of the known speeds; 0: none is known. */
static double mean_flops(const sh_device_list *list)
{
    double sum = 0;
    uint32_t known = 0;
    for (size_t i = 0; i < list->count; i++) {
        const double flops = list->devices[i].flops_per_second;
        if (!(flops > 0))
            continue;
        sum += flops;
        known++;
    }
    return known > 0 ? sum / known : 0;
}

static sh_inventory_kind kind_of(const sh_device_info *from, double mean)
{
    const double in = from->in_bytes_per_second, out = from->out_bytes_per_second;
    sh_inventory_kind kind = {
        .count = 1,
        .flops = from->flops_per_second > 0 ? from->flops_per_second : mean,
        .link = in > 0 && out > 0 ? fmin(in, out)
                : in > 0          ? in
                : out > 0         ? out
                                  : 0,
        .delay_s = from->delay_seconds > 0 ? from->delay_seconds : 0,
        .watts = from->power_watts > 0 ? from->power_watts : 0,
    };
    snprintf(kind.name, sizeof kind.name, "%.*s", SH_INVENTORY_NAME - 1, from->name);
    return kind;
}

static bool is_alike(const sh_inventory_kind *a, const sh_inventory_kind *b)
{
    return a->flops == b->flops && a->link == b->link && a->delay_s == b->delay_s &&
           a->watts == b->watts;
}

sh_status sh_inventory_of_list(sh_inventory *inventory, const sh_device_list *list)
{
    sh_inventory found = {.listed = true};
    const double mean = mean_flops(list);
    if (mean == 0)
        return sh_fail(SH_NOT_FOUND, "--on: the speed of all devices is unknown; run shoal "
                                     "bench on them, or list them while they compute");
    if (list->count > SH_DEVICES_MAX)
        return sh_fail(SH_INVALID, "--on: %zu devices: at most %d", list->count, SH_DEVICES_MAX);
    for (size_t i = 0; i < list->count; i++) {
        const sh_inventory_kind kind = kind_of(&list->devices[i], mean);
        if (!(list->devices[i].flops_per_second > 0))
            found.guessed++;
        found.devices++;
        if (found.kinds > 0 && is_alike(&found.kind[found.kinds - 1], &kind)) {
            found.kind[found.kinds - 1].count++;
            continue;
        }
        if (found.kinds == SH_INVENTORY_KINDS)
            return sh_fail(SH_LIMIT, "--on: more than %d different devices", SH_INVENTORY_KINDS);
        found.kind[found.kinds++] = kind;
    }
    *inventory = found;
    return SH_OK;
}
