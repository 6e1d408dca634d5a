/* SPDX-License-Identifier: Apache-2.0 */
#include "report/listing.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "store/run.h"
#include "store/schema.h"

/* A killed or active session lasts until its last step. */
static const char about_query[] =
    "SELECT model, data, steps, epochs,"
    " (SELECT max(step) FROM steps),"
    " (SELECT epoch FROM steps ORDER BY step DESC LIMIT 1),"
    " (SELECT count(*) FROM devices WHERE session = (SELECT max(session) FROM sessions)),"
    " (SELECT val_loss FROM epochs ORDER BY epoch DESC LIMIT 1),"
    " (SELECT val_accuracy FROM epochs ORDER BY epoch DESC LIMIT 1),"
    " (SELECT min(started) FROM sessions),"
    " (SELECT sum(coalesce(ended, (SELECT at FROM steps WHERE steps.session = sessions.session"
    "   ORDER BY step DESC LIMIT 1), started) - started) FROM sessions),"
    " (SELECT status FROM sessions ORDER BY session DESC LIMIT 1) "
    "FROM run";

const char *sh_run_state_text(sh_run_state state)
{
    static const char *const texts[] = {
#define SH_RUN_STATE_TEXT(name, text) text,
        SH_RUN_STATE_MAP(SH_RUN_STATE_TEXT)
#undef SH_RUN_STATE_TEXT
    };
    return texts[state];
}

static bool holds(const char *folder, const char *name)
{
    char path[SH_PATH_BYTES];
    return sh_path_join(path, folder, name) == SH_OK && access(path, F_OK) == 0;
}

static bool is_run(const char *folder)
{
    return holds(folder, SH_RUN_DATABASE) || holds(folder, SH_RUN_JOB);
}

sh_status sh_listing_open(sh_database **database, const char *folder)
{
    char path[SH_PATH_BYTES];
    if (!sh_folder_exists(folder))
        return sh_fail(SH_NOT_FOUND, "%s: no such folder; shoal runs lists the runs", folder);
    if (!is_run(folder))
        return sh_fail(SH_NOT_FOUND, "%s: is not the folder of a run; shoal runs lists them",
                       folder);
    SH_TRY(sh_path_join(path, folder, SH_RUN_DATABASE));
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return sh_fail(SH_NOT_FOUND, "%s: has no " SH_RUN_DATABASE ": it has no record", folder);
    return sh_database_open(database, path, sh_schema_run(), SH_DATABASE_READ);
}

/* "runs/a/" has the name "a". */
static void set_folder(sh_run_about *about, const char *folder)
{
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    snprintf(about->folder, sizeof about->folder, "%.*s", (int)end, folder);
    snprintf(about->name, sizeof about->name, "%.*s", (int)(end - start), folder + start);
}

sh_status sh_listing_read(sh_run_about *about, sh_database *database, const char *folder)
{
    static const char failed[] = "failed: ";
    sh_query *query;
    sh_run_about fresh = {.state = SH_STATE_KILLED};
    set_folder(&fresh, folder);
    SH_TRY(sh_query_new(&query, database, about_query));
    const bool row = sh_query_row(query);
    if (row) {
        snprintf(fresh.model, sizeof fresh.model, "%s", sh_query_text(query, 0));
        snprintf(fresh.data, sizeof fresh.data, "%s", sh_query_text(query, 1));
        fresh.steps = (uint64_t)sh_query_integer(query, 2);
        fresh.epochs = (uint32_t)sh_query_integer(query, 3);
        fresh.step = (uint64_t)sh_query_integer(query, 4);
        fresh.epoch = (uint32_t)sh_query_integer(query, 5);
        fresh.devices = (uint32_t)sh_query_integer(query, 6);
        fresh.val_loss = sh_query_real(query, 7);
        fresh.val_accuracy = sh_query_real(query, 8);
        fresh.started = sh_query_real(query, 9);
        fresh.seconds = sh_query_real(query, 10);
        const char *status = sh_query_text(query, 11);
        if (sh_run_is_open(fresh.folder)) {
            fresh.state = SH_STATE_RUNNING;
        } else if (strcmp(status, "complete") == 0) {
            fresh.state = SH_STATE_COMPLETE;
        } else if (strcmp(status, "stopped") == 0) {
            fresh.state = SH_STATE_STOPPED;
        } else if (strncmp(status, failed, sizeof failed - 1) == 0) {
            fresh.state = SH_STATE_FAILED;
            snprintf(fresh.reason, sizeof fresh.reason, "%s", status + sizeof failed - 1);
        }
        *about = fresh;
    }
    SH_TRY(sh_query_end(query, SH_OK));
    return row ? SH_OK : sh_fail(SH_NOT_FOUND, "%s: ended before its training began", folder);
}

