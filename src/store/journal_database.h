/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's side of the database: a session, its records, and what is thinned.
 *
 *     SH_TRY(sh_journal_database_open(&database, &options, start_ns, path, &session));
 *     SH_TRY(sh_journal_database_begin(database));
 *     SH_TRY(sh_journal_database_write(database, &record));
 *     SH_TRY(sh_journal_database_commit(database));
 *     sh_journal_database_close(database);
 *
 * After a failure only close is of use; it takes back what was not committed. Failures as
 * store/database.h.
 *
 * Threads: the journal's.
 */
#ifndef SHOAL_STORE_JOURNAL_DATABASE_H
#define SHOAL_STORE_JOURNAL_DATABASE_H

#include "store/journal.h"

typedef enum sh_journal_record_kind {
    SH_JOURNAL_SAMPLE,
    SH_JOURNAL_WORK,
    SH_JOURNAL_STEP,
    SH_JOURNAL_EPOCH,
    SH_JOURNAL_VIEW,
    SH_JOURNAL_DEVICE,
    SH_JOURNAL_GONE,
    SH_JOURNAL_EVENT,
    SH_JOURNAL_END,
    SH_JOURNAL_KINDS,
} sh_journal_record_kind;

/* One record; texts are copies. */
typedef struct sh_journal_record {
    sh_journal_record_kind kind;
    uint32_t device; /* SH_JOURNAL_NO_DEVICE: none */
    uint64_t at_ns;  /* of the journal's clock */
    union {
        sh_sample sample;
        sh_step_times work;
        sh_journal_step_row step;
        sh_journal_epoch_row epoch;
        struct {
            uint64_t step;
            uint32_t number, grains;
            char reason[SH_JOURNAL_NAME_BYTES];
        } view;
        struct {
            uint32_t lanes, cores;
            char name[SH_JOURNAL_NAME_BYTES];
        } member; /* DEVICE; GONE with the reason as its name */
        struct {
            char *kind, *text; /* owned by the journal; text NULL: none. END: status, hash */
        } event;
    };
} sh_journal_record;

typedef struct sh_journal_database sh_journal_database;

/*
 * `options` is borrowed until it is closed; `options->date` was at `start_ns` of the journal's
 * clock. `*session` is the session's number, or 0 to begin one, whose number it then is.
 */
sh_status sh_journal_database_open(sh_journal_database **database,
                                   const sh_journal_options *options, uint64_t start_ns,
                                   const char *path, int64_t *session) SHOAL_CHECKED;
void sh_journal_database_close(sh_journal_database *database); /* NULL is fine */

/* A transaction; commit also thins a piece of what is too much. */
sh_status sh_journal_database_begin(sh_journal_database *database) SHOAL_CHECKED;
sh_status sh_journal_database_write(sh_journal_database *database,
                                    const sh_journal_record *record) SHOAL_CHECKED;
sh_status sh_journal_database_commit(sh_journal_database *database) SHOAL_CHECKED;

/* Whether there is more to thin. */
bool sh_journal_database_is_thinning(const sh_journal_database *database);

#endif
