/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml parses the file into nodes with positions, which become axes: an axis is the list of
 * values of one setting. A block has an axis for each setting; most have NULL as their only value.
 * Counting through the axes like an odometer, the last one fastest, gives the trials.
 */
#include "sweep/study_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/suggestion.h"
#include "store/file.h"
#include "sweep/yaml_calls.h"

typedef enum setting_kind { TEXT, COUNT, WHOLE, REAL, FLAG, BYTES, RATE, DELAY } setting_kind;
static const char *const expected[] = {
    [TEXT] = "text",
    [COUNT] = "a whole number from 1, or a range such as 1..10",
    [WHOLE] = "a whole number from 0, or a range such as 1..10",
    [REAL] = "a number from 0, such as 0.01",
    [FLAG] = "true or false",
    [BYTES] = "bytes, such as 96M",
    [RATE] = "a rate with its unit, such as 100Mbit",
    [DELAY] = "a time with its unit, such as 5ms",
};

const sh_option *sh_study_option(sh_setting setting)
{
    const sh_option *option = sh_options();
    while (option->kind != SH_OPTION_END &&
           (option->derived || strcmp(option->name, sh_setting_name(setting)) != 0))
        option++;
    return option->kind == SH_OPTION_END ? NULL : option;
}

static setting_kind kind_of(sh_setting setting)
{
    static const setting_kind of_lab[SH_SETTING_COUNT] = {
#define LAB_KIND_FLOAT REAL
#define LAB_KIND_BYTES BYTES
#define LAB_KIND_RATE RATE
#define LAB_KIND_DELAY DELAY
#define SH_LAB_SETTING(kind, member, name) [SH_SETTING_##member] = LAB_KIND_##kind,
#include "shoal/options.def"
    };
    const sh_option *option = sh_study_option(setting);
    if (option == NULL)
        return of_lab[setting];
    switch (option->kind) {
    case SH_OPTION_FLAG:
    case SH_OPTION_SWITCH:
        return FLAG;
    case SH_OPTION_U32:
    case SH_OPTION_U64:
        return option->min >= 1 ? COUNT : WHOLE;
    case SH_OPTION_BYTES:
        return BYTES;
    case SH_OPTION_FLOAT:
        return REAL;
    default:
        return TEXT;
    }
}

typedef struct axis {
    const char *values[SH_STUDY_VALUES_MAX];
    size_t count; /* 0: not in the file */
} axis;

typedef struct block {
    const char *name;
    axis axes[SH_SETTING_COUNT];
    yaml_node_t *rules; /* NULL: none */
} block;

typedef struct reader {
    const char *path;
    yaml_document_t document;
    sh_arena arena;
    block all, own, rule; /* the current one: blocks are large */
    sh_study study;
    sh_study_trial *trials;
    size_t capacity;
} reader;

/* ---- messages and nodes ---- */

__attribute__((format(printf, 3, 4))) static SHOAL_CHECKED sh_status fail_at(const reader *self,
                                                                             yaml_mark_t mark,
                                                                             const char *format,
                                                                             ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return sh_fail(SH_FORMAT, "%s:%zu:%zu: %s", self->path, mark.line + 1, mark.column + 1, text);
}

static SHOAL_CHECKED sh_status fail_form(const reader *self, const yaml_node_t *node,
                                         const char *what, const char *form)
{
    return fail_at(self, node->start_mark, "%s must be %s", what, form);
}

static yaml_node_t *node_of(reader *self, int index)
{
    return yaml_document_get_node(&self->document, index);
}

/* NULL for other nodes, long texts and control characters. */
static const char *text_of(const yaml_node_t *node, char text[SH_STUDY_TEXT_BYTES])
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.length >= SH_STUDY_TEXT_BYTES)
        return NULL;
    for (size_t i = 0; i < node->data.scalar.length; i++)
        if (node->data.scalar.value[i] < ' ' || node->data.scalar.value[i] == 127)
            return NULL;
    memcpy(text, node->data.scalar.value, node->data.scalar.length);
    text[node->data.scalar.length] = '\0';
    return text;
}

static sh_status keep(reader *self, const char **kept, const char *text)
{
    *kept = sh_arena_text(&self->arena, text);
    return *kept == NULL ? sh_fail_memory(strlen(text), "a study") : SH_OK;
}

static sh_status take_text(reader *self, const char **kept, const yaml_node_t *node,
                           const char *what)
{
    char text[SH_STUDY_TEXT_BYTES];
    if (text_of(node, text) == NULL || text[0] == '\0')
        return fail_form(self, node, what, "text, of at most 1023 characters, on one line");
    return keep(self, kept, text);
}

