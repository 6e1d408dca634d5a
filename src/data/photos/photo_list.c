/* SPDX-License-Identifier: Apache-2.0 */
/* A *part* is a folder that is searched as a unit: the whole folder, or train/ and val/. Problems
 * are collected, so that one error lists all. */
#include "data/photos/photo_list.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/diagnostics.h"
#include "base/utf8.h"
#include "data/dataset_impl.h"
#include "data/description.h"
#include "data/photos/photo_labels.h"
#include "data/split.h"
#include "data/trained.h"

#define PARTS_MOST 2
#define NOTE_BYTES 512
#define VAL_SPLIT 0.2
#define FLOAT_MOST 3e38     /* largest absolute value of a standardised target */
#define UNDECIDED SH_SPLITS /* the part is divided by the names of its files */

typedef struct part {
    const char *below;  /* path below the folder: "", "train" */
    const char *labels; /* its CSV file, or NULL */
    int split;          /* sh_split, or UNDECIDED */
    sh_photo_folders folders;
} part;

typedef struct maker {
    sh_photo_list *list;
    const char *folder;
    const sh_read_options *options;
    sh_diagnostics bad;
    part parts[PARTS_MOST];
    size_t part_count;
    const char **classes; /* sorted, distinct; owned, but not the texts */
    size_t class_count, class_capacity;
    uint32_t (*in)[SH_SPLITS + 1]; /* photos per class and split; owned */
    json_t *notes;                 /* borrowed from list->about */
} maker;

/* --- notes --- */

static void note(maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(maker *m, const char *format, ...)
{
    char text[NOTE_BYTES], clean[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_array_append_new(m->notes, json_string(sh_utf8_clean(clean, sizeof clean, text)));
}

static void note_left_out(maker *m)
{
    const sh_photo_files *files = &m->list->files;
    if (files->others > 0)
        note(m, "%zu file%s left out, not named as photo%s: %s%s", files->others,
             files->others > 1 ? "s" : "", files->others > 1 ? "s" : "",
             files->other == NULL ? "?" : files->other, files->others > 1 ? ", ..." : "");
    if (files->loop != NULL)
        note(m, "%s is left out: it links to a folder above it", files->loop);
}

/* --- parts --- */

/* `*found` is NULL if the folder has none. */
static sh_status find_labels(const char **found, maker *m, const char *below)
{
    static const char *const names[] = {"labels.csv", "metadata.csv"};
    *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[SH_PHOTO_PATH];
        struct stat about;
        const char *slash = below[0] == '\0' ? "" : "/";
        const int length =
            snprintf(path, sizeof path, "%s/%s%s%s", m->folder, below, slash, names[i]);
        if (length < 0 || (size_t)length >= sizeof path || stat(path, &about) != 0)
            continue;
        if (*found != NULL)
            return sh_fail(SH_INVALID, "%s: holds both labels.csv and metadata.csv; keep only one",
                           m->folder);
        *found = sh_arena_text(&m->list->files.names, path + strlen(m->folder) + 1);
        if (*found == NULL)
            return sh_fail_memory((size_t)length, "the names of photos");
    }
    return SH_OK;
}

static bool has(const sh_photo_folders *folders, const char *name)
{
    for (size_t i = 0; i < folders->count; i++)
        if (strcmp(folders->names[i], name) == 0)
            return true;
    return false;
}

static sh_status add_part(maker *m, const char *below, int split)
{
    part *p = &m->parts[m->part_count++];
    *p = (part){.below = below, .split = split};
    SH_TRY(find_labels(&p->labels, m, below));
    return sh_photo_folders_list(&p->folders, &m->list->files, m->folder, below);
}

static sh_status add_splits(maker *m, const sh_photo_folders *top)
{
    static const char *const names[] = {"val", "valid", "validation", "test"};
    const char *validation = NULL;
    SH_TRY(add_part(m, "train", SH_SPLIT_TRAIN));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!has(top, names[i]))
            continue;
        if (validation != NULL) {
            note(m, "%s/ is left out: %s/ is for validation", names[i], validation);
            continue;
        }
        SH_TRY(add_part(m, names[i], SH_SPLIT_VALIDATION));
        const part *added = &m->parts[1];
        if (added->folders.count > 0 || added->labels != NULL) {
            validation = names[i];
            continue;
        }
        note(m, "%s/ is left out: it has neither folders of classes nor labels", names[i]);
        free(added->folders.names);
        m->part_count--;
    }
    for (size_t i = 0; i < top->count; i++)
        if (strcmp(top->names[i], "train") != 0 && strcmp(top->names[i], "val") != 0 &&
            strcmp(top->names[i], "valid") != 0 && strcmp(top->names[i], "validation") != 0 &&
            strcmp(top->names[i], "test") != 0)
            note(m, "%s/ is left out: it is next to train/", top->names[i]);
    if (validation == NULL)
        m->parts[0].split = UNDECIDED;
    return SH_OK;
}

