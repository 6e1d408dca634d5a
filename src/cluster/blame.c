/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/blame.h"

static bool said_wrong(const sh_blame_report *report, uint64_t check)
{
    return report->there && report->own_check != 0 && report->own_check != check;
}

static bool imagined(const sh_blame_report *report, uint64_t check, uint32_t devices)
{
    return report->there && report->differed && report->total == devices * check;
}

static uint32_t agreeing(const sh_blame_report *reports, uint32_t count, uint64_t total)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < count; i++)
        equal += reports[i].differed && reports[i].total == total;
    return equal;
}

uint32_t sh_blame_find(bool *odd, const sh_blame_report *reports, uint32_t count, uint64_t check,
                       uint32_t devices)
{
    uint32_t wrong = 0, imaginary = 0, passed = 0, differed = 0, most = 0, found = 0;
    for (uint32_t i = 0; i < count; i++) {
        wrong += said_wrong(&reports[i], check);
        imaginary += imagined(&reports[i], check, devices);
        passed += reports[i].passed;
        differed += reports[i].differed;
        if (reports[i].differed && agreeing(reports, count, reports[i].total) > most)
            most = agreeing(reports, count, reports[i].total);
    }
    for (uint32_t i = 0; i < count; i++) {
        const sh_blame_report *report = &reports[i];
        if (wrong > 0)
            odd[i] = said_wrong(report, check);
        else if (imaginary > 0)
            odd[i] = imagined(report, check, devices);
        else if (passed > 0 && passed != differed)
            odd[i] = passed > differed ? report->differed : report->passed;
        else
            odd[i] = 2 * most > differed && report->differed &&
                     agreeing(reports, count, report->total) != most;
        found += odd[i];
    }
    return found;
}
