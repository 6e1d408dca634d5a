/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sweep_schema.h"

#include <stdio.h>

#include "shoal/sweep.h"

/* clang-format off */
static const char schema[] =
    "CREATE TABLE about (name TEXT NOT NULL, file TEXT NOT NULL, read REAL NOT NULL);\n"
    "CREATE TABLE trials (\n"
    "  id TEXT PRIMARY KEY,\n"
#define SH_SETTING(kind, member, name) "  set_" #member " TEXT,\n"
#include "shoal/options.def"
    "  state TEXT NOT NULL, attempts INTEGER NOT NULL, spent_seconds REAL NOT NULL,\n"
    "  begun REAL, message TEXT,\n"
#define FIGURE_COLUMN(name, what) "  " #name " REAL,\n"
    SH_TRIAL_FIGURE_MAP(FIGURE_COLUMN)
#undef FIGURE_COLUMN
    "  weights_hash TEXT\n"
    ");\n"
    "CREATE TABLE study (\n"
    "  place INTEGER PRIMARY KEY, block TEXT NOT NULL, trial TEXT NOT NULL REFERENCES trials (id)\n"
    ");\n";
/* clang-format on */

const sh_database_kind *sh_sweep_schema(void)
{
    static const sh_database_kind kind = {
        .what = "a sweep's database",
        .application = 0x73685357, /* "shSW" */
        .version = 1,
        .schema = schema,
        .grows = "trials",
        .spare = "set_",
    };
    return &kind;
}

#define FIGURE_IN_LIST(name, what) #name ", "

const char *sh_sweep_schema_settings(void)
{
    static const char names[] =
#define SH_SETTING(kind, member, name) "set_" #member ", "
#include "shoal/options.def"
        "id";
    return names;
}

static const char *const columns[SH_SETTING_COUNT] = {
#define SH_SETTING(kind, member, name) "set_" #member,
#include "shoal/options.def"
};

static sh_status find_missing(bool missing[SH_SETTING_COUNT], sh_database *database)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, database,
                        "SELECT 1 FROM pragma_table_info('trials') WHERE name = ?1"));
    sh_status status = SH_OK;
    for (int i = 0; status == SH_OK && i < SH_SETTING_COUNT; i++) {
        sh_query_bind_text(query, 1, columns[i]);
        missing[i] = !sh_query_row(query);
        status = sh_query_reset(query);
    }
    return sh_query_end(query, status);
}

sh_status sh_sweep_schema_extend(sh_database *database)
{
    bool missing[SH_SETTING_COUNT];
    SH_TRY(find_missing(missing, database));
    for (int i = 0; i < SH_SETTING_COUNT; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "ALTER TABLE trials ADD COLUMN %s TEXT", columns[i]);
        if (missing[i])
            SH_TRY(sh_database_run(database, sql));
    }
    return SH_OK;
}

sh_status sh_sweep_schema_select(char list[SH_SWEEP_LIST_BYTES], sh_database *database)
{
    bool missing[SH_SETTING_COUNT];
    size_t used = 0;
    SH_TRY(find_missing(missing, database));
    for (int i = 0; i < SH_SETTING_COUNT && used < SH_SWEEP_LIST_BYTES; i++)
        used += (size_t)snprintf(list + used, SH_SWEEP_LIST_BYTES - used, "%s%s", i > 0 ? ", " : "",
                                 missing[i] ? "NULL" : columns[i]);
    return used < SH_SWEEP_LIST_BYTES ? SH_OK : sh_fail(SH_LIMIT, "a sweep has too many settings");
}

const char *sh_sweep_schema_figures(void)
{
    static const char names[] = SH_TRIAL_FIGURE_MAP(FIGURE_IN_LIST) "weights_hash";
    return names;
}

const char *sh_setting_name(sh_setting setting)
{
    static const char *const names[] = {
#define SH_SETTING(kind, member, name) name,
#include "shoal/options.def"
    };
    return names[setting];
}

static const char *const state_texts[] = {
#define STATE_TEXT(name, text) [SH_TRIAL_##name] = (text),
    SH_TRIAL_STATE_MAP(STATE_TEXT)
#undef STATE_TEXT
};

const char *sh_trial_state_text(sh_trial_state state)
{
    return state_texts[state];
}

const char *sh_trial_figure_name(sh_trial_figure figure)
{
    static const char *const names[] = {
#define FIGURE_NAME(name, what) #name,
        SH_TRIAL_FIGURE_MAP(FIGURE_NAME)
#undef FIGURE_NAME
    };
    return names[figure];
}