/* ---- values ---- */

static bool has_unit(const char *text, setting_kind kind)
{
    static const char *const units[][6] = {
        [BYTES] = {"", "K", "M", "G", "T"},
        [RATE] = {"kbit", "Mbit", "Gbit"},
        [DELAY] = {"us", "ms", "s"},
    };
    const size_t digits = strspn(text, "0123456789");
    const size_t more = text[digits] == '.' ? 1 + strspn(text + digits + 1, "0123456789") : 0;
    if (digits == 0 || digits > 12 || more > 6)
        return false;
    for (const char *const *unit = units[kind]; *unit != NULL; unit++)
        if (strcmp(text + digits + more, *unit) == 0)
            return true;
    return false;
}

static bool whole_of(const char *text, size_t length, uint64_t *number)
{
    if (length == 0 || length > 18 || strspn(text, "0123456789") < length)
        return false;
    *number = strtoull(text, NULL, 10);
    return true;
}

/* Equal numbers get the same text. False if the text is not of this kind. */
static bool value_of(setting_kind kind, const char *text, char out[SH_STUDY_TEXT_BYTES])
{
    uint64_t number;
    double real;
    char *end;
    snprintf(out, SH_STUDY_TEXT_BYTES, "%s", text);
    switch (kind) {
    case TEXT:
        return text[0] != '\0' && text[0] != '-';
    case COUNT:
    case WHOLE:
        if (!whole_of(text, strlen(text), &number) || (kind == COUNT && number == 0))
            return false;
        snprintf(out, SH_STUDY_TEXT_BYTES, "%llu", (unsigned long long)number);
        return true;
    case REAL:
        real = strtod(text, &end);
        if (text[0] == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0' || *end != '\0' ||
            !isfinite(real) || real < 0)
            return false;
        snprintf(out, SH_STUDY_TEXT_BYTES, "%.9g", real + 0.0);
        return true;
    case FLAG:
        return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    default:
        return has_unit(text, kind);
    }
}

static bool are_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static sh_status add_value(reader *self, axis *to, const yaml_node_t *node, const char *value)
{
    for (size_t i = 0; i < to->count; i++)
        if (are_equal(to->values[i], value))
            return fail_at(self, node->start_mark, "%.200s is here twice",
                           value == NULL ? "null" : value);
    if (to->count == SH_STUDY_VALUES_MAX)
        return sh_fail(SH_LIMIT, "%s:%zu: more than %d values", self->path,
                       node->start_mark.line + 1, SH_STUDY_VALUES_MAX);
    if (value != NULL)
        SH_TRY(keep(self, &value, value));
    to->values[to->count++] = value;
    return SH_OK;
}

static sh_status add_scalar(reader *self, axis *to, sh_setting setting, const yaml_node_t *node)
{
    const setting_kind kind = kind_of(setting);
    char text[SH_STUDY_TEXT_BYTES], value[SH_STUDY_TEXT_BYTES];
    uint64_t from, until;
    if (text_of(node, text) == NULL)
        return fail_at(self, node->start_mark, "'%s' must be %s", sh_setting_name(setting),
                       expected[kind]);
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
        (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return add_value(self, to, node, NULL);
    const char *dots = strstr(text, "..");
    if ((kind == COUNT || kind == WHOLE) && dots != NULL &&
        whole_of(text, (size_t)(dots - text), &from) &&
        whole_of(dots + 2, strlen(dots + 2), &until) && from <= until &&
        (kind == WHOLE || from > 0)) {
        for (uint64_t number = from; number <= until; number++) {
            snprintf(value, sizeof value, "%llu", (unsigned long long)number);
            SH_TRY(add_value(self, to, node, value)); /* fails at the limit */
        }
        return SH_OK;
    }
    if (!value_of(kind, text, value))
        return fail_at(self, node->start_mark, "'%s' must be %s, not '%.200s'",
                       sh_setting_name(setting), expected[kind], text);
    const bool no = kind == FLAG && strcmp(value, "false") == 0; /* as if not in the file */
    return add_value(self, to, node, no ? NULL : value);
}

static sh_status read_axis(reader *self, axis *to, sh_setting setting, yaml_node_t *node)
{
    to->count = 0;
    if (node->type == YAML_SCALAR_NODE)
        return add_scalar(self, to, setting, node);
    if (node->type != YAML_SEQUENCE_NODE ||
        node->data.sequence.items.start == node->data.sequence.items.top)
        return fail_at(self, node->start_mark, "'%s' must be a value or a list of values: %s",
                       sh_setting_name(setting), expected[kind_of(setting)]);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++)
        SH_TRY(add_scalar(self, to, setting, node_of(self, *item)));
    return SH_OK;
}

