/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "monitor/step_times.h"

#define DEVICES_MAX 1000000

/* ---- queries --------------------------------------------------------------------------------- */

static const char head_sql[] =
    "SELECT min(started), (SELECT max(device) FROM work), (SELECT min(device) FROM work) "
    "FROM sessions";

static const char devices_sql[] =
    "SELECT device, group_concat(DISTINCT name) FROM devices GROUP BY device";

/* The parts are in the order within a step. */
static const char work_sql[] =
    "SELECT device, at, step, merged, grains, samples, wall_us, "
    "between_us, data_us, forward_us, backward_us, sum_us, lanes_us, exchange_us, optimizer_us "
    "FROM work ORDER BY step, device";
static const sh_step_part order[] = {
    SH_PART_between, SH_PART_data,  SH_PART_forward,  SH_PART_backward,
    SH_PART_sum,     SH_PART_lanes, SH_PART_exchange, SH_PART_optimizer,
};
enum { PARTS_COLUMN = 7 };
_Static_assert(sizeof order / sizeof *order == SH_PART_COUNT, "a part is missing in the order");

static const char samples_sql[] =
    "SELECT device, at, cpu_process_seconds, network_sent_bytes, network_received_bytes, "
    "memory_resident_bytes FROM samples ORDER BY device, at";
static const struct {
    const char *name, *unit;
    double scale;
    bool is_counter; /* shown as a rate */
} gauges[] = {
    {"CPU", "cores", 1, true},
    {"network out", "MB/s", 1e-6, true},
    {"network in", "MB/s", 1e-6, true},
    {"memory", "MB", 1e-6, false},
};
enum { GAUGES = sizeof gauges / sizeof *gauges, GAUGES_COLUMN = 2 };

static const char instants_sql[] =
    "SELECT NULL, at, 'view ' || view, reason || ', from step ' || step || ', grains of devices: ' "
    "|| group_concat(device || ': ' || grains, ', ') FROM views GROUP BY session, view UNION ALL "
    "SELECT device, at, kind, text FROM events";

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct trace {
    sh_export_output *out;
    sh_database *database;
    const char *run;
    double started;        /* seconds since 1970 */
    const char *separator; /* before the next event */
    size_t devices;
    double *ends; /* ns since `started`, of each device's last step */

    /* The previous sample: */
    int64_t device; /* -1: none */
    double at_ns, figures[GAUGES];
} trace;

typedef sh_status row_receiver(trace *t, const sh_query *row);

static sh_status each(trace *t, const char *sql, row_receiver *take)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, t->database, sql));
    sh_status status = SH_OK;
    while (status == SH_OK && sh_query_row(query))
        status = take(t, query);
    return sh_query_end(query, status);
}

/* Not negative, for any value in the database. */
static double nanoseconds(double ns)
{
    return ns > 0 && ns < 1e18 ? rint(ns) : 0;
}

static double moment(const trace *t, const sh_query *row)
{
    return nanoseconds(1e9 * (sh_query_real(row, 1) - t->started));
}

__attribute__((format(printf, 2, 3))) static sh_status put(trace *t, const char *format, ...)
{
    char text[160];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return sh_export_put(t->out, text);
}

static sh_status put_shown(trace *t, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *clean = malloc(bytes);
    if (clean == NULL)
        return sh_fail_memory(bytes, "a trace");
    const sh_status status = sh_export_put_json(t->out, sh_utf8_clean(clean, bytes, text));
    free(clean);
    return status;
}

static sh_status put_event(trace *t, char phase, int64_t device, double at_ns, const char *name)
{
    SH_TRY(put(t, "%s{\"ph\":\"%c\",\"pid\":%lld,\"tid\":%lld,\"ts\":%.3f,\"name\":", t->separator,
               phase, (long long)device, (long long)device, 1e-3 * at_ns));
    t->separator = ",\n";
    return put_shown(t, name);
}

static sh_status put_text(trace *t, const char *key, const char *value)
{
    SH_TRY(put(t, ",\"args\":{\"%s\":", key));
    SH_TRY(put_shown(t, value));
    return put(t, "}}");
}

static sh_status put_device(trace *t, const sh_query *row)
{
    const int64_t device = sh_query_integer(row, 0);
    SH_TRY(put_event(t, 'M', device, 0, "process_name"));
    SH_TRY(put_text(t, "name", sh_query_text(row, 1)));
    SH_TRY(put_event(t, 'M', device, 0, "thread_name"));
    return put_text(t, "name", "steps");
}

