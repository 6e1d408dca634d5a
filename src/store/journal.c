/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue is a ring of records. The thread writes the records at the head while callers add at
 * the tail. It removes records only after their commit, so they can be written again after an
 * error. A caller that adds a record wakes the thread when a period has passed, so an idle run
 * costs nothing.
 *
 *     queue [ - - - t t t t p p p - - ]     t: being written, p: added meanwhile
 *                   ^head   ^head + taken
 *
 * After a transaction the remaining records move to the front, which limits the memory in use.
 */
#include "store/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "store/file.h"
#include "store/journal_database.h"

#define DAMAGED_MOST 1000    /* in one folder */
#define DAMAGED_IN_SESSION 3 /* then the journal stops */

struct sh_journal {
    char path[SH_PATH_BYTES];
    sh_journal_options options; /* its texts are in `texts` */
    sh_arena texts;
    uint64_t start_ns; /* the time of `options.date` */
    pthread_t thread;
    bool runs;

    /* Only for the thread. */
    sh_journal_database *database; /* NULL: not open */
    int64_t session;
    uint32_t damaged;
    bool told;     /* a temporary error was reported */
    bool troubled; /* a temporary error persists */
    bool begun;    /* a transaction was committed */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake, done;
    sh_journal_record *queue;
    uint32_t head, count;
    uint64_t put, written; /* records in total; `written` includes those that failed */
    uint64_t attempts;
    uint64_t dropped, dropped_told;
    uint64_t last_ns, retry_ns; /* the last attempt; the earliest retry after an error */
    bool due, ending, off;
    bool thinning;
};

static void forget(sh_journal_record *record)
{
    if (record->kind != SH_JOURNAL_EVENT && record->kind != SH_JOURNAL_END)
        return;
    free(record->event.kind);
    free(record->event.text);
}

/* ---- errors (on the thread) ------------------------------------------------------------------ */

static sh_status move_file(const char *from, const char *to)
{
    if (rename(from, to) != 0 && errno != ENOENT)
        return sh_fail_errno(errno, "%s: cannot be moved to %s", from, to);
    return SH_OK;
}

/* Renames the database and its write-ahead log to a free name. */
static sh_status move_aside(const sh_journal *journal, char to[SH_PATH_BYTES])
{
    char name[64], from_log[SH_PATH_BYTES + 8], to_log[SH_PATH_BYTES + 8];
    int number = 1;
    for (;; number++) {
        snprintf(name, sizeof name, SH_RUN_DATABASE ".damaged-%d", number);
        SH_TRY(sh_path_join(to, journal->options.folder, name));
        if (access(to, F_OK) != 0)
            break;
        if (number == DAMAGED_MOST)
            return sh_fail(SH_LIMIT, "%s: holds %d damaged databases", journal->options.folder,
                           number);
    }
    SH_TRY(move_file(journal->path, to));
    snprintf(from_log, sizeof from_log, "%s-wal", journal->path);
    snprintf(to_log, sizeof to_log, "%s-wal", to);
    SH_TRY(move_file(from_log, to_log));
    snprintf(from_log, sizeof from_log, "%s-shm", journal->path);
    unlink(from_log);
    return SH_OK;
}

/* Makes a new database, schedules a retry, or stops the journal. */
static void judge(sh_journal *journal, sh_status status)
{
    char why[SH_MESSAGE_BYTES], to[SH_PATH_BYTES], text[SH_MESSAGE_BYTES];
    bool stops = false;
    snprintf(why, sizeof why, "%s", sh_message());
    sh_journal_database_close(journal->database);
    journal->database = NULL;
    if (status == SH_FORMAT || status == SH_CORRUPT) {
        stops = ++journal->damaged > DAMAGED_IN_SESSION || move_aside(journal, to) != SH_OK;
        journal->session = 0;
        if (stops)
            snprintf(text, sizeof text, "%.500s; the run is no longer recorded", why);
        else
            snprintf(text, sizeof text, "%.400s; it was moved to %.300s, and a new one is started",
                     why, to);
    } else if (status == SH_NO_SPACE || status == SH_NO_MEMORY || status == SH_REFUSED ||
               status == SH_IO) {
        pthread_mutex_lock(&journal->lock);
        journal->retry_ns = sh_clock_now_ns(journal->options.clock) + SH_JOURNAL_RETRY_NS;
        pthread_mutex_unlock(&journal->lock);
        journal->troubled = true;
        if (journal->told)
            return;
        journal->told = true;
        snprintf(text, sizeof text,
                 "%.700s: training continues without a record until this is resolved", why);
    } else {
        stops = true;
        snprintf(text, sizeof text, "%.700s: training continues without a record", why);
    }
    if (stops) {
        pthread_mutex_lock(&journal->lock);
        journal->off = true;
        pthread_mutex_unlock(&journal->lock);
    }
    sh_log(SH_LOG_WARN, "journal.failed", "reason=\"%s\"", text);
    if (journal->options.on_trouble != NULL)
        journal->options.on_trouble(journal->options.context, text);
}

