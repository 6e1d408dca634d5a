/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a training, for programs that offer them: what each is called, what it may be,
 * what it is for. All come from one list, shoal/options.def.
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
    SH_OPTION_FLAG,   /* bool: true where the option is given; takes no value */
    SH_OPTION_SWITCH, /* uint32_t: 1 where the option is given; takes no value */
    SH_OPTION_U32,    /* uint32_t: whole number */
    SH_OPTION_U64,    /* uint64_t: whole number */
    SH_OPTION_BYTES,  /* uint64_t: "96M"; K, M, G, T are powers of 1024 */
    SH_OPTION_FLOAT,  /* float: finite */
    SH_OPTION_TEXT,   /* const char *: not empty, no control characters; borrowed */
    SH_OPTION_NAME,   /* char[max + 1]: as a text, but copied */
} sh_option_kind;

/* The C type of a kind in shoal/options.def; that of a NAME is an array. */
#define SH_OPTION_TYPE_FLAG bool
#define SH_OPTION_TYPE_SWITCH uint32_t
#define SH_OPTION_TYPE_U32 uint32_t
#define SH_OPTION_TYPE_U64 uint64_t
#define SH_OPTION_TYPE_BYTES uint64_t
#define SH_OPTION_TYPE_FLOAT float
#define SH_OPTION_TYPE_TEXT const char *

typedef enum sh_option_owner {
    SH_OPTION_OF_PROGRAM, /* a command line's own */
    SH_OPTION_OF_JOB,     /* decides the weights: the same for all devices, a member of sh_job */
    SH_OPTION_OF_DEVICE,  /* of this call alone, a member of sh_train_options */
} sh_option_owner;

typedef struct sh_option {
    sh_option_kind kind;
    sh_option_owner owner;
    const char *member; /* its name in C, and of a job's option in job.json */
    const char *name;   /* as typed, without its dashes */
    const char *value;  /* what help calls the value: "N"; NULL: it takes none */
    const char *alone;  /* the value where none is given; NULL: it needs one */
    const char *help;   /* one line */
    const char *plan; /* help of `shoal plan`, "" where it is `help`; NULL: plan does not take it */

    /* The range. `max` 0: what the type holds; the bytes of a text. */
    double min, max;
    bool above, below; /* a float: `min`, `max` themselves are outside */
    bool suggests;     /* `words` are what shells complete, not all that there is */
    const char *zero;  /* what 0 does, where it is outside of the range but may be set */
    const char *unit;  /* of the number: "epochs" */
    const char *words; /* the values that there are: "32|16|8"; NULL: a range */

    bool argument; /* stands without a name: MODEL, DATA */
    bool derived;  /* not typed: it follows from another option, of this name */
    bool resume;   /* may be given anew to a job that is resumed */
    bool hidden;   /* not in help */
    bool shows_default;
    char letter;     /* its short form, "-o"; 0: none */
    uint8_t help_at; /* place in help; equal ones stand as in the list */
    uint8_t json_at; /* place in job.json, from 1, for the options that every file contains; 0: the
                        option was added later. It is written after the others, and a file
                        without it means its default. */
    size_t offset;   /* within sh_job, sh_train_options, or the program's own struct */
    size_t given;    /* of a bool that is set when it is used: within sh_job_given, or the program's
                        own struct, where 0 is none */
} sh_option;

/* The job's and the device's options; SH_OPTION_END ends the list. Static storage. */
SHOAL_API const sh_option *sh_options(void);

/* Whether it is one of the job's that decide how samples are read and prepared, for training and
 * for every later use of the weights: --resize and --target, not --augment. */
SHOAL_API bool sh_option_reads(const sh_option *option);

#ifdef __cplusplus
}
#endif
#endif