static sh_status find_parts(maker *m)
{
    sh_photo_folders top;
    const char *labels;
    SH_TRY(sh_folder_check(m->folder));
    SH_TRY(find_labels(&labels, m, ""));
    SH_TRY(sh_photo_folders_list(&top, &m->list->files, m->folder, ""));
    const sh_status status =
        labels == NULL && has(&top, "train") ? add_splits(m, &top) : add_part(m, "", UNDECIDED);
    free(top.names);
    return status;
}

/* --- classes --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static sh_status find_classes(maker *m)
{
    for (size_t p = 0; p < m->part_count; p++) {
        const sh_photo_folders *folders = &m->parts[p].folders;
        SH_TRY(sh_array_grow((void **)&m->classes, &m->class_capacity,
                             m->class_count + folders->count + 1, sizeof *m->classes));
        for (size_t i = 0; i < folders->count; i++)
            m->classes[m->class_count++] = folders->names[i];
    }
    size_t kept = 0;
    if (m->class_count > 0)
        qsort(m->classes, m->class_count, sizeof *m->classes, by_text);
    for (size_t i = 0; i < m->class_count; i++)
        if (kept == 0 || strcmp(m->classes[i], m->classes[kept - 1]) != 0)
            m->classes[kept++] = m->classes[i];
    m->class_count = kept;
    m->in = calloc(kept + 1, sizeof *m->in);
    return m->in == NULL ? sh_fail_memory((kept + 1) * sizeof *m->in, "the classes") : SH_OK;
}

static sh_status add_class(maker *m, const part *p, const char *name)
{
    char below[SH_PHOTO_PATH];
    sh_photo_files *files = &m->list->files;
    const size_t before = files->count, others = files->others;
    const char **found = bsearch(&name, m->classes, m->class_count, sizeof *m->classes, by_text);
    const uint32_t class = found == NULL ? 0 : (uint32_t)(found - m->classes);
    snprintf(below, sizeof below, "%s%s%s", p->below, p->below[0] == '\0' ? "" : "/", name);
    SH_TRY(sh_photo_files_add(files, m->folder, below));
    for (size_t i = before; i < files->count; i++) {
        files->items[i].label = class;
        files->items[i].split = (sh_split)(p->split == UNDECIDED ? SH_SPLIT_TRAIN : p->split);
    }
    m->in[class][p->split] += (uint32_t)(files->count - before);
    if (files->count == before && files->others > others)
        sh_diagnostics_add(&m->bad,
                           "%s/ holds no photos, only files of other kinds (%zu); convert any "
                           "pictures to JPEG or PNG",
                           below, files->others - others);
    else if (files->count == before)
        sh_diagnostics_add(
            &m->bad, "%s/ holds no photos; put those of its class there, or remove it", below);
    return SH_OK;
}

static void check_classes(maker *m)
{
    const bool splits = m->part_count == PARTS_MOST;
    for (size_t i = 0; i < m->class_count && splits; i++) {
        const uint32_t *in = m->in[i];
        if (in[SH_SPLIT_TRAIN] == 0 && in[SH_SPLIT_VALIDATION] > 0)
            sh_diagnostics_add(&m->bad, "class %s is only in %s/: it cannot be learnt",
                               m->classes[i], m->parts[1].below);
        if (in[SH_SPLIT_TRAIN] > 0 && in[SH_SPLIT_VALIDATION] == 0)
            note(m, "class %s is only in train/: it is never validated", m->classes[i]);
    }
    for (size_t i = 0; i < m->class_count && !splits; i++)
        if (m->in[i][m->parts[0].split] == 1)
            note(m, "class %s has only one photo: it is never validated", m->classes[i]);
    if (m->class_count == 1)
        sh_diagnostics_add(&m->bad, "there is only one class, %s; classification needs two or more",
                           m->classes[0]);
}

/* Renumbers the photos' classes to the numbers of the trained run. */
static sh_status take_classes(maker *m, const char *const *names, size_t count)
{
    sh_photo_files *files = &m->list->files;
    const sh_trained *trained = m->options->trained;
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    if (numbers == NULL)
        return sh_fail_memory((count + 1) * sizeof *numbers, "the classes");
    for (size_t i = 0; i < count; i++) {
        char clean[NOTE_BYTES];
        if (sh_trained_class(&numbers[i], trained, sh_utf8_clean(clean, sizeof clean, names[i])) !=
            SH_OK)
            sh_diagnostics_add(&m->bad, "%s", sh_message());
    }
    for (size_t i = 0; i < files->count; i++)
        files->items[i].label = numbers[files->items[i].label];
    free(numbers);
    m->list->outputs = trained->info.outputs;
    return json_object_set(m->list->about, "classes", json_object_get(trained->about, "classes")) ==
                   0
               ? SH_OK
               : sh_fail_memory(0, "the classes");
}

