/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads each table once in the order of its key, with one row in memory at a time. Computes the
 * split of a step like the view step_parts, whose window function would dominate the time with a
 * million rows.
 */
#include "report/run_digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "store/database.h"
#include "store/file.h"
#include "store/run.h"
#include "store/schema.h"

#define DATABASE_FILE "run.db"

typedef struct session {
    double started, before; /* seconds of earlier sessions */
} session;

/* Kept until the step's last row. */
typedef struct work_row {
    sh_digest_device *device;
    double merged, grains, wall, split[SH_STEP_SPLIT_COUNT];
} work_row;

typedef struct run_reader {
    sh_run_digest *digest;
    sh_database *database;
    session *sessions;
    double first_step, last_step;
    size_t parts; /* of a device's series */

    double *weights, *grains; /* steps and grains per device and part; `series` has sums */
    work_row *rows;           /* of `step` */
    size_t row_count;
    int64_t step;

    /* Sums for the device whose samples are being read, and its previous sample. */
    sh_digest_device *device;
    double (*sums)[SH_FIGURE_COUNT], (*spans)[SH_FIGURE_COUNT]; /* per part */
    double before[SH_FIGURE_COUNT], before_seconds;
    size_t before_session;
} run_reader;

const char *sh_step_split_name(int part)
{
    return part == SH_STEP_SPLIT_wait      ? "wait"
           : part == SH_STEP_SPLIT_network ? "network"
                                           : sh_step_part_name((sh_step_part)part);
}

typedef void take_row(run_reader *reader, const sh_query *row);

static sh_status each(run_reader *reader, const char *sql, take_row *take)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, reader->database, sql));
    while (sh_query_row(query))
        take(reader, query);
    return sh_query_end(query, SH_OK);
}

static sh_status make_room(run_reader *reader, void **items, size_t item_bytes, const char *sql)
{
    double count;
    SH_TRY(sh_database_ask(&count, reader->database, sql));
    *items = sh_arena_take(&reader->digest->arena, (size_t)count + 1, item_bytes);
    return *items != NULL ? SH_OK : sh_fail_memory((size_t)count * item_bytes, "a digest");
}

#define MAKE_ROOM(reader, items, sql) make_room(reader, (void **)&(items), sizeof *(items), sql)

static void take_text(char out[SH_DIGEST_TEXT_BYTES], const sh_query *row, int column)
{
    sh_utf8_clean(out, SH_DIGEST_TEXT_BYTES, sh_query_text(row, column));
}

/* ---- the run and its sessions ---------------------------------------------------------------- */

static void take_run(run_reader *reader, const sh_query *row)
{
    sh_run_digest *digest = reader->digest;
    take_text(digest->model, row, 0);
    take_text(digest->data, row, 1);
    digest->job = sh_arena_text(&digest->arena, sh_query_text(row, 2));
    digest->parameters = (uint64_t)sh_query_integer(row, 3);
    digest->steps_planned = (uint64_t)sh_query_integer(row, 4);
    take_text(digest->weights_hash, row, 5);
    digest->epoch_steps = (uint64_t)sh_query_integer(row, 6);
}

static void take_session(run_reader *reader, const sh_query *row)
{
    sh_run_digest *digest = reader->digest;
    session *fresh = &reader->sessions[digest->sessions++];
    *fresh = (session){.started = sh_query_real(row, 0), .before = digest->seconds};
    const double length = sh_query_real(row, 1) - fresh->started;
    digest->seconds += length > 0 ? length : 0;
    take_text(digest->status, row, 2);
    take_text(digest->version, row, 3);
}

static const char sessions_sql[] =
    "SELECT started, coalesce(ended, (SELECT max(at) FROM steps WHERE steps.session = "
    "sessions.session)), status, version FROM sessions ORDER BY session";

