/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggestion.h"
#include "data/dataset_impl.h"
#include "shoal/about.h"

#define LIST_BYTES 768

#define SH_FORMAT(name) &sh_##name##_format,
static const sh_format *const formats[] = {
#include "data/formats.def"
};
#undef SH_FORMAT

#define FORMATS (sizeof formats / sizeof *formats)

const char *sh_split_name(sh_split split)
{
    return split == SH_SPLIT_TRAIN ? "training" : "validation";
}

sh_status sh_data_list(size_t index, sh_data_info *info)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->usage != NULL && index-- == 0) {
            *info = (sh_data_info){formats[i]->name, formats[i]->usage, formats[i]->summary};
            return SH_OK;
        }
    return sh_fail(SH_NOT_FOUND, "there are no more formats of data");
}

const sh_format *sh_format_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static const char *nearest(const char *spec)
{
    char typed[64];
    const size_t length = strcspn(spec, ":");
    snprintf(typed, sizeof typed, "%.*s", (int)(length < sizeof typed ? length : 0), spec);
    sh_suggestion near = {.typed = typed};
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i]->usage != NULL)
            sh_suggestion_offer(&near, formats[i]->name);
    return near.name == NULL ? NULL : sh_format_find(near.name)->usage;
}

static sh_status fail_unknown(const char *spec)
{
    char known[LIST_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < FORMATS && used < LIST_BYTES; i++)
        if (formats[i]->usage != NULL)
            used += (size_t)snprintf(known + used, LIST_BYTES - used, "%s%s", i > 0 ? ", " : "",
                                     formats[i]->usage);
    const char *meant = nearest(spec);
    return sh_fail(SH_INVALID, "unknown data '%s': %s%s%suse %s or a folder", spec,
                   meant != NULL ? "did you mean " : "", meant != NULL ? meant : "",
                   meant != NULL ? "? " : "", known);
}

bool sh_count_read(const char **text, size_t most, char end, size_t *count)
{
    char *at = NULL;
    const bool is_number = **text >= '0' && **text <= '9'; /* strtoul accepts signs and spaces */
    const unsigned long number = is_number ? strtoul(*text, &at, 10) : 0;
    if (number == 0 || number > most || *at != end)
        return false;
    *text = end == '\0' ? at : at + 1;
    *count = number;
    return true;
}

bool sh_name_is_hidden(const char *name)
{
    static const char *const names[] = {"__MACOSX", "Thumbs.db", "desktop.ini"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return name[0] == '.';
}

sh_status sh_folder_check(const char *folder)
{
    struct stat about;
    if (stat(folder, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot open the data folder", folder);
    if (!S_ISDIR(about.st_mode))
        return sh_fail(SH_INVALID, "%s: is not a folder; name the folder that holds the data files",
                       folder);
    if (access(folder, R_OK | X_OK) != 0)
        return sh_fail_errno(errno, "%s: cannot read the data folder", folder);
    return SH_OK;
}

/* The format, or NULL, and in `*argument` the text after the colon, or NULL. */
static const sh_format *named(const char **argument, const char *spec)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const size_t length = strlen(formats[i]->name);
        if (strncmp(spec, formats[i]->name, length) != 0)
            continue;
        *argument = spec[length] == ':' ? spec + length + 1 : NULL;
        if (spec[length] == '\0' || spec[length] == ':')
            return formats[i];
    }
    return NULL;
}

/* A word without a slash, or before a colon, is more likely a misspelt format than a path. */
sh_status sh_dataset_name_check(const char *spec)
{
    const char *argument;
    if (spec[0] == '\0')
        return fail_unknown(spec);
    if (named(&argument, spec) != NULL || access(spec, F_OK) == 0 || errno != ENOENT)
        return SH_OK;
    const char *colon = strchr(spec, ':'), *slash = strchr(spec, '/');
    const bool mistyped =
        colon != NULL && (slash == NULL || colon < slash) && nearest(spec) != NULL;
    return slash == NULL || mistyped ? fail_unknown(spec) : SH_OK;
}

sh_status sh_dataset_open(sh_dataset **dataset, const char *spec, const sh_read_options *options)
{
    static const sh_read_options usual;
    if (options == NULL)
        options = &usual;
    const char *argument;
    const sh_format *format_named = named(&argument, spec);
    if (format_named != NULL)
        return format_named->open(dataset, format_named, argument, options);
    SH_TRY(sh_dataset_name_check(spec));
    struct stat about;
    const bool is_file = stat(spec, &about) == 0 && S_ISREG(about.st_mode);
    if (!is_file)
        SH_TRY(sh_folder_check(spec));
    const sh_format *found = NULL;
    char files[LIST_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < FORMATS; i++) {
        const sh_format *format = formats[i];
        if (format->recognises == NULL)
            continue;
        if (format->files != NULL && used < LIST_BYTES)
            used += (size_t)snprintf(files + used, LIST_BYTES - used, "%s%s (%s)",
                                     used > 0 ? " or " : "", format->name, format->files);
        if (!format->recognises(format, spec))
            continue;
        if (found != NULL)
            return sh_fail(SH_INVALID,
                           "%s: holds files of %s and of %s; choose one: %s:%s or %s:%s", spec,
                           found->name, format->name, found->name, spec, format->name, spec);
        found = format;
    }
    if (found == NULL && is_file)
        return sh_folder_check(spec); /* fails: not a folder */
    if (found == NULL)
        return sh_fail(SH_NOT_FOUND, "%s: no data is recognised in this folder; looked for %s",
                       spec, files);
    return found->open(dataset, found, spec, options);
}

const sh_dataset_info *sh_dataset_about(const sh_dataset *dataset)
{
    return &dataset->info;
}

const char *sh_dataset_description(const sh_dataset *dataset)
{
    return dataset->about;
}

static sh_status check_index(const sh_dataset_info *info, sh_split split, uint32_t index)
{
    if (split != SH_SPLIT_TRAIN && split != SH_SPLIT_VALIDATION)
        return sh_fail(SH_INVALID, "%s has no split number %d", info->name, (int)split);
    if (index >= info->count[split])
        return sh_fail(SH_INVALID, "%s has no %s sample %u: there are %u", info->name,
                       sh_split_name(split), index, info->count[split]);
    return SH_OK;
}

sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                          void *target)
{
    SH_TRY(check_index(&dataset->info, split, index));
    return dataset->ops->read(dataset, split, index, sample, target);
}

sh_status sh_dataset_read_target(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 void *spare, void *target)
{
    if (dataset->ops->read_target == NULL)
        return sh_dataset_read(dataset, split, index, spare, target);
    SH_TRY(check_index(&dataset->info, split, index));
    return dataset->ops->read_target(dataset, split, index, target);
}

bool sh_dataset_touches(const sh_dataset *dataset)
{
    return dataset->ops->touch != NULL;
}

bool sh_dataset_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    return dataset->ops->touch != NULL && dataset->ops->touch(dataset, split, index);
}

void sh_dataset_close(sh_dataset *dataset)
{
    if (dataset != NULL && dataset->ops->close != NULL)
        dataset->ops->close(dataset);
    else
        free(dataset);
}
