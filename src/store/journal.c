/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of records between those who put them and the thread. The thread takes the records at the
 * head while others add at the tail, and removes them when they are committed: what fails is still
 * there to be tried again. Nothing waits by time: who puts a record looks at the clock and wakes
 * the thread where a period has passed, so an idle run costs nothing.
 *
 *     queue [ - - - t t t t p p p - - ]     t taken: being written, p put meanwhile
 *                   ^head   ^head + taken
 *
 * An empty ring begins again at its front: a run with few records touches few pages.
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
#include "base/thread.h"
#include "store/file.h"
#include "store/journal_book.h"

#define DAMAGED_MOST 1000    /* files moved aside in one folder */
#define DAMAGED_IN_SESSION 3 /* then the disk is to blame, and the journal stops */

struct sh_journal {
    char path[SH_PATH_BYTES], folder[SH_PATH_BYTES], version[SH_JOURNAL_NAME_BYTES];
    char *model, *data, *job;
    sh_journal_run run;
    sh_book_about about;
    const sh_clock *clock;
    uint64_t reserve_bytes;
    void (*on_trouble)(void *context, const char *text);
    void *context;
    pthread_t thread;
    bool runs;

    /* The thread's own. */
    sh_book *book; /* NULL: not open */
    int64_t session;
    uint32_t damaged;
    bool told;     /* trouble that may pass */
    bool troubled; /* it lasts */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake, done;
    sh_record *queue;
    uint32_t head, count;
    uint64_t put, written; /* records ever; written ones may have failed for good */
    uint64_t attempts;
    uint64_t dropped, dropped_told;
    uint64_t last_ns, retry_ns; /* the last transaction; not before, after trouble */
    bool due, ending, off;
    bool thinning; /* there is more to thin */
};

static void forget(sh_record *record)
{
    if (record->kind != SH_RECORD_EVENT && record->kind != SH_RECORD_END)
        return;
    free(record->event.kind);
    free(record->event.text);
}

/* ---- trouble (the thread's) ------------------------------------------------------------------ */

static void tell(const sh_journal *journal, const char *text)
{
    sh_log(SH_LOG_WARN, "journal.failed", "reason=\"%s\"", text);
    if (journal->on_trouble != NULL)
        journal->on_trouble(journal->context, text);
}

static sh_status move_file(const char *from, const char *to)
{
    if (rename(from, to) != 0 && errno != ENOENT)
        return sh_fail_errno(errno, "%s: cannot be moved to %s", from, to);
    return SH_OK;
}

/* The database and its log, under a name that is free. */
static sh_status move_aside(const sh_journal *journal, char to[SH_PATH_BYTES])
{
    char name[64], from_log[SH_PATH_BYTES + 8], to_log[SH_PATH_BYTES + 8];
    int number = 1;
    for (;; number++) {
        snprintf(name, sizeof name, SH_RUN_DATABASE ".damaged-%d", number);
        SH_TRY(sh_path_join(to, journal->folder, name));
        if (access(to, F_OK) != 0)
            break;
        if (number == DAMAGED_MOST)
            return sh_fail(SH_LIMIT, "%s: holds %d damaged databases", journal->folder, number);
    }
    SH_TRY(move_file(journal->path, to));
    snprintf(from_log, sizeof from_log, "%s-wal", journal->path);
    snprintf(to_log, sizeof to_log, "%s-wal", to);
    SH_TRY(move_file(from_log, to_log));
    snprintf(from_log, sizeof from_log, "%s-shm", journal->path);
    unlink(from_log); /* made anew by whoever opens it */
    return SH_OK;
}

static void stop_for_good(sh_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal->off = true;
    pthread_mutex_unlock(&journal->lock);
}