static sh_status put_parts(trace *t, const sh_query *row, double from_ns, double end_ns)
{
    const double merged = sh_query_real(row, 3), begin_ns = from_ns;
    double us = 0;
    for (int i = 0; i < SH_PART_COUNT; i++) {
        us += sh_query_is_null(row, PARTS_COLUMN + i) ? 0 : sh_query_real(row, PARTS_COLUMN + i);
        const double to_ns = fmin(begin_ns + nanoseconds(1e3 * us * merged), end_ns);
        if (to_ns <= from_ns)
            continue;
        SH_TRY(put_event(t, 'X', sh_query_integer(row, 0), from_ns, sh_step_part_name(order[i])));
        SH_TRY(put(t, ",\"dur\":%.3f}", 1e-3 * (to_ns - from_ns)));
        from_ns = to_ns;
    }
    return SH_OK;
}

static sh_status put_work(trace *t, const sh_query *row)
{
    const int64_t device = sh_query_integer(row, 0), merged = sh_query_integer(row, 3);
    const double ns = nanoseconds(1e3 * sh_query_real(row, 6) * (double)merged);
    const double from_ns = fmax(moment(t, row) - ns, t->ends[device]);
    char several[48] = "", name[96];
    t->ends[device] = from_ns + ns;
    if (merged > 1)
        snprintf(several, sizeof several, "%lld steps to ", (long long)merged);
    snprintf(name, sizeof name, "%s%lld", merged > 1 ? several : "step ",
             (long long)sh_query_integer(row, 2));
    SH_TRY(put_event(t, 'X', device, from_ns, name));
    SH_TRY(put(t, ",\"dur\":%.3f,\"args\":{\"grains\":%lld,\"samples\":%lld}}", 1e-3 * ns,
               (long long)sh_query_integer(row, 4), (long long)sh_query_integer(row, 5)));
    return put_parts(t, row, from_ns, from_ns + ns);
}

static sh_status put_gauge(trace *t, int gauge, double at_ns, double value)
{
    if (!(value >= 0 && isfinite(value))) /* unknown, or a restarted counter */
        return SH_OK;
    SH_TRY(put_event(t, 'C', t->device, at_ns, gauges[gauge].name));
    return put(t, ",\"args\":{\"%s\":%.6g}}", gauges[gauge].unit, value * gauges[gauge].scale);
}

/* A value holds from its time on, so a rate is at the start of its interval. */
static sh_status put_sample(trace *t, const sh_query *row)
{
    const int64_t device = sh_query_integer(row, 0);
    const bool follows = device == t->device;
    const double at_ns = moment(t, row), seconds = 1e-9 * (at_ns - t->at_ns);
    t->device = device;
    for (int i = 0; i < GAUGES; i++) {
        const double figure = sh_query_real(row, GAUGES_COLUMN + i);
        if (!gauges[i].is_counter)
            SH_TRY(put_gauge(t, i, at_ns, figure));
        else if (follows)
            SH_TRY(put_gauge(t, i, t->at_ns, (figure - t->figures[i]) / seconds));
        t->figures[i] = figure;
    }
    t->at_ns = at_ns;
    return SH_OK;
}

static sh_status put_instant(trace *t, const sh_query *row)
{
    SH_TRY(put_event(t, 'i', sh_query_integer(row, 0), moment(t, row), sh_query_text(row, 2)));
    SH_TRY(put(t, ",\"s\":\"%c\"", sh_query_is_null(row, 0) ? 'g' : 'p'));
    return put_text(t, "text", sh_query_text(row, 3));
}

static sh_status put_head(trace *t, const sh_query *row)
{
    const int64_t last = sh_query_integer(row, 1), first = sh_query_integer(row, 2);
    if (first < 0 || last >= DEVICES_MAX)
        return sh_fail(SH_CORRUPT, "%.200s: its database is damaged: it has a device %lld", t->run,
                       (long long)(first < 0 ? first : last));
    t->devices = (size_t)last + 1;
    t->started = isfinite(sh_query_real(row, 0)) ? sh_query_real(row, 0) : 0;
    return put(t,
               "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"started\":%.6f},\"traceEvents\":[\n",
               t->started);
}

sh_status sh_trace_write(sh_export_output *output, sh_database *database, const char *run)
{
    trace t = {.out = output, .database = database, .run = run, .separator = "", .device = -1};
    sh_status status = SH_OK;
    SH_TRY_DONE(sh_database_run(database, "BEGIN"));
    SH_TRY_DONE(each(&t, head_sql, put_head));
    t.ends = calloc(t.devices, sizeof *t.ends);
    if (t.ends == NULL) {
        status = sh_fail_memory(t.devices * sizeof *t.ends, "a trace");
        goto done;
    }
    SH_TRY_DONE(each(&t, devices_sql, put_device));
    SH_TRY_DONE(each(&t, work_sql, put_work));
    SH_TRY_DONE(each(&t, samples_sql, put_sample));
    SH_TRY_DONE(each(&t, instants_sql, put_instant));
    SH_TRY_DONE(sh_export_put(output, "\n]}\n"));
done:
    free(t.ends);
    return status;
}