static sh_status read_classes(maker *m)
{
    sh_photo_list *list = m->list;
    SH_TRY(find_classes(m));
    for (size_t p = 0; p < m->part_count; p++) {
        const part *each = &m->parts[p];
        if (each->folders.photos > 0 && m->class_count > 0)
            sh_diagnostics_add(&m->bad, "%zu of its photos are not in a class folder: %s%s%s",
                               each->folders.photos, each->below, each->below[0] == '\0' ? "" : "/",
                               each->folders.photo == NULL ? "?" : each->folders.photo);
        for (size_t i = 0; i < each->folders.count; i++)
            SH_TRY(add_class(m, each, each->folders.names[i]));
    }
    if (m->class_count == 0) {
        sh_diagnostics_add(&m->bad, m->parts[0].folders.photos > 0
                                        ? "its photos have no labels: put them into a folder for "
                                          "each class, or give each a row in labels.csv"
                                        : "holds no folders of photos and no labels.csv");
        return SH_OK;
    }
    list->target = SH_TARGET_CLASS;
    if (m->options->trained != NULL)
        return take_classes(m, m->classes, m->class_count);
    check_classes(m);
    list->outputs = (uint32_t)m->class_count;
    json_t *names = json_array();
    for (size_t i = 0; i < m->class_count; i++) {
        char clean[NOTE_BYTES];
        json_array_append_new(names,
                              json_string(sh_utf8_clean(clean, sizeof clean, m->classes[i])));
    }
    json_object_set_new(list->about, "classes", names);
    return SH_OK;
}

/* --- without classes --- */

static sh_status add_all(maker *m)
{
    sh_photo_files *files = &m->list->files;
    for (size_t p = 0; p < m->part_count; p++) {
        const size_t before = files->count;
        const int split = m->parts[p].split;
        SH_TRY(sh_photo_files_add(files, m->folder, m->parts[p].below));
        for (size_t i = before; i < files->count; i++)
            files->items[i].split = (sh_split)(split == UNDECIDED ? SH_SPLIT_TRAIN : split);
    }
    return SH_OK;
}