/* ---- writing (on the thread) ----------------------------------------------------------------- */

static sh_status write_records(sh_journal *journal, uint32_t head, uint32_t count, uint64_t dropped)
{
    struct statvfs disk;
    if (journal->options.reserve_bytes > 0 && statvfs(journal->options.folder, &disk) == 0) {
        const uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
        if (room < journal->options.reserve_bytes)
            return sh_fail(SH_NO_SPACE,
                           "%s: %.1f MiB are left on its disk, which checkpoints may need",
                           journal->path, (double)room / 1048576);
    }
    if (journal->database == NULL)
        SH_TRY(sh_journal_database_open(&journal->database, &journal->options, journal->start_ns,
                                        journal->path, &journal->session));
    sh_journal_database *database = journal->database;
    SH_TRY(sh_journal_database_begin(database));
    for (uint32_t i = 0; i < count; i++)
        SH_TRY(sh_journal_database_write(database, &journal->queue[(head + i) % SH_JOURNAL_QUEUE]));
    if (dropped > 0) {
        char kind[] = "journal.dropped", text[96];
        snprintf(text, sizeof text, "%llu records came faster than the disk wrote them",
                 (unsigned long long)dropped);
        const sh_journal_record record = {.kind = SH_JOURNAL_EVENT,
                                          .device = SH_JOURNAL_NO_DEVICE,
                                          .at_ns = sh_clock_now_ns(journal->options.clock),
                                          .event = {kind, text}};
        SH_TRY(sh_journal_database_write(database, &record));
    }
    return sh_journal_database_commit(database);
}

/* Caller locks. */
static void remove_records(sh_journal *journal, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        forget(&journal->queue[(journal->head + i) % SH_JOURNAL_QUEUE]);
    journal->count -= count;
    journal->head = (journal->head + count) % SH_JOURNAL_QUEUE;
    journal->written += count;
    if (journal->head + journal->count > SH_JOURNAL_QUEUE)
        return;
    memmove(journal->queue, journal->queue + journal->head,
            journal->count * sizeof *journal->queue);
    journal->head = 0;
}

/* Caller locks; unlocked meanwhile. */
static void attempt(sh_journal *journal)
{
    const uint32_t head = journal->head, count = journal->count;
    const uint64_t dropped = journal->dropped, untold = dropped - journal->dropped_told;
    pthread_mutex_unlock(&journal->lock);
    const sh_status status = write_records(journal, head, count, untold);
    if (status == SH_OK && !journal->begun)
        sh_memory_trim(); /* only making the database needed it */
    journal->begun = journal->begun || status == SH_OK;
    if (status != SH_OK) {
        judge(journal, status);
    } else if (journal->troubled) {
        sh_log(SH_LOG_INFO, "journal.resumed", "file=\"%s\"", journal->path);
        journal->troubled = false;
    }
    pthread_mutex_lock(&journal->lock);
    journal->last_ns = sh_clock_now_ns(journal->options.clock);
    if (status == SH_OK) {
        remove_records(journal, count);
        journal->dropped_told = dropped;
        journal->retry_ns = 0;
    } else if (journal->off) {
        remove_records(journal, journal->count);
    } else if (status == SH_FORMAT || status == SH_CORRUPT) {
        journal->due = true;
    }
    journal->thinning =
        journal->database != NULL && sh_journal_database_is_thinning(journal->database);
    journal->attempts++;
    pthread_cond_broadcast(&journal->done);
}