/* ---- mappings ---- */

typedef struct field {
    const char *name;
    yaml_node_t **node;
} field;

static int setting_of(const char *name)
{
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        if (strcmp(sh_setting_name((sh_setting)i), name) == 0)
            return i;
    return -1;
}

static sh_status read_pair(reader *self, const yaml_node_pair_t *pair, const field *fields,
                           axis *axes, bool seen[SH_SETTING_COUNT])
{
    char text[SH_STUDY_TEXT_BYTES];
    const yaml_node_t *key = node_of(self, pair->key);
    if (text_of(key, text) == NULL)
        return fail_at(self, key->start_mark, "a name must be here");
    sh_suggestion meant = {.typed = text};
    for (const field *each = fields; each->name != NULL; each++) {
        sh_suggestion_offer(&meant, each->name);
        if (strcmp(each->name, text) != 0)
            continue;
        if (*each->node != NULL)
            return fail_at(self, key->start_mark, "'%s' is here twice", text);
        *each->node = node_of(self, pair->value);
        return SH_OK;
    }
    const int setting = axes == NULL ? -1 : setting_of(text);
    if (setting >= 0 && seen[setting])
        return fail_at(self, key->start_mark, "'%s' is here twice", text);
    if (setting >= 0) {
        seen[setting] = true;
        return read_axis(self, &axes[setting], (sh_setting)setting, node_of(self, pair->value));
    }
    for (int i = 0; axes != NULL && i < SH_SETTING_COUNT; i++)
        sh_suggestion_offer(&meant, sh_setting_name((sh_setting)i));
    if (meant.name == NULL)
        return fail_at(self, key->start_mark, "'%.100s' is unknown here: see shoal sweep --help",
                       text);
    return fail_at(self, key->start_mark, "'%.100s' is unknown here; did you mean '%s'?", text,
                   meant.name);
}

/* `axes` NULL: settings are not allowed here. */
static sh_status read_mapping(reader *self, const yaml_node_t *node, const char *what,
                              const field *fields, axis *axes)
{
    bool seen[SH_SETTING_COUNT] = {false};
    if (node->type != YAML_MAPPING_NODE)
        return fail_form(self, node, what, "a mapping, of lines 'name: value'");
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++)
        SH_TRY(read_pair(self, pair, fields, axes, seen));
    return SH_OK;
}

static sh_status check_list(const reader *self, const yaml_node_t *node, const char *what,
                            size_t most)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return fail_form(self, node, what, "a list, of lines that begin with '-'");
    const size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (count > most)
        return sh_fail(SH_LIMIT, "%s:%zu: %s: more than %zu", self->path, node->start_mark.line + 1,
                       what, most);
    return SH_OK;
}

/* ---- trials ---- */

/* Removes the trials from `first` on that match a rule. */
static sh_status apply_rule(reader *self, const yaml_node_t *node, size_t first)
{
    static const field none[] = {{0}};
    memset(&self->rule, 0, sizeof self->rule);
    SH_TRY(read_mapping(self, node, "a rule of 'exclude'", none, self->rule.axes));
    if (node->data.mapping.pairs.start == node->data.mapping.pairs.top)
        return fail_at(self, node->start_mark, "a rule of 'exclude' must name something");
    size_t kept = first;
    for (size_t i = first; i < self->study.trial_count; i++) {
        bool out = true;
        for (int s = 0; out && s < SH_SETTING_COUNT; s++) {
            const axis *wanted = &self->rule.axes[s];
            bool found = wanted->count == 0;
            for (size_t v = 0; !found && v < wanted->count; v++)
                found = are_equal(wanted->values[v], self->trials[i].settings[s]);
            out = found;
        }
        if (!out)
            self->trials[kept++] = self->trials[i];
    }
    if (kept == self->study.trial_count)
        return fail_at(self, node->start_mark, "this rule of 'exclude' removes no trial");
    self->study.trial_count = kept;
    return SH_OK;
}