/* If every photo is in train/ or val/ below the only CSV file, these become the splits. */
static void split_by_folders(maker *m)
{
    static const char *const names[] = {"train/", "val/", "valid/", "validation/", "test/"};
    sh_photo_files *files = &m->list->files;
    size_t in[SH_SPLITS] = {0};
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < files->count; i++) {
            size_t k = 0;
            while (k < sizeof names / sizeof *names &&
                   strncmp(files->items[i].name, names[k], strlen(names[k])) != 0)
                k++;
            if (k == sizeof names / sizeof *names)
                return;
            const sh_split split = k == 0 ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION;
            in[split]++;
            if (turn == 1)
                files->items[i].split = split;
            else if (i + 1 == files->count && (in[0] == 0 || in[1] == 0))
                return;
        }
    m->parts[0].split = SH_SPLIT_TRAIN; /* no longer UNDECIDED */
}

/* Sets each photo's `label` to its row. */
static sh_status match_labels(maker *m, sh_photo_labels *labels)
{
    sh_photo_files *files = &m->list->files;
    for (size_t p = 0; p < m->part_count; p++) {
        const part *each = &m->parts[p];
        if (each->labels == NULL)
            return sh_fail(SH_INVALID, "%s: %s/ has no labels.csv, but the other one has",
                           m->folder, each->below);
        SH_TRY(sh_photo_labels_read(labels, m->folder, each->labels, each->below));
    }
    SH_TRY(add_all(m));
    for (size_t i = 0; i < files->count; i++) /* by name alone at first */
        files->items[i].split = SH_SPLIT_TRAIN;
    sh_photo_files_sort(files);
    sh_photo_labels_match(labels, files, &m->bad);
    SH_TRY(sh_diagnostics_fail(&m->bad, SH_INVALID, m->folder));
    if (m->part_count < PARTS_MOST) {
        split_by_folders(m);
        return SH_OK;
    }
    const char *validation = m->parts[1].below;
    const size_t length = strlen(validation);
    for (size_t i = 0; i < files->count; i++)
        if (strncmp(files->items[i].name, validation, length) == 0 &&
            files->items[i].name[length] == '/')
            files->items[i].split = SH_SPLIT_VALIDATION;
    return SH_OK;
}

/* Maps classes to the trained run's, by name. Columns of labels or numbers must be the run's, in
 * the same order (--target selects them). */
static sh_status match_trained(maker *m, sh_photo_targets *targets)
{
    const sh_trained *trained = m->options->trained;
    const size_t count = json_array_size(targets->names);
    if (targets->target != trained->info.target)
        return SH_OK; /* the pipeline reports it */
    if (targets->target == SH_TARGET_CLASS) {
        const char **names = calloc(count + 1, sizeof *names);
        if (names == NULL)
            return sh_fail_memory((count + 1) * sizeof *names, "the classes");
        for (size_t i = 0; i < count; i++)
            names[i] = json_string_value(json_array_get(targets->names, i));
        const sh_status status = take_classes(m, names, count);
        free(names);
        json_decref(targets->names);
        targets->names = json_incref(json_object_get(trained->about, "classes"));
        SH_TRY(status);
        return sh_diagnostics_fail(&m->bad, SH_MISMATCH, m->folder);
    }
    for (unsigned i = 0; i < trained->info.outputs; i++) {
        char number[SH_DESCRIPTION_NUMBER];
        const char *then = sh_description_name(trained->about, targets->target, i, number);
        const char *now = json_string_value(json_array_get(targets->names, i));
        if (now == NULL || strcmp(now, then) != 0)
            return sh_fail(SH_MISMATCH,
                           "%s: its column of labels %u is '%s', but that of the run's data '%s'",
                           m->folder, i + 1, now == NULL ? "" : now, then);
    }
    return SH_OK;
}