static void *journal_main(void *argument)
{
    sh_journal *journal = argument;
    bool last = false;
    pthread_mutex_lock(&journal->lock);
    while (!last) {
        while (!journal->due && !journal->ending && !journal->thinning)
            pthread_cond_wait(&journal->wake, &journal->lock);
        last = journal->ending;
        journal->due = false;
        if (!journal->off)
            attempt(journal);
        last = last && !journal->due; /* due: write to the new database */
    }
    pthread_mutex_unlock(&journal->lock);
    sh_journal_database_close(journal->database);
    return NULL;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Caller locks. */
static bool is_due(const sh_journal *journal)
{
    const uint64_t now = sh_clock_now_ns(journal->options.clock);
    if (journal->retry_ns != 0)
        return now >= journal->retry_ns;
    return now - journal->last_ns >= SH_JOURNAL_PERIOD_NS || journal->count >= SH_JOURNAL_SOON;
}

static void put(sh_journal *journal, sh_journal_record *record)
{
    pthread_mutex_lock(&journal->lock);
    const bool room = !journal->off && journal->count < SH_JOURNAL_QUEUE;
    if (room) {
        journal->queue[(journal->head + journal->count++) % SH_JOURNAL_QUEUE] = *record;
        journal->put++;
    } else {
        journal->dropped++;
    }
    const bool soon = record->kind == SH_JOURNAL_EPOCH && journal->retry_ns == 0;
    if (!journal->off && !journal->due && (soon || is_due(journal))) {
        journal->due = true;
        pthread_cond_signal(&journal->wake);
    }
    pthread_mutex_unlock(&journal->lock);
    if (!room)
        forget(record);
}

void sh_journal_device(sh_journal *journal, const sh_journal_device_row *row)
{
    sh_journal_record record = {.kind = SH_JOURNAL_DEVICE,
                                .device = row->device,
                                .at_ns = row->at_ns,
                                .member = {.lanes = row->lanes, .cores = row->cores}};
    snprintf(record.member.name, sizeof record.member.name, "%s", row->name);
    put(journal, &record);
}

void sh_journal_device_gone(sh_journal *journal, uint32_t device, uint64_t at_ns,
                            const char *reason)
{
    sh_journal_record record = {.kind = SH_JOURNAL_GONE, .device = device, .at_ns = at_ns};
    snprintf(record.member.name, sizeof record.member.name, "%s", reason);
    put(journal, &record);
}

void sh_journal_view(sh_journal *journal, const sh_journal_view_row *row)
{
    sh_journal_record record = {
        .kind = SH_JOURNAL_VIEW,
        .device = row->device,
        .at_ns = row->at_ns,
        .view = {.step = row->step, .number = row->view, .grains = row->grains}};
    snprintf(record.view.reason, sizeof record.view.reason, "%s", row->reason);
    put(journal, &record);
}

void sh_journal_step(sh_journal *journal, const sh_journal_step_row *row)
{
    put(journal, &(sh_journal_record){.kind = SH_JOURNAL_STEP, .at_ns = row->at_ns, .step = *row});
}

void sh_journal_epoch(sh_journal *journal, const sh_journal_epoch_row *row)
{
    put(journal,
        &(sh_journal_record){.kind = SH_JOURNAL_EPOCH, .at_ns = row->at_ns, .epoch = *row});
}

void sh_journal_work(sh_journal *journal, uint32_t device, const sh_step_times *times)
{
    put(journal,
        &(sh_journal_record){
            .kind = SH_JOURNAL_WORK, .device = device, .at_ns = times->ends_ns, .work = *times});
}

void sh_journal_sample(sh_journal *journal, uint32_t device, const sh_sample *sample)
{
    put(journal, &(sh_journal_record){.kind = SH_JOURNAL_SAMPLE,
                                      .device = device,
                                      .at_ns = sample->at_ns,
                                      .sample = *sample});
}

void sh_journal_event(sh_journal *journal, uint64_t at_ns, uint32_t device, const char *kind,
                      const char *text)
{
    sh_journal_record record = {.kind = SH_JOURNAL_EVENT,
                                .device = device,
                                .at_ns = at_ns,
                                .event = {strdup(kind), strdup(text)}};
    if (record.event.kind != NULL && record.event.text != NULL)
        put(journal, &record);
    else
        forget(&record);
}

/* Returns the end of the line if there are fewer words. */
static const char *skip_words(const char *line, int words)
{
    for (; words > 0; words--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return line;
}

void sh_journal_line(sh_journal *journal, uint64_t at_ns, const char *line)
{
    static const char key[] = "device=";
    char kind[64];
    uint32_t device = SH_JOURNAL_NO_DEVICE;
    const char *event = skip_words(line, 2), *text = skip_words(event, 1);
    if (*event == '\0')
        return;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(event, " "), event);
    if (strncmp(text, key, sizeof key - 1) == 0) {
        device = (uint32_t)strtoul(text + sizeof key - 1, NULL, 10);
        text = skip_words(text, 1);
    }
    sh_journal_event(journal, at_ns, device, kind, text);
}

void sh_journal_end(sh_journal *journal, const char *status, const char *weights_hash)
{
    put(journal,
        &(sh_journal_record){
            .kind = SH_JOURNAL_END,
            .at_ns = sh_clock_now_ns(journal->options.clock),
            .event = {strdup(status), weights_hash == NULL ? NULL : strdup(weights_hash)}});
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_journal_open(sh_journal **journal, const sh_journal_options *options)
{
    sh_status status = SH_OK;
    sh_journal *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the run's journal");
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->wake, NULL);
    pthread_cond_init(&fresh->done, NULL);
    sh_arena_init(&fresh->texts);
    sh_journal_options *own = &fresh->options;
    *own = *options;
    own->folder = sh_arena_text(&fresh->texts, options->folder);
    own->version = sh_arena_text(&fresh->texts, options->version);
    own->run.model = sh_arena_text(&fresh->texts, options->run.model);
    own->run.data = sh_arena_text(&fresh->texts, options->run.data);
    own->run.job = sh_arena_text(&fresh->texts, options->run.job);
    fresh->queue = malloc(SH_JOURNAL_QUEUE * sizeof *fresh->queue);
    if (own->folder == NULL || own->version == NULL || own->run.model == NULL ||
        own->run.data == NULL || own->run.job == NULL || fresh->queue == NULL)
        SH_TRY_DONE(sh_fail_memory(SH_JOURNAL_QUEUE * sizeof *fresh->queue, "the run's journal"));
    if (own->rows_max == 0)
        own->rows_max = SH_SCHEMA_ROWS_MAX;
    SH_TRY_DONE(sh_path_join(fresh->path, own->folder, SH_RUN_DATABASE));
    fresh->start_ns = fresh->last_ns = sh_clock_now_ns(own->clock);
    fresh->due = true;
    const int error = sh_thread_start(&fresh->thread, journal_main, fresh);
    if (error != 0)
        SH_TRY_DONE(sh_fail_errno(error, "starting the journal's thread"));
    fresh->runs = true;
    *journal = fresh;
    return SH_OK;
done:
    sh_journal_close(fresh);
    return status;
}

void sh_journal_close(sh_journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->runs) {
        pthread_mutex_lock(&journal->lock);
        journal->ending = true;
        pthread_cond_signal(&journal->wake);
        pthread_mutex_unlock(&journal->lock);
        pthread_join(journal->thread, NULL);
    }
    while (journal->queue != NULL && journal->count > 0)
        remove_records(journal, 1);
    pthread_cond_destroy(&journal->wake);
    pthread_cond_destroy(&journal->done);
    pthread_mutex_destroy(&journal->lock);
    sh_arena_release(&journal->texts);
    free(journal->queue);
    free(journal);
}

void sh_journal_flush(sh_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    const uint64_t wanted = journal->put;
    bool failed = journal->retry_ns != 0 && !is_due(journal);
    while (!journal->off && !failed && (journal->written < wanted || journal->thinning)) {
        const uint64_t attempts = journal->attempts;
        journal->due = true;
        pthread_cond_signal(&journal->wake);
        while (journal->attempts == attempts)
            pthread_cond_wait(&journal->done, &journal->lock);
        failed = journal->retry_ns != 0;
    }
    pthread_mutex_unlock(&journal->lock);
}

uint64_t sh_journal_dropped(sh_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    const uint64_t dropped = journal->dropped;
    pthread_mutex_unlock(&journal->lock);
    return dropped;
}