static void begin_anew(sh_journal *journal)
{
    char why[SH_MESSAGE_BYTES], to[SH_PATH_BYTES], text[SH_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", sh_message());
    if (++journal->damaged > DAMAGED_IN_SESSION || move_aside(journal, to) != SH_OK) {
        snprintf(text, sizeof text, "%.500s; the run is not recorded any more", why);
        stop_for_good(journal);
    } else {
        snprintf(text, sizeof text, "%.400s; it was moved to %.300s, and a new one is begun", why,
                 to);
        journal->session = 0;
    }
    tell(journal, text);
}

static void wait_for_better(sh_journal *journal)
{
    char text[SH_MESSAGE_BYTES];
    pthread_mutex_lock(&journal->lock);
    journal->retry_ns = sh_clock_now_ns(journal->clock) + SH_JOURNAL_RETRY_NS;
    pthread_mutex_unlock(&journal->lock);
    journal->troubled = true;
    if (journal->told)
        return;
    journal->told = true;
    snprintf(text, sizeof text, "%.700s: training goes on without a record of it until that passes",
             sh_message());
    tell(journal, text);
}

static void judge(sh_journal *journal, sh_status status)
{
    char text[SH_MESSAGE_BYTES];
    sh_book_close(journal->book);
    journal->book = NULL;
    switch (status) {
    case SH_FORMAT:
    case SH_CORRUPT:
        begin_anew(journal);
        return;
    case SH_NO_SPACE:
    case SH_NO_MEMORY:
    case SH_REFUSED:
    case SH_IO:
        wait_for_better(journal);
        return;
    default:
        snprintf(text, sizeof text, "%.700s: training goes on without a record of it",
                 sh_message());
        stop_for_good(journal);
        tell(journal, text);
    }
}

/* ---- writing (the thread's) ------------------------------------------------------------------ */

static sh_status write_dropped(const sh_journal *journal, uint64_t dropped)
{
    char kind[] = "journal.dropped", text[96];
    snprintf(text, sizeof text, "%llu records came faster than the disk took them",
             (unsigned long long)dropped);
    return sh_book_write(journal->book,
                         &(sh_record){.kind = SH_RECORD_EVENT,
                                      .device = SH_JOURNAL_NO_DEVICE,
                                      .event = {sh_clock_now_ns(journal->clock), kind, text}});
}

/* What is left of the disk is left to checkpoints. */
static sh_status leave_reserve(const sh_journal *journal)
{
    struct statvfs disk;
    if (journal->reserve_bytes == 0 || statvfs(journal->folder, &disk) != 0)
        return SH_OK;
    const uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room >= journal->reserve_bytes)
        return SH_OK;
    return sh_fail(SH_NO_SPACE, "%s: %.1f MiB are left on its disk, which checkpoints may need",
                   journal->path, (double)room / 1048576);
}

static sh_status write_records(sh_journal *journal, uint32_t head, uint32_t count, uint64_t dropped)
{
    SH_TRY(leave_reserve(journal));
    if (journal->book == NULL)
        SH_TRY(sh_book_open(&journal->book, &journal->about, journal->path, &journal->session));
    SH_TRY(sh_book_begin(journal->book));
    for (uint32_t i = 0; i < count; i++)
        SH_TRY(sh_book_write(journal->book, &journal->queue[(head + i) % SH_JOURNAL_QUEUE]));
    if (dropped > 0)
        SH_TRY(write_dropped(journal, dropped));
    return sh_book_commit(journal->book);
}

/* Caller locks. */
static void remove_records(sh_journal *journal, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        forget(&journal->queue[(journal->head + i) % SH_JOURNAL_QUEUE]);
    journal->count -= count;
    journal->head = journal->count == 0 ? 0 : (journal->head + count) % SH_JOURNAL_QUEUE;
    journal->written += count;
}

static void note_success(sh_journal *journal)
{
    if (journal->troubled)
        sh_log(SH_LOG_INFO, "journal.resumed", "file=\"%s\"", journal->path);
    journal->troubled = false;
}

/* One transaction, or an attempt at one; caller locks. */
static void attempt(sh_journal *journal)
{
    const uint32_t head = journal->head, count = journal->count;
    const uint64_t dropped = journal->dropped, untold = dropped - journal->dropped_told;
    pthread_mutex_unlock(&journal->lock);
    const sh_status status = write_records(journal, head, count, untold);
    if (status != SH_OK)
        judge(journal, status);
    else
        note_success(journal);
    pthread_mutex_lock(&journal->lock);
    journal->last_ns = sh_clock_now_ns(journal->clock);
    if (status == SH_OK) {
        remove_records(journal, count);
        journal->dropped_told = dropped;
        journal->retry_ns = 0;
    } else if (journal->off) {
        remove_records(journal, journal->count);
    } else if (status == SH_FORMAT || status == SH_CORRUPT) {
        journal->due = true;
    }
    journal->thinning = journal->book != NULL && sh_book_is_thinning(journal->book);
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
        last = last && !journal->due; /* a database that is begun anew gets the records yet */
    }
    pthread_mutex_unlock(&journal->lock);
    sh_book_close(journal->book);
    return NULL;
}

/* ---- putting --------------------------------------------------------------------------------- */

/* Whether the thread has something to do now; caller locks. */
static bool is_due(const sh_journal *journal)
{
    const uint64_t now = sh_clock_now_ns(journal->clock);
    if (journal->retry_ns != 0)
        return now >= journal->retry_ns;
    return now - journal->last_ns >= SH_JOURNAL_PERIOD_NS || journal->count >= SH_JOURNAL_QUEUE / 2;
}

static void put(sh_journal *journal, sh_record *record)
{
    pthread_mutex_lock(&journal->lock);
    const bool room = !journal->off && journal->count < SH_JOURNAL_QUEUE;
    if (room) {
        journal->queue[(journal->head + journal->count++) % SH_JOURNAL_QUEUE] = *record;
        journal->put++;
    } else {
        journal->dropped++;
    }
    const bool soon = record->kind == SH_RECORD_EPOCH && journal->retry_ns == 0;
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
    sh_record record = {.kind = SH_RECORD_DEVICE, .device = row->device};
    record.member.at_ns = row->at_ns;
    record.member.lanes = row->lanes;
    record.member.cores = row->cores;
    snprintf(record.member.name, sizeof record.member.name, "%s", row->name);
    snprintf(record.member.family, sizeof record.member.family, "%s",
             row->family == NULL ? "" : row->family);
    put(journal, &record);
}