static sh_status read_labels(maker *m, const char *task)
{
    sh_photo_labels *labels;
    sh_photo_targets targets = {0};
    sh_photo_list *list = m->list;
    const char *columns = m->options->target == NULL ? "" : m->options->target;
    SH_TRY(sh_photo_labels_new(&labels, columns));
    sh_status status = match_labels(m, labels);
    if (status == SH_OK)
        status = sh_fail_in(sh_photo_labels_decide(&targets, labels, task), "%s", m->folder);
    list->rows = sh_photo_labels_rows(labels);
    sh_photo_labels_free(labels);
    SH_TRY(status);
    list->target = targets.target;
    list->outputs = targets.outputs;
    for (size_t i = 0; i < list->files.count && targets.classes != NULL; i++)
        list->files.items[i].label = targets.classes[list->files.items[i].label];
    list->values = targets.labels;
    list->numbers = targets.numbers;
    status = m->options->trained == NULL ? SH_OK : match_trained(m, &targets);
    json_object_set(list->about, targets.numbers != NULL ? "columns" : "classes", targets.names);
    targets.labels = NULL;
    targets.numbers = NULL;
    sh_photo_targets_release(&targets);
    return status;
}

/* Uses the training photos' mean and deviation, or the trained run's. */
static sh_status standardise(sh_photo_list *list, const sh_trained *trained)
{
    const size_t outputs = list->outputs, train = list->count[SH_SPLIT_TRAIN];
    const double divisor = train > 0 ? (double)train : 1;
    json_t *names = json_object_get(list->about, "columns"), *targets = json_array();
    json_object_set_new(list->about, "targets", targets);
    list->values = calloc(list->rows * outputs + 1, sizeof *list->values);
    if (list->values == NULL)
        return sh_fail_memory(list->rows * outputs * sizeof *list->values, "the targets");
    for (size_t c = 0; c < outputs; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < train; i++)
            sum += list->numbers[list->files.items[i].label * outputs + c];
        double mean = sum / divisor;
        for (size_t i = 0; i < train; i++) {
            const double off = list->numbers[list->files.items[i].label * outputs + c] - mean;
            squares += off * off;
        }
        const double variance = squares / divisor;
        double deviation = variance > 0 ? sqrt(variance) : 1;
        if (trained != NULL) {
            const sh_target_scale scale = sh_description_scale(trained->about, (unsigned)c);
            mean = scale.mean;
            deviation = scale.deviation;
        }
        for (size_t i = 0; i < list->rows; i++) {
            const double value = (list->numbers[i * outputs + c] - mean) / deviation;
            if (!isfinite(value) || fabs(value) > FLOAT_MOST)
                return sh_fail(SH_INVALID, "the numbers of a column of labels are too large");
            list->values[i * outputs + c] = (float)value;
        }
        json_t *target = json_pack("{s:O, s:f, s:f}", "name", json_array_get(names, c), "mean",
                                   mean, "deviation", deviation);
        if (json_array_append_new(targets, target) != 0)
            return sh_fail_memory(0, "the targets");
    }
    json_object_del(list->about, "columns");
    free(list->numbers);
    list->numbers = NULL;
    return SH_OK;
}

/* --- splits --- */