static void set_unknown(sh_run_about *about, sh_run_state state, const char *folder)
{
    *about = (sh_run_about){
        .state = state, .val_loss = NAN, .val_accuracy = NAN, .started = NAN, .seconds = NAN};
    set_folder(about, folder);
}

bool sh_listing_begins(sh_run_about *about, sh_status status, const char *folder)
{
    if (status != SH_NOT_FOUND || !sh_run_is_open(folder))
        return false;
    set_unknown(about, SH_STATE_RUNNING, folder);
    return true;
}

static sh_status add(sh_run_list *list, size_t *capacity, const char *folder)
{
    sh_database *database;
    void *runs = list->runs;
    SH_TRY(sh_array_grow(&runs, capacity, list->count + 1, sizeof *list->runs));
    list->runs = runs;
    sh_run_about *about = &list->runs[list->count++];
    sh_status status = sh_listing_open(&database, folder);
    if (status == SH_OK) {
        status = sh_listing_read(about, database, folder);
        sh_database_close(database);
    }
    if (status != SH_OK && !sh_listing_begins(about, status, folder)) {
        set_unknown(about, SH_STATE_UNREADABLE, folder);
        snprintf(about->reason, sizeof about->reason, "%s", sh_message());
    }
    return SH_OK;
}

static sh_status add_all(sh_run_list *list, const char *folder)
{
    size_t capacity = 0;
    sh_status status = SH_OK;
    if (is_run(folder))
        return add(list, &capacity, folder);
    DIR *items = opendir(folder);
    if (items == NULL)
        return sh_fail_errno(errno, "%s: cannot list", folder);
    for (const struct dirent *item; (item = readdir(items)) != NULL;) {
        char path[SH_PATH_BYTES];
        if (item->d_name[0] == '.')
            continue;
        SH_TRY_DONE(sh_path_join(path, folder, item->d_name));
        if (is_run(path))
            SH_TRY_DONE(add(list, &capacity, path));
    }
done:
    closedir(items);
    return status;
}

/* Without a start, an active run is the newest, others the oldest. */
static double age_of(const sh_run_about *about)
{
    if (!isnan(about->started))
        return -about->started;
    return about->state == SH_STATE_RUNNING ? -INFINITY : INFINITY;
}

static int compare(const void *left, const void *right)
{
    const sh_run_about *a = left, *b = right;
    const double ages[] = {age_of(a), age_of(b)};
    return ages[0] != ages[1] ? (ages[0] > ages[1] ? 1 : -1) : strcmp(a->name, b->name);
}

sh_status sh_runs_list(sh_run_list *list, const char *folder)
{
    sh_run_list fresh = {0};
    const sh_status status = add_all(&fresh, folder == NULL ? "runs" : folder);
    if (status != SH_OK) {
        sh_run_list_release(&fresh);
        return status;
    }
    if (fresh.count > 1)
        qsort(fresh.runs, fresh.count, sizeof *fresh.runs, compare);
    *list = fresh;
    return SH_OK;
}

void sh_run_list_release(sh_run_list *list)
{
    free(list->runs);
    *list = (sh_run_list){0};
}