static double seconds_of(const run_reader *reader, double at, size_t *number)
{
    size_t i = reader->digest->sessions;
    while (i > 1 && reader->sessions[i - 1].started > at)
        i--;
    if (number != NULL)
        *number = i;
    return i == 0 ? NAN : reader->sessions[i - 1].before + at - reader->sessions[i - 1].started;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A session's first step has no known duration. */
static const char throughput_sql[] =
    "SELECT iif(sum(span) > 0, sum(amount * (steps - 1) / steps) / sum(span), NULL) FROM "
    "(SELECT 1.0 * sum(samples * merged) AS amount, sum(merged) AS steps, max(at) - min(at) AS "
    "span FROM steps GROUP BY session)";

static sh_status read_steps(run_reader *reader)
{
    sh_run_digest *digest = reader->digest;
    char sql[512];
    sh_query *query;
    SH_TRY(
        sh_query_new(&query, reader->database,
                     "SELECT min(step), max(step), sum(samples * merged), sum(redone) FROM steps"));
    if (sh_query_row(query)) {
        reader->first_step = sh_query_real(query, 0);
        reader->last_step = sh_query_real(query, 1);
        digest->steps = (uint64_t)sh_query_integer(query, 1);
        digest->samples = (uint64_t)sh_query_integer(query, 2);
        digest->redone = (uint64_t)sh_query_integer(query, 3);
    }
    SH_TRY(sh_query_end(query, SH_OK));
    const double steps = reader->last_step - reader->first_step + 1;
    if (!isnan(steps))
        digest->point_count = steps < SH_DIGEST_POINTS ? (size_t)steps : SH_DIGEST_POINTS;
    SH_TRY(sh_database_ask(&digest->samples_per_second, reader->database, throughput_sql));
    digest->points = sh_arena_take(&digest->arena, digest->point_count + 1, sizeof *digest->points);
    if (digest->points == NULL)
        return sh_fail_memory(digest->point_count * sizeof *digest->points, "a digest");
    for (size_t i = 0; i < digest->point_count; i++)
        digest->points[i] = (sh_digest_point){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (digest->point_count == 0)
        return SH_OK;
    const long long first = (long long)reader->first_step;
    snprintf(sql, sizeof sql,
             "SELECT (step - %lld) * %zu / %lld, max(step), max(at), "
             "sum(loss * merged) / sum(iif(loss IS NULL, 0, merged)), min(loss), max(loss), "
             "sum(accuracy * merged) / sum(iif(accuracy IS NULL, 0, merged)), "
             "sum(samples * merged) FROM steps GROUP BY 1",
             first, digest->point_count, (long long)reader->last_step - first + 1);
    SH_TRY(sh_query_new(&query, reader->database, sql));
    while (sh_query_row(query)) {
        sh_digest_point *point = &digest->points[sh_query_integer(query, 0)];
        point->step = sh_query_real(query, 1);
        point->seconds = seconds_of(reader, sh_query_real(query, 2), NULL);
        point->loss = sh_query_real(query, 3);
        point->loss_least = sh_query_real(query, 4);
        point->loss_most = sh_query_real(query, 5);
        point->accuracy = sh_query_real(query, 6);
        point->samples_per_second = sh_query_real(query, 7); /* samples until the loop below */
    }
    SH_TRY(sh_query_end(query, SH_OK));
    double before = NAN;
    for (size_t i = 0; i < digest->point_count; i++) {
        sh_digest_point *point = &digest->points[i]; /* from samples to samples per second */
        const double span = point->seconds - before;
        point->samples_per_second = span > 0 ? point->samples_per_second / span : NAN;
        if (!isnan(point->seconds))
            before = point->seconds;
    }
    return SH_OK;
}

static void take_epoch(run_reader *reader, const sh_query *row)
{
    reader->digest->epochs[reader->digest->epoch_count++] =
        (sh_digest_epoch){sh_query_real(row, 0),
                          sh_query_real(row, 1),
                          seconds_of(reader, sh_query_real(row, 2), NULL),
                          sh_query_real(row, 3),
                          sh_query_real(row, 4),
                          sh_query_real(row, 5),
                          sh_query_real(row, 6)};
}

static void take_view(run_reader *reader, const sh_query *row)
{
    sh_digest_view *view = &reader->digest->views[reader->digest->view_count++];
    view->view = (uint32_t)sh_query_integer(row, 0);
    view->seconds = seconds_of(reader, sh_query_real(row, 1), NULL);
    view->step = sh_query_real(row, 2);
    view->devices = (uint32_t)sh_query_integer(row, 3);
    view->grains = (uint64_t)sh_query_integer(row, 4);
    take_text(view->reason, row, 5);
}

/* ---- devices: parts of steps ----------------------------------------------------------------- */

static void take_device(run_reader *reader, const sh_query *row)
{
    sh_digest_device *device = &reader->digest->devices[reader->digest->device_count++];
    device->device = (uint32_t)sh_query_integer(row, 0);
    take_text(device->name, row, 1);
    device->lanes = (uint32_t)sh_query_integer(row, 2);
    device->cores = (uint32_t)sh_query_integer(row, 3);
    device->observed = NAN;
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        device->figures[i] = (sh_digest_figure){NAN, NAN, NAN, NAN, NAN, NAN, NULL};
}

static sh_digest_device *find_device(const sh_run_digest *digest, int64_t number)
{
    size_t low = 0, high = digest->device_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (digest->devices[middle].device < number)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < digest->device_count && digest->devices[low].device == number;
    return found ? &digest->devices[low] : NULL;
}

static size_t part_at(const run_reader *reader, double share)
{
    const double at = share * (double)reader->parts;
    return at < 0 ? 0 : at >= (double)reader->parts ? reader->parts - 1 : (size_t)at;
}

/* Splits the exchange of each row. */
static void end_step(run_reader *reader)
{
    const double steps = reader->last_step - reader->first_step + 1;
    const size_t part = part_at(reader, ((double)reader->step - reader->first_step) / steps);
    double longest = 0;
    for (size_t i = 0; i < reader->row_count; i++)
        longest = fmax(longest, sh_step_split_computing(reader->rows[i].split));
    for (work_row *row = reader->rows; row < reader->rows + reader->row_count; row++) {
        sh_digest_device *device = row->device;
        const double exchange = row->split[SH_PART_exchange];
        const double behind = longest - sh_step_split_computing(row->split);
        row->split[SH_STEP_SPLIT_wait] = fmin(exchange, behind);
        row->split[SH_STEP_SPLIT_network] = fmax(0, exchange - behind);
        for (int i = 0; i < SH_STEP_SPLIT_COUNT; i++) {
            const double seconds = 1e-6 * row->merged * (isnan(row->split[i]) ? 0 : row->split[i]);
            device->split[i] += seconds;
            device->series[i][part] += seconds;
        }
        device->steps += (uint64_t)row->merged;
        device->wall += 1e-6 * row->merged * row->wall;
        const size_t place = (size_t)(device - reader->digest->devices) * reader->parts + part;
        reader->weights[place] += row->merged;
        reader->grains[place] += row->merged * row->grains;
    }
    reader->row_count = 0;
}

enum { WORK_STEP, WORK_DEVICE, WORK_MERGED, WORK_GRAINS, WORK_SAMPLES, WORK_WALL, WORK_PARTS };

static void take_work(run_reader *reader, const sh_query *row)
{
    sh_digest_device *device = find_device(reader->digest, sh_query_integer(row, WORK_DEVICE));
    const int64_t step = sh_query_integer(row, WORK_STEP);
    if (step != reader->step)
        end_step(reader);
    reader->step = step;
    if (device == NULL)
        return;
    work_row *fresh = &reader->rows[reader->row_count++]; /* one row per step and device */
    fresh->device = device;
    fresh->merged = sh_query_real(row, WORK_MERGED);
    fresh->grains = sh_query_real(row, WORK_GRAINS);
    fresh->wall = sh_query_real(row, WORK_WALL);
    for (int i = 0; i < SH_PART_COUNT; i++)
        fresh->split[i] = sh_query_real(row, WORK_PARTS + i);
    device->grains += (uint64_t)(fresh->merged * fresh->grains);
    device->samples += (uint64_t)(fresh->merged * sh_query_real(row, WORK_SAMPLES));
}

static const char work_sql[] = "SELECT step, device, merged, grains, samples, wall_us"
#define SH_PART(name, what) ", " #name "_us"
#include "monitor/parts.def"
#undef SH_PART
                               " FROM work ORDER BY step, device";

/* The mean in a third (0, 1, 2; 3: all) of the parts in which the device computed. */
static double grain_seconds(const run_reader *reader, const sh_digest_device *device, size_t third)
{
    const size_t start = (size_t)(device - reader->digest->devices) * reader->parts;
    size_t first = reader->parts, last = 0;
    for (size_t i = 0; i < reader->parts; i++)
        if (reader->grains[start + i] > 0) {
            first = first < i ? first : i;
            last = i + 1;
        }
    const size_t span = last > first ? last - first : 0;
    const size_t from = third < 3 ? first + span * third / 3 : first;
    const size_t to = third < 3 ? first + span * (third + 1) / 3 : last;
    double seconds = 0, grains = 0;
    for (size_t i = from; i < to; i++) {
        seconds += device->series[SH_PART_data][i] + device->series[SH_PART_forward][i] +
                   device->series[SH_PART_backward][i] + device->series[SH_PART_sum][i];
        grains += reader->grains[start + i];
    }
    return grains > 0 ? seconds / grains : NAN;
}

static sh_status read_work(run_reader *reader)
{
    sh_run_digest *digest = reader->digest;
    const size_t cells = digest->device_count * reader->parts;
    reader->weights = sh_arena_take(&digest->arena, 2 * cells, sizeof *reader->weights);
    reader->grains = reader->weights + cells;
    reader->rows = sh_arena_take(&digest->arena, digest->device_count, sizeof *reader->rows);
    double *series = sh_arena_take(&digest->arena, cells * SH_STEP_SPLIT_COUNT, sizeof *series);
    if (reader->weights == NULL || reader->rows == NULL || series == NULL)
        return sh_fail_memory(cells * SH_STEP_SPLIT_COUNT * sizeof *series, "a digest");
    for (size_t i = 0; i < digest->device_count; i++)
        for (int j = 0; j < SH_STEP_SPLIT_COUNT; j++, series += reader->parts)
            digest->devices[i].series[j] = series;
    SH_TRY(each(reader, work_sql, take_work));
    end_step(reader);
    for (size_t i = 0; i < digest->device_count; i++) { /* from sums to means */
        sh_digest_device *device = &digest->devices[i];
        device->grain_seconds = grain_seconds(reader, device, 3);
        device->grain_early = grain_seconds(reader, device, 0);
        device->grain_late = grain_seconds(reader, device, 2);
        device->wall /= (double)device->steps; /* NaN: no steps */
        for (int j = 0; j < SH_STEP_SPLIT_COUNT; j++) {
            device->split[j] /= (double)device->steps;
            for (size_t k = 0; k < reader->parts; k++)
                device->series[j][k] /= reader->weights[i * reader->parts + k];
        }
    }
    return SH_OK;
}

/* ---- devices: samples of the monitor --------------------------------------------------------- */

static bool is_counter(int figure)
{
    return sh_figure_kind_of((sh_figure)figure) == SH_FIGURE_COUNTER;
}

/* Adds up the total of parts `from` .. `to`. */
static double mean_of(const run_reader *reader, int figure, size_t from, size_t to, double *total)
{
    double sum = 0, span = 0;
    for (size_t i = from; i < to; i++) {
        sum += reader->sums[i][figure];
        span += reader->spans[i][figure];
    }
    if (total != NULL && span > 0)
        *total = sum;
    return span > 0 ? sum / span : NAN;
}

static void end_samples(run_reader *reader)
{
    sh_digest_device *device = reader->device;
    const size_t parts = reader->parts;
    if (device == NULL)
        return;
    size_t first = parts, last = 0;
    for (size_t i = 0; i < parts; i++)
        for (int j = 0; j < SH_FIGURE_COUNT; j++)
            if (reader->spans[i][j] > 0) {
                first = first < i ? first : i;
                last = i + 1;
            }
    const size_t third = last > first ? (last - first) / 3 : 0;
    for (int i = 0; i < SH_FIGURE_COUNT; i++) {
        sh_digest_figure *figure = &device->figures[i];
        figure->mean = mean_of(reader, i, 0, parts, is_counter(i) ? &figure->total : NULL);
        if (isnan(figure->mean))
            continue;
        figure->early = mean_of(reader, i, first, first + third, NULL);
        figure->late = mean_of(reader, i, last - third, last, NULL);
        figure->series = sh_arena_take(&reader->digest->arena, parts, sizeof *figure->series);
        for (size_t j = 0; figure->series != NULL && j < parts; j++)
            figure->series[j] = mean_of(reader, i, j, j + 1, NULL);
    }
    memset(reader->sums, 0, parts * sizeof *reader->sums);
    memset(reader->spans, 0, parts * sizeof *reader->spans);
}

enum { SAMPLE_DEVICE, SAMPLE_AT, SAMPLE_MERGED, SAMPLE_FIGURES };

static void take_sample(run_reader *reader, const sh_query *row)
{
    sh_digest_device *device = reader->device;
    const int64_t number = sh_query_integer(row, SAMPLE_DEVICE);
    size_t in;
    const double seconds = seconds_of(reader, sh_query_real(row, SAMPLE_AT), &in);
    if (device == NULL || device->device != number) {
        end_samples(reader);
        reader->device = device = find_device(reader->digest, number);
        reader->before_session = 0;
    }
    if (device == NULL || isnan(seconds))
        return;
    const double span = in == reader->before_session ? seconds - reader->before_seconds : 0;
    const size_t part = part_at(reader, seconds / reader->digest->seconds);
    device->observed = isnan(device->observed) ? 0 : device->observed + span;
    const double merged = sh_query_real(row, SAMPLE_MERGED);
    for (int i = 0; i < SH_FIGURE_COUNT; i++) {
        const double value = sh_query_real(row, SAMPLE_FIGURES + i);
        sh_digest_figure *figure = &device->figures[i];
        double grown = value - reader->before[i];
        if (isnan(value))
            continue;
        /* Connections wait for a shared link at the same time, so their sum may exceed the span. */
        if (i == SH_FIGURE_network_busy_seconds)
            grown = fmin(grown, span);
        if (!is_counter(i)) {
            reader->sums[part][i] += value * merged;
            reader->spans[part][i] += merged;
            figure->least = fmin(figure->least, value);
            figure->most = fmax(figure->most, value);
        } else if (span > 0 && grown >= 0) { /* else the counter restarted */
            reader->sums[part][i] += grown;
            reader->spans[part][i] += span;
        }
        reader->before[i] = value;
    }
    reader->before_seconds = seconds;
    reader->before_session = in;
}

static const char samples_sql[] = "SELECT device, at, merged"
#define SH_FIGURE(name, kind, what) ", " #name
#include "monitor/figures.def"
#undef SH_FIGURE
                                  " FROM samples ORDER BY device, at";

/* ---- all ------------------------------------------------------------------------------------- */

static sh_status read_devices(run_reader *reader)
{
    sh_run_digest *digest = reader->digest;
    SH_TRY(MAKE_ROOM(reader, digest->devices, "SELECT count(*) FROM devices"));
    SH_TRY(each(reader,
                "SELECT device, name, lanes, cores, max(session) FROM devices GROUP BY device "
                "ORDER BY device",
                take_device));
    if (digest->device_count == 0)
        return SH_OK;
    const size_t most = SH_DIGEST_CELLS / digest->device_count;
    reader->parts = most < 20 ? 20 : most;
    if (reader->parts > digest->point_count)
        reader->parts = digest->point_count > 0 ? digest->point_count : 1;
    SH_TRY(read_work(reader));
    digest->part_count = reader->parts;
    reader->sums = sh_arena_take(&digest->arena, reader->parts, sizeof *reader->sums);
    reader->spans = sh_arena_take(&digest->arena, reader->parts, sizeof *reader->spans);
    if (reader->sums == NULL || reader->spans == NULL)
        return sh_fail_memory(reader->parts * sizeof *reader->sums, "a digest");
    SH_TRY(each(reader, samples_sql, take_sample));
    end_samples(reader);
    return SH_OK;
}

static const char *end_of(const char *path, int count)
{
    const char *at = path + strlen(path);
    while (count > 0 && at > path)
        count -= *--at == '/';
    return at + (*at == '/');
}

/* Names the run by its resolved folder. */
static void name_run(sh_run_digest *digest, const char *file)
{
    char *real = realpath(file, NULL);
    char *end = real != NULL ? strrchr(real, '/') : NULL;
    if (end != NULL && strcmp(end, "/" DATABASE_FILE) == 0)
        *end = '\0';
    const char *folder = real != NULL ? real : file;
    sh_utf8_clean(digest->name, sizeof digest->name, end_of(folder, 1));
    sh_utf8_clean(digest->long_name, sizeof digest->long_name, end_of(folder, 2));
    free(real);
}

/* A training locks the database's folder. */
static bool is_running(const char *file)
{
    char folder[SH_PATH_BYTES];
    const char *slash = strrchr(file, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - file),
             slash == NULL ? "." : file);
    return sh_run_is_open(folder[0] == '\0' ? "/" : folder);
}

/* `path` is a run's folder, or the file, which may be a link. */
static sh_status find_database(char file[SH_PATH_BYTES], const char *path)
{
    struct stat about;
    if (sh_folder_exists(path))
        return sh_path_join(file, path, DATABASE_FILE);
    char *real = lstat(path, &about) == 0 && S_ISLNK(about.st_mode) ? realpath(path, NULL) : NULL;
    const sh_status status = sh_path_copy(file, real != NULL ? real : path);
    free(real);
    return status;
}

sh_status sh_run_digest_new(sh_run_digest **digest, const char *path)
{
    char file[SH_PATH_BYTES];
    SH_TRY(find_database(file, path));
    run_reader reader = {.digest = calloc(1, sizeof *reader.digest)};
    if (reader.digest == NULL)
        return sh_fail_memory(sizeof *reader.digest, "a digest");
    sh_status status;
    sh_arena_init(&reader.digest->arena);
    name_run(reader.digest, file);
    SH_TRY_DONE(sh_database_open(&reader.database, file, sh_schema_run(), SH_DATABASE_READ));
    SH_TRY_DONE(each(
        &reader, "SELECT model, data, job, parameters, steps, weights_hash, epoch_steps FROM run",
        take_run));
    if (reader.digest->job == NULL)
        SH_TRY_DONE(sh_fail(SH_NOT_FOUND, "%s: no run has started in it", file));
    SH_TRY_DONE(MAKE_ROOM(&reader, reader.sessions, "SELECT count(*) FROM sessions"));
    SH_TRY_DONE(each(&reader, sessions_sql, take_session));
    SH_TRY_DONE(read_steps(&reader));
    SH_TRY_DONE(MAKE_ROOM(&reader, reader.digest->epochs, "SELECT count(*) FROM epochs"));
    SH_TRY_DONE(each(&reader,
                     "SELECT epoch, step, at, loss, accuracy, val_loss, val_accuracy FROM epochs "
                     "ORDER BY epoch",
                     take_epoch));
    SH_TRY_DONE(MAKE_ROOM(&reader, reader.digest->views, "SELECT count(*) FROM views"));
    SH_TRY_DONE(each(&reader,
                     "SELECT view, min(at), min(step), count(*), sum(grains), max(reason) FROM "
                     "views GROUP BY session, view ORDER BY session, view",
                     take_view));
    SH_TRY_DONE(read_devices(&reader));
    if (reader.digest->sessions > 0 && reader.digest->status[0] == '\0')
        snprintf(reader.digest->status, sizeof reader.digest->status, "%s",
                 is_running(file) ? "running" : "killed");
    *digest = reader.digest;
    reader.digest = NULL;
done:
    sh_database_close(reader.database);
    sh_run_digest_free(reader.digest);
    return status;
}

void sh_run_digest_free(sh_run_digest *digest)
{
    if (digest == NULL)
        return;
    sh_arena_release(&digest->arena);
    free(digest);
}