/* All combinations of a block's values, without those that its rules exclude. */
static sh_status add_trials(reader *self, const block *from, const yaml_node_t *node)
{
    size_t count = 1;
    const size_t first = self->study.trial_count;
    for (int s = 0; s < SH_SETTING_COUNT && count <= SH_STUDY_TRIALS_MAX; s++)
        count *= from->axes[s].count > 0 ? from->axes[s].count : 1;
    if (count > SH_STUDY_TRIALS_MAX - first)
        return sh_fail(SH_LIMIT, "%s:%zu: more than %d trials with this block", self->path,
                       node->start_mark.line + 1, SH_STUDY_TRIALS_MAX);
    SH_TRY(sh_array_grow((void **)&self->trials, &self->capacity, first + count,
                         sizeof *self->trials));
    for (size_t i = 0; i < count; i++) {
        sh_study_trial *trial = &self->trials[first + i];
        *trial = (sh_study_trial){.block = from->name};
        size_t number = i; /* the last axis varies fastest */
        for (int s = SH_SETTING_COUNT - 1; s >= 0; s--) {
            const axis *each = &from->axes[s];
            if (each->count == 0)
                continue;
            trial->settings[s] = each->values[number % each->count];
            number /= each->count;
        }
        if (trial->settings[SH_SETTING_model] == NULL || trial->settings[SH_SETTING_data] == NULL)
            return fail_at(self, node->start_mark, "this block needs '%s'",
                           trial->settings[SH_SETTING_model] == NULL ? "model" : "data");
        if (trial->settings[SH_SETTING_batch_size] != NULL &&
            trial->settings[SH_SETTING_batch_per_device] != NULL)
            return fail_at(self, node->start_mark,
                           "'batch-size' and 'batch-per-device': set one of them to null");
    }
    self->study.trial_count += count;
    if (from->rules != NULL) {
        SH_TRY(check_list(self, from->rules, "'exclude'", SH_STUDY_RULES_MAX));
        for (yaml_node_item_t *item = from->rules->data.sequence.items.start;
             item < from->rules->data.sequence.items.top; item++)
            SH_TRY(apply_rule(self, node_of(self, *item), first));
    }
    for (size_t i = first; i < self->study.trial_count; i++) {
        sh_study_trial *trial = &self->trials[i];
        sh_digest *digest;
        char hex[SH_DIGEST_TEXT];
        SH_TRY(sh_digest_new(&digest));
        for (int s = 0; s < SH_SETTING_COUNT; s++) {
            const char *name = sh_setting_name((sh_setting)s), *value = trial->settings[s];
            if (value == NULL)
                continue;
            sh_digest_add(digest, name, strlen(name) + 1);
            sh_digest_add(digest, value, strlen(value) + 1);
        }
        SH_TRY(sh_digest_finish(digest, hex));
        snprintf(trial->id, sizeof trial->id, "%.*s", SH_TRIAL_ID_BYTES - 1, hex);
    }
    return SH_OK;
}

static sh_status read_document(reader *self)
{
    yaml_node_t *name = NULL, *lab = NULL, *all = NULL, *blocks = NULL;
    const field none[] = {{0}};
    const field fields[] = {
        {"name", &name}, {"lab", &lab}, {"all", &all}, {"blocks", &blocks}, {0}};
    const yaml_node_t *root = yaml_document_get_root_node(&self->document);
    self->study.name = "";
    if (root == NULL)
        return sh_fail(SH_FORMAT, "%s: is empty: shoal sweep --help shows the form of a study",
                       self->path);
    SH_TRY(read_mapping(self, root, "a study", fields, NULL));
    if (name != NULL)
        SH_TRY(take_text(self, &self->study.name, name, "'name'"));
    if (lab != NULL)
        SH_TRY(take_text(self, &self->study.lab, lab, "'lab'"));
    if (all != NULL)
        SH_TRY(read_mapping(self, all, "'all'", none, self->all.axes));
    if (blocks == NULL)
        return fail_at(self, root->start_mark, "a study needs 'blocks', a list");
    SH_TRY(check_list(self, blocks, "'blocks'", SH_STUDY_BLOCKS_MAX));
    size_t number = 0;
    for (yaml_node_item_t *item = blocks->data.sequence.items.start;
         item < blocks->data.sequence.items.top; item++) {
        const yaml_node_t *node = node_of(self, *item);
        yaml_node_t *block_name = NULL, *rules = NULL;
        const field of_block[] = {{"name", &block_name}, {"exclude", &rules}, {0}};
        char usual[32];
        self->own = self->all;
        SH_TRY(read_mapping(self, node, "a block", of_block, self->own.axes));
        self->own.rules = rules;
        snprintf(usual, sizeof usual, "block %zu", ++number);
        SH_TRY(block_name == NULL ? keep(self, &self->own.name, usual)
                                  : take_text(self, &self->own.name, block_name, "'name'"));
        SH_TRY(add_trials(self, &self->own, node));
    }
    if (self->study.trial_count == 0)
        return fail_at(self, blocks->start_mark, "no trial remains");
    return SH_OK;
}

