/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's side of the database: a session, its records, and what is thinned.
 *
 *     SH_TRY(sh_book_open(&book, &about, path, &session));
 *     SH_TRY(sh_book_begin(book));
 *     SH_TRY(sh_book_write(book, &record));
 *     SH_TRY(sh_book_commit(book));
 *     sh_book_close(book);
 *
 * After a failure only close is of use; it takes back what was not committed. Failures as
 * store/database.h.
 *
 * Threads: the journal's.
 */
#ifndef SHOAL_STORE_JOURNAL_BOOK_H
#define SHOAL_STORE_JOURNAL_BOOK_H

#include "store/journal.h"

typedef enum sh_record_kind {
    SH_RECORD_SAMPLE,
    SH_RECORD_WORK,
    SH_RECORD_STEP,
    SH_RECORD_EPOCH,
    SH_RECORD_VIEW,
    SH_RECORD_DEVICE,
    SH_RECORD_GONE,
    SH_RECORD_EVENT,
    SH_RECORD_END,
    SH_RECORD_KINDS,
} sh_record_kind;

/* One record; texts are copies. */
typedef struct sh_record {
    sh_record_kind kind;
    uint32_t device;
    union {
        sh_sample sample;
        sh_step_times work;
        sh_journal_step_row step;
        sh_journal_epoch_row epoch;
        struct {
            uint64_t at_ns, step;
            uint32_t number, grains;
            char reason[SH_JOURNAL_NAME_BYTES];
        } view;
        struct {
            uint64_t at_ns;
            uint32_t lanes, cores;
            char name[SH_JOURNAL_NAME_BYTES], family[SH_JOURNAL_NAME_BYTES]; /* "": not known */
        } member; /* DEVICE; GONE with the reason as its name */
        struct {
            uint64_t at_ns;
            char *kind, *text; /* owned by the journal; text NULL: none. END: status, hash */
        } event;
    };
} sh_record;

/* What a session is about; borrowed until the book is closed. */
typedef struct sh_book_about {
    const sh_journal_run *run;
    const char *version;
    uint64_t start_step, rows_max;
    uint64_t start_ns; /* of the journal's clock, */
    double date;       /* which was then this, in seconds since 1970 */
} sh_book_about;

typedef struct sh_book sh_book;

/* `*session` is the session's number, or 0 to begin one, whose number it then is. */
sh_status sh_book_open(sh_book **book, const sh_book_about *about, const char *path,
                       int64_t *session) SHOAL_CHECKED;
void sh_book_close(sh_book *book); /* NULL is fine */

/* A transaction; commit also thins a piece of what is too much. */
sh_status sh_book_begin(sh_book *book) SHOAL_CHECKED;
sh_status sh_book_write(sh_book *book, const sh_record *record) SHOAL_CHECKED;
sh_status sh_book_commit(sh_book *book) SHOAL_CHECKED;

/* Whether there is more to thin. */
bool sh_book_is_thinning(const sh_book *book);

#endif
