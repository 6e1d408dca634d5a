/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the sessions and records of the journal to the database, and thins its tables.
 *
 * After a failure only close may follow; it rolls back the transaction. Errors as in
 * store/database.h.
 *
 *     SH_TRY(sh_journal_database_open(&database, &options, start_ns, path, &session));
 *     SH_TRY(sh_journal_database_begin(database));
 *     SH_TRY(sh_journal_database_write(database, &record));
 *     SH_TRY(sh_journal_database_commit(database));
 *     sh_journal_database_close(database);
 *
 * Threads: the journal's thread only.
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

/* Owns copies of all texts. */
typedef struct sh_journal_record {
    sh_journal_record_kind kind;
    uint32_t device;
    uint64_t at_ns; /* of the journal's clock */
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
        } member; /* DEVICE; GONE: `name` is the reason */
        struct {
            char *kind, *text; /* text may be NULL. END: status, hash */
        } event;
    };
} sh_journal_record;

typedef struct sh_journal_database sh_journal_database;

/*
 * `options` is borrowed until close. `start_ns` is the time of `options->date` on the journal's
 * clock. If `*session` is 0, a session begins and its number is returned there. `*database` is
 * owned: close it.
 */
sh_status sh_journal_database_open(sh_journal_database **database,
                                   const sh_journal_options *options, uint64_t start_ns,
                                   const char *path, int64_t *session) SHOAL_CHECKED;
void sh_journal_database_close(sh_journal_database *database);

/* commit also thins a slice if a table has too many rows. */
sh_status sh_journal_database_begin(sh_journal_database *database) SHOAL_CHECKED;
sh_status sh_journal_database_write(sh_journal_database *database,
                                    const sh_journal_record *record) SHOAL_CHECKED;
sh_status sh_journal_database_commit(sh_journal_database *database) SHOAL_CHECKED;

/* Returns true if there are more rows to thin. */
bool sh_journal_database_is_thinning(const sh_journal_database *database);

#endif