static sh_status divide(maker *m)
{
    sh_photo_list *list = m->list;
    const bool classes = list->target == SH_TARGET_CLASS;
    const size_t count = list->files.count;
    sh_split_item *items = calloc(count + 1, sizeof *items);
    if (items == NULL)
        return sh_fail_memory((count + 1) * sizeof *items, "the split of the data");
    for (size_t i = 0; i < count; i++) {
        const sh_photo_file *file = &list->files.items[i];
        items[i] = (sh_split_item){.name = file->name, .class = classes ? file->label : 0};
    }
    const float val_split = m->options->val_split;
    if (m->options->trained != NULL) { /* all are validation photos */
        for (size_t i = 0; i < count; i++)
            list->files.items[i].split = SH_SPLIT_VALIDATION;
        free(items);
        return SH_OK;
    }
    const sh_status status =
        sh_fail_in(sh_split_assign(items, count, classes ? list->outputs : 1,
                                   val_split > 0 ? (double)val_split : VAL_SPLIT),
                   "%s", m->folder);
    for (size_t i = 0; i < count && status == SH_OK; i++)
        list->files.items[i].split = items[i].split;
    free(items);
    return status;
}

static sh_status settle(maker *m)
{
    sh_photo_list *list = m->list;
    if (list->files.count == 0)
        sh_diagnostics_add(&m->bad, "there are no photos (.jpg .jpeg .png .ppm .pgm .bmp .webp)");
    SH_TRY(sh_diagnostics_fail(&m->bad, SH_INVALID, m->folder));
    sh_photo_files_sort(&list->files);
    if (m->parts[0].split == UNDECIDED) {
        SH_TRY(divide(m));
        sh_photo_files_sort(&list->files);
    }
    for (size_t i = 0; i < list->files.count; i++)
        list->count[list->files.items[i].split]++;
    for (int split = 0; split < SH_SPLITS; split++)
        if (list->count[split] == 0 &&
            (m->options->trained == NULL || split == SH_SPLIT_VALIDATION))
            return sh_fail(SH_INVALID, "%s: there are no %s photos", m->folder,
                           sh_split_name((sh_split)split));
    note_left_out(m);
    return list->target == SH_TARGET_NUMBERS
               ? sh_fail_in(standardise(list, m->options->trained), "%s", m->folder)
               : SH_OK;
}

/* --- the list --- */

static sh_status read_parts(maker *m)
{
    sh_target target = SH_TARGETS;
    const char *task = m->options->task == NULL ? "" : m->options->task;
    if (task[0] != '\0' && !sh_target_find(&target, task))
        return sh_fail(SH_INVALID, "--task %s: no such task", task);
    if (target == SH_TARGET_SAMPLE) {
        m->list->target = target;
        return add_all(m);
    }
    for (size_t p = 0; p < m->part_count; p++)
        if (m->parts[p].labels != NULL)
            return read_labels(m, task);
    if (target != SH_TARGETS && target != SH_TARGET_CLASS)
        return sh_fail(SH_INVALID,
                       "%s: --task %s needs labels.csv: folders of classes give one class each",
                       m->folder, task);
    return read_classes(m);
}

sh_status sh_photo_list_make(sh_photo_list **list, const char *folder,
                             const sh_read_options *options)
{
    sh_status status;
    maker m = {.folder = folder, .options = options};
    m.list = calloc(1, sizeof *m.list);
    if (m.list == NULL)
        return sh_fail_memory(sizeof *m.list, "the list of photos");
    sh_photo_files_init(&m.list->files);
    m.list->about = json_object();
    m.notes = json_array();
    if (json_object_set_new(m.list->about, "notes", m.notes) != 0)
        SH_TRY_DONE(sh_fail_memory(0, "the list of photos"));
    SH_TRY_DONE(find_parts(&m));
    SH_TRY_DONE(read_parts(&m));
    status = settle(&m);
done:
    for (size_t p = 0; p < m.part_count; p++)
        free(m.parts[p].folders.names);
    free(m.classes);
    free(m.in);
    if (status == SH_OK)
        *list = m.list;
    else
        sh_photo_list_free(m.list);
    return status;
}

void sh_photo_list_free(sh_photo_list *list)
{
    if (list == NULL)
        return;
    sh_photo_files_release(&list->files);
    json_decref(list->about);
    free(list->values);
    free(list->numbers);
    free(list);
}
