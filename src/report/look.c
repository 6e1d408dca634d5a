/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recent means within RECENT_SECONDS before the newest row, so a run that has ended still has
 * recent rates. Recent steps are those after step `since`; at least one. Counters restart with a
 * process: their rate is unknown if they fell.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/listing.h"

#define RECENT_SECONDS 5.0
#define LAST_SESSION "(SELECT max(session) FROM sessions)"

/* Limited, because a small model has many steps. */
static const char steps_query[] = "SELECT step, at, samples, loss, accuracy FROM steps "
                                  "WHERE session = " LAST_SESSION " ORDER BY step DESC LIMIT 4096";

static const char devices_query[] =
    "SELECT device, name, gone IS NOT NULL, reason,"
    " 1.0 * (SELECT grains FROM views WHERE session = d.session AND device = d.device"
    "   AND view = (SELECT max(view) FROM views WHERE session = d.session))"
    " / (SELECT sum(grains) FROM views WHERE session = d.session"
    "   AND view = (SELECT max(view) FROM views WHERE session = d.session)) "
    "FROM devices d WHERE session = " LAST_SESSION " ORDER BY device";

static const char work_query[] =
    "SELECT device, sum(wall_us), sum(samples), sum(data_us + forward_us + backward_us + sum_us),"
    " sum(lanes_us), sum(wait_us), sum(network_us), sum(optimizer_us) "
    "FROM step_parts WHERE step > ?1 GROUP BY device";

static const char samples_query[] =
    "SELECT at, cpu_process_seconds, network_sent_bytes, network_received_bytes,"
    " cpu_throttled_seconds, memory_resident_bytes, temperature_celsius, throttled_ratio "
    "FROM samples WHERE device = ?1"
    " AND at >= (SELECT max(at) FROM samples WHERE device = ?1) - ?2 ORDER BY at";

static const char events_query[] =
    "SELECT at, coalesce(device, -1), kind, text FROM "
    "(SELECT rowid AS number, * FROM events ORDER BY rowid DESC LIMIT ?1) ORDER BY number";

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static sh_status read_steps(sh_run_snapshot *s, int64_t *since, sh_database *database)
{
    sh_query *query;
    double earliest = NAN, count = 0, samples = 0, rated = 0, steps = -1, loss = 0, accuracy = 0;
    SH_TRY(sh_query_new(&query, database, steps_query));
    while (sh_query_row(query)) {
        rated += count; /* the previous step's start is now known */
        steps++;
        *since = sh_query_integer(query, 0);
        earliest = sh_query_real(query, 1);
        if (isnan(s->at))
            s->at = earliest;
        else if (s->at - earliest >= RECENT_SECONDS)
            break;
        count = (double)sh_query_integer(query, 2);
        samples += count;
        loss += count * sh_query_real(query, 3);
        accuracy += count * sh_query_real(query, 4);
    }
    s->loss = ratio(loss, samples);
    s->accuracy = ratio(accuracy, samples);
    s->samples_per_second = ratio(rated, s->at - earliest);
    s->steps_per_second = ratio(steps, s->at - earliest);
    return sh_query_end(query, SH_OK);
}

static sh_status read_devices(sh_run_snapshot *s, sh_database *database)
{
    sh_query *query;
    sh_status status = SH_OK;
    size_t capacity = 0;
    SH_TRY(sh_query_new(&query, database, devices_query));
    while (sh_query_row(query)) {
        void *devices = s->devices;
        SH_TRY_DONE(sh_array_grow(&devices, &capacity, s->device_count + 1, sizeof *s->devices));
        s->devices = devices;
        sh_run_device *device = &s->devices[s->device_count++];
        *device = (sh_run_device){.device = (uint32_t)sh_query_integer(query, 0),
                                  .is_gone = sh_query_integer(query, 2) != 0,
                                  .share = sh_query_real(query, 4)};
        if (device->is_gone)
            device->share = NAN; /* old: of its last view */
        snprintf(device->name, sizeof device->name, "%s", sh_query_text(query, 1));
        snprintf(device->reason, sizeof device->reason, "%s", sh_query_text(query, 3));
        device->samples_per_second = device->compute = device->lanes = device->wait = NAN;
        device->network = device->optimizer = device->cpu = device->memory_bytes = NAN;
        device->sent_bytes_per_second = device->received_bytes_per_second = NAN;
        device->temperature_celsius = device->throttled = device->held_back = NAN;
    }
done:
    return sh_query_end(query, status);
}