sh_status sh_study_parse(sh_study **study, const char *path, const char *text, size_t bytes)
{
    if (bytes > SH_STUDY_BYTES_MAX)
        return sh_fail(SH_LIMIT, "%s: has more than %u bytes", path, SH_STUDY_BYTES_MAX);
    SH_TRY(sh_fail_in(sh_yaml_load(), "%s", path));
    reader *self = calloc(1, sizeof *self);
    if (self == NULL)
        return sh_fail_memory(sizeof *self, "a study");
    sh_arena_init(&self->arena);
    self->path = path;
    self->study.inside = self;
    yaml_parser_t parser;
    sh_status status;
    if (!yaml_parser_initialize(&parser)) {
        status = sh_fail_memory(sizeof parser, "a study");
    } else {
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
        if (yaml_parser_load(&parser, &self->document)) {
            status = read_document(self);
            yaml_document_delete(&self->document);
        } else if (parser.error == YAML_MEMORY_ERROR) {
            status = sh_fail_memory(bytes, "a study");
        } else {
            const bool known = parser.problem_mark.line > 0 || parser.problem_mark.column > 0;
            status = fail_at(self, known ? parser.problem_mark : parser.mark, "not YAML: %s%s%s",
                             parser.context != NULL ? parser.context : "",
                             parser.context != NULL ? ": " : "",
                             parser.problem != NULL ? parser.problem : "malformed");
        }
        yaml_parser_delete(&parser);
    }
    if (status != SH_OK) {
        sh_study_free(&self->study);
        return status;
    }
    self->path = NULL;
    self->study.trials = self->trials;
    *study = &self->study;
    return SH_OK;
}

sh_status sh_study_read(sh_study **study, const char *path)
{
    char *text;
    size_t bytes;
    SH_TRY(sh_file_read(&text, &bytes, path, SH_STUDY_BYTES_MAX));
    const sh_status status = sh_study_parse(study, path, text, bytes);
    free(text);
    return status;
}

void sh_study_free(sh_study *study)
{
    if (study == NULL)
        return;
    reader *self = study->inside;
    free(self->trials);
    sh_arena_release(&self->arena);
    free(self);
}

bool sh_study_trial_is_lab(const char *const given[SH_SETTING_COUNT])
{
    for (int s = 0; s < SH_SETTING_COUNT; s++)
        if (given[s] != NULL && sh_study_option((sh_setting)s) == NULL)
            return true;
    return false;
}

/* ---- filters ---- */

/* Parses NAME=VALUE and returns its end. *setting is -1 if the name or the form is wrong. */
static const char *next_condition(const char *at, int *setting, const char **value)
{
    char name[32];
    const size_t all = strcspn(at, ","), length = strcspn(at, "=,");
    *setting = -1;
    if (at[length] == '=' && length < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        *setting = setting_of(name);
        *value = at + length + 1;
    }
    return at + all;
}

sh_status sh_study_check_filter(const char *filter)
{
    for (const char *at = filter;; at++) {
        int setting;
        const char *value, *end = next_condition(at, &setting, &value);
        if (setting < 0)
            return sh_fail(SH_INVALID,
                           "'%.*s': must be SETTING=VALUE, with a setting of the study file, such "
                           "as devices=4",
                           (int)(end - at < 200 ? end - at : 200), at);
        if (*end == '\0')
            return SH_OK;
        at = end;
    }
}

bool sh_study_matches(const char *filter, const char *const given[SH_SETTING_COUNT])
{
    enum { NOT_ASKED, MISSED, MET };
    char found[SH_SETTING_COUNT] = {NOT_ASKED};
    for (const char *at = filter; at != NULL;) {
        int setting;
        const char *value, *end = next_condition(at, &setting, &value);
        if (setting >= 0) {
            const size_t length = (size_t)(end - value);
            const char *is = given[setting] == NULL ? "" : given[setting];
            if (strlen(is) == length && memcmp(is, value, length) == 0)
                found[setting] = MET;
            else if (found[setting] == NOT_ASKED)
                found[setting] = MISSED;
        }
        at = *end == ',' ? end + 1 : NULL;
    }
    return memchr(found, MISSED, sizeof found) == NULL;
}