void sh_journal_device_gone(sh_journal *journal, uint32_t device, uint64_t at_ns,
                            const char *reason)
{
    sh_record record = {.kind = SH_RECORD_GONE, .device = device};
    record.member.at_ns = at_ns;
    snprintf(record.member.name, sizeof record.member.name, "%s", reason);
    put(journal, &record);
}

void sh_journal_view(sh_journal *journal, const sh_journal_view_row *row)
{
    sh_record record = {.kind = SH_RECORD_VIEW, .device = row->device};
    record.view.at_ns = row->at_ns;
    record.view.step = row->step;
    record.view.number = row->view;
    record.view.grains = row->grains;
    snprintf(record.view.reason, sizeof record.view.reason, "%s", row->reason);
    put(journal, &record);
}

void sh_journal_step(sh_journal *journal, const sh_journal_step_row *row)
{
    put(journal, &(sh_record){.kind = SH_RECORD_STEP, .step = *row});
}

void sh_journal_epoch(sh_journal *journal, const sh_journal_epoch_row *row)
{
    put(journal, &(sh_record){.kind = SH_RECORD_EPOCH, .epoch = *row});
}

void sh_journal_work(sh_journal *journal, uint32_t device, const sh_step_times *times)
{
    put(journal, &(sh_record){.kind = SH_RECORD_WORK, .device = device, .work = *times});
}

void sh_journal_sample(sh_journal *journal, uint32_t device, const sh_sample *sample)
{
    put(journal, &(sh_record){.kind = SH_RECORD_SAMPLE, .device = device, .sample = *sample});
}

void sh_journal_event(sh_journal *journal, uint64_t at_ns, uint32_t device, const char *kind,
                      const char *text)
{
    sh_record record = {.kind = SH_RECORD_EVENT, .device = device};
    record.event.at_ns = at_ns;
    record.event.kind = strdup(kind);
    record.event.text = strdup(text);
    if (record.event.kind != NULL && record.event.text != NULL)
        put(journal, &record);
    else
        forget(&record);
}

/* What stands behind the first `words` words; the end where there are no more. */
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
    sh_record record = {.kind = SH_RECORD_END};
    record.event.at_ns = sh_clock_now_ns(journal->clock);
    record.event.kind = strdup(status);
    record.event.text = weights_hash == NULL ? NULL : strdup(weights_hash);
    put(journal, &record);
}

/* ---- life ------------------------------------------------------------------------------------ */

static sh_status copy_texts(sh_journal *journal, const sh_journal_options *options)
{
    journal->model = strdup(options->run.model);
    journal->data = strdup(options->run.data);
    journal->job = strdup(options->run.job);
    if (journal->model == NULL || journal->data == NULL || journal->job == NULL)
        return sh_fail_memory(strlen(options->run.job), "the run's journal");
    journal->run = options->run;
    journal->run.model = journal->model;
    journal->run.data = journal->data;
    journal->run.job = journal->job;
    snprintf(journal->version, sizeof journal->version, "%s", options->version);
    snprintf(journal->folder, sizeof journal->folder, "%s", options->folder);
    return sh_path_join(journal->path, options->folder, SH_RUN_DATABASE);
}

/* Signals are the main program's. */
static sh_status start(sh_journal *journal)
{
    journal->queue = malloc(SH_JOURNAL_QUEUE * sizeof *journal->queue);
    if (journal->queue == NULL)
        return sh_fail_memory(SH_JOURNAL_QUEUE * sizeof *journal->queue, "the run's journal");
    const int error = sh_thread_start(&journal->thread, journal_main, journal);
    journal->runs = error == 0;
    return error == 0 ? SH_OK : sh_fail_errno(error, "starting the journal's thread");
}

sh_status sh_journal_open(sh_journal **journal, const sh_journal_options *options)
{
    sh_journal *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the run's journal");
    fresh->clock = options->clock;
    fresh->reserve_bytes = options->reserve_bytes;
    fresh->on_trouble = options->on_trouble;
    fresh->context = options->context;
    fresh->last_ns = sh_clock_now_ns(options->clock);
    fresh->due = true;
    fresh->about = (sh_book_about){
        .run = &fresh->run,
        .version = fresh->version,
        .start_step = options->start_step,
        .rows_max = options->rows_max == 0 ? SH_SCHEMA_ROWS_MAX : options->rows_max,
        .start_ns = fresh->last_ns,
        .date = options->date,
    };
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->wake, NULL);
    pthread_cond_init(&fresh->done, NULL);
    sh_status status = copy_texts(fresh, options);
    if (status == SH_OK)
        status = start(fresh);
    if (status != SH_OK) {
        sh_journal_close(fresh);
        return status;
    }
    *journal = fresh;
    return SH_OK;
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
    while (journal->count > 0)
        remove_records(journal, 1);
    pthread_cond_destroy(&journal->wake);
    pthread_cond_destroy(&journal->done);
    pthread_mutex_destroy(&journal->lock);
    free(journal->queue);
    free(journal->model);
    free(journal->data);
    free(journal->job);
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
