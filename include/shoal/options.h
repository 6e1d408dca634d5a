/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a training, for programs that offer them: names, allowed values, help. All come
 * from shoal/options.def.
 *
 *     for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
 *         printf("--%s %s  %s\n", each->name, each->value != NULL ? each->value : "", each->help);
 *
 * Threads: any; the list is constant.
 */
#ifndef SHOAL_OPTIONS_H
#define SHOAL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sh_option_kind {
    SH_OPTION_END,    /* ends a list */
    SH_OPTION_FLAG,   /* bool: true if given; takes no value */
    SH_OPTION_SWITCH, /* uint32_t: 1 if given; takes no value */
    SH_OPTION_U32,    /* uint32_t: integer */
    SH_OPTION_U64,    /* uint64_t: integer */
    SH_OPTION_BYTES,  /* uint64_t: "96M"; K, M, G, T are powers of 1024 */
    SH_OPTION_FLOAT,  /* float: finite */
    SH_OPTION_TEXT,   /* const char *: not empty, no control characters; borrowed */
    SH_OPTION_NAME,   /* char[max + 1]: like TEXT, but copied */
} sh_option_kind;

/* The C type of a kind in shoal/options.def; a NAME is an array. */
#define SH_OPTION_TYPE_FLAG bool
#define SH_OPTION_TYPE_SWITCH uint32_t
#define SH_OPTION_TYPE_U32 uint32_t
#define SH_OPTION_TYPE_U64 uint64_t
#define SH_OPTION_TYPE_BYTES uint64_t
#define SH_OPTION_TYPE_FLOAT float
#define SH_OPTION_TYPE_TEXT const char *

typedef enum sh_option_owner {
    SH_OPTION_OF_PROGRAM, /* of a command line */
    SH_OPTION_OF_JOB,     /* determines the weights; equal on all devices; in sh_job */
    SH_OPTION_OF_DEVICE,  /* of this call only; in sh_train_options */
} sh_option_owner;

typedef struct sh_option {
    sh_option_kind kind;
    sh_option_owner owner;
    const char *member; /* name in C and, of a job's option, in job.json */
    const char *name;   /* as typed, without dashes */
    const char *value;  /* its value in help: "N"; NULL: takes none */
    const char *alone;  /* the value if none is given; NULL: one is required */
    const char *help;   /* one line */
    const char *plan;   /* help of `shoal plan`, "": `help`; NULL: not an option of plan */

    /* The range. `max` 0: the maximum of the type; for a text, its bytes. */
    double min, max;
    bool above, below; /* of a FLOAT: `min`, `max` are excluded */
    bool suggests;     /* `words` are completions, not all values */
    const char *zero;  /* the effect of 0, if 0 is allowed outside the range */
    const char *unit;  /* of the number: "epochs" */
    const char *words; /* the allowed values, "32|16|8"; NULL: a range */

    bool argument; /* positional: MODEL, DATA */
    bool derived;  /* not typed: follows from the option of this name */
    bool resume;   /* may be changed when a job is resumed */
    bool hidden;   /* not in help */
    bool shows_default;
    char letter;     /* short form, "-o"; 0: none */
    uint8_t help_at; /* order in help; equal ones: as in the list */
    uint8_t json_at; /* order in job.json, from 1, of options in every file; 0: added later, written
                        at the end, and default if absent */
    size_t offset;   /* in sh_job, sh_train_options, or the program's struct */
    size_t given;    /* of a bool that says whether it was given: in sh_job_given or the program's
                        struct, where 0 is none */
} sh_option;

/* The options of job and device, ended by SH_OPTION_END. Static. */
SHOAL_API const sh_option *sh_options(void);

/* Whether it is a job's option that determines how samples are read and prepared, in training and
 * in each later use of the weights: --resize and --target, not --augment. */
SHOAL_API bool sh_option_reads(const sh_option *option);

#ifdef __cplusplus
}
#endif
#endif
