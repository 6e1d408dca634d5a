/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sweep_schema.h"

#include "shoal/sweep.h"

/* clang-format off */
static const char schema[] =
    "CREATE TABLE about (name TEXT NOT NULL, file TEXT NOT NULL, read REAL NOT NULL);\n"
    "CREATE TABLE trials (\n"
    "  id TEXT PRIMARY KEY,\n"
#define SETTING_COLUMN(name, text, kind, whose) "  set_" #name " TEXT,\n"
    SH_SETTING_MAP(SETTING_COLUMN)
#undef SETTING_COLUMN
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
    };
    return &kind;
}

#define SETTING_IN_LIST(name, text, kind, whose) "set_" #name ", "
#define FIGURE_IN_LIST(name, what) #name ", "

const char *sh_sweep_schema_settings(void)
{
    static const char names[] = SH_SETTING_MAP(SETTING_IN_LIST) "id";
    return names;
}

const char *sh_sweep_schema_figures(void)
{
    static const char names[] = SH_TRIAL_FIGURE_MAP(FIGURE_IN_LIST) "weights_hash";
    return names;
}

const char *sh_setting_name(sh_setting setting)
{
    static const char *const names[] = {
#define SETTING_TEXT(name, text, kind, whose) text,
        SH_SETTING_MAP(SETTING_TEXT)
#undef SETTING_TEXT
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