static sh_status read_work(sh_run_snapshot *s, int64_t since, sh_database *database)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, database, work_query));
    sh_query_bind_integer(query, 1, since);
    while (sh_query_row(query)) {
        size_t i = 0;
        while (i < s->device_count && s->devices[i].device != sh_query_integer(query, 0))
            i++;
        if (i == s->device_count || s->devices[i].is_gone)
            continue;
        sh_run_device *device = &s->devices[i];
        const double wall_us = sh_query_real(query, 1);
        device->samples_per_second = ratio(sh_query_real(query, 2), 1e-6 * wall_us);
        device->compute = ratio(sh_query_real(query, 3), wall_us);
        device->lanes = ratio(sh_query_real(query, 4), wall_us);
        device->wait = ratio(sh_query_real(query, 5), wall_us);
        device->network = ratio(sh_query_real(query, 6), wall_us);
        device->optimizer = ratio(sh_query_real(query, 7), wall_us);
    }
    return sh_query_end(query, SH_OK);
}

static sh_status read_figures(sh_run_snapshot *s, sh_run_device *device, sh_query *query)
{
    enum { AT, CPU, SENT, RECEIVED, HELD, COUNTERS };
    double first[COUNTERS], began[COUNTERS], last[COUNTERS];
    double memory = NAN, temperature = NAN, throttled = NAN;
    sh_query_bind_integer(query, 1, device->device);
    sh_query_bind_real(query, 2, RECENT_SECONDS);
    size_t rows = 0;
    for (; sh_query_row(query); rows++) {
        for (int i = 0; i < COUNTERS; i++) {
            last[i] = sh_query_real(query, i);
            if (rows == 0 || isnan(first[i])) {
                first[i] = last[i];
                began[i] = last[AT];
            }
        }
        memory = sh_query_real(query, COUNTERS);
        temperature = sh_query_real(query, COUNTERS + 1);
        throttled = sh_query_real(query, COUNTERS + 2);
    }
    SH_TRY(sh_query_reset(query));
    if (rows == 0)
        return SH_OK;
    if (!(s->at >= last[AT])) /* NaN: no step */
        s->at = last[AT];
    if (s->at - last[AT] > RECENT_SECONDS)
        return SH_OK;
    double rates[COUNTERS];
    for (int i = 0; i < COUNTERS; i++) { /* NaN: the counter restarted */
        const double grown = last[i] - first[i];
        rates[i] = grown >= 0 ? ratio(grown, last[AT] - began[i]) : NAN;
    }
    device->cpu = rates[CPU];
    device->sent_bytes_per_second = rates[SENT];
    device->received_bytes_per_second = rates[RECEIVED];
    device->held_back = rates[HELD];
    device->memory_bytes = memory;
    device->temperature_celsius = temperature;
    device->throttled = throttled;
    return SH_OK;
}

static sh_status read_all(sh_run_snapshot *s, sh_database *database, const char *folder)
{
    int64_t since = 0;
    sh_query *query;
    sh_status status = SH_OK;
    SH_TRY(sh_database_run(database, "BEGIN")); /* a consistent snapshot */
    SH_TRY(sh_listing_read(&s->about, database, folder));
    SH_TRY(read_steps(s, &since, database));
    SH_TRY(read_devices(s, database));
    SH_TRY(read_work(s, since, database));
    SH_TRY(sh_query_new(&query, database, samples_query));
    for (size_t i = 0; status == SH_OK && i < s->device_count; i++)
        if (!s->devices[i].is_gone)
            status = read_figures(s, &s->devices[i], query);
    SH_TRY(sh_query_end(query, status));
    if (s->about.state == SH_STATE_RUNNING && s->about.steps >= s->about.step)
        s->eta_seconds = ratio((double)(s->about.steps - s->about.step), s->steps_per_second);
    SH_TRY(sh_query_new(&query, database, events_query));
    sh_query_bind_integer(query, 1, SH_RUN_NEWS_MAX);
    while (sh_query_row(query)) {
        sh_run_news *news = &s->news[s->news_count++];
        news->at = sh_query_real(query, 0);
        news->device = sh_query_integer(query, 1);
        snprintf(news->kind, sizeof news->kind, "%s", sh_query_text(query, 2));
        snprintf(news->text, sizeof news->text, "%s", sh_query_text(query, 3));
    }
    return sh_query_end(query, SH_OK);
}

sh_status sh_run_look(sh_run_snapshot *snapshot, const char *folder)
{
    sh_database *database;
    sh_run_snapshot *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a snapshot");
    fresh->at = fresh->eta_seconds = fresh->loss = fresh->accuracy = NAN;
    fresh->samples_per_second = fresh->steps_per_second = NAN;
    sh_status status = sh_listing_open(&database, folder);
    if (status == SH_OK) {
        status = read_all(fresh, database, folder);
        sh_database_close(database);
    }
    if (sh_listing_begins(&fresh->about, status, folder))
        status = SH_OK;
    if (status == SH_OK)
        *snapshot = *fresh;
    else
        sh_run_snapshot_release(fresh);
    free(fresh);
    return status;
}

void sh_run_snapshot_release(sh_run_snapshot *snapshot)
{
    free(snapshot->devices);
    snapshot->devices = NULL;
    snapshot->device_count = 0;
}
