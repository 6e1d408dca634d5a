/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset_impl.h"

#define LIST_BYTES 768

/* The kinds of data. The one that recognises a folder opens it. */
static const sh_dataset_ops *const kinds[] = {&sh_digits_ops, &sh_mnist_ops, &sh_cifar10_ops,
                                              &sh_cifar100_ops, &sh_noise_ops};

#define KINDS (sizeof kinds / sizeof *kinds)

const char *sh_split_name(sh_split split)
{
    return split == SH_SPLIT_TRAIN ? "training" : "validation";
}

/* Writes "digits, mnist:DIR" into `list`. */
static void list_usages(char list[LIST_BYTES])
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < KINDS && used < LIST_BYTES; i++)
        if (kinds[i]->usage != NULL)
            used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s", i > 0 ? ", " : "",
                                     kinds[i]->usage);
}

/* Writes "mnist (train-images-idx3-ubyte, ...)" for the kinds that live in folders. */
static void list_files(char list[LIST_BYTES])
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < KINDS && used < LIST_BYTES; i++)
        if (kinds[i]->files != NULL)
            used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%s (%s)",
                                     used > 0 ? " or " : "", kinds[i]->name, kinds[i]->files);
}

static sh_status fail_unknown(const char *spec)
{
    char known[LIST_BYTES];
    list_usages(known);
    return sh_fail(SH_INVALID, "unknown data '%s': use %s or a folder", spec, known);
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

static sh_status open_folder(sh_dataset **dataset, const char *folder)
{
    /* A word without a slash was more likely meant as a name than as a path. */
    if (strchr(folder, '/') == NULL && access(folder, F_OK) != 0 && errno == ENOENT)
        return fail_unknown(folder);
    SH_TRY(sh_folder_check(folder));
    const sh_dataset_ops *found = NULL;
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i]->recognises == NULL || !kinds[i]->recognises(folder))
            continue;
        if (found != NULL)
            return sh_fail(
                SH_INVALID, "%s: holds files of %s and of %s; say which is meant: %s:%s or %s:%s",
                folder, found->name, kinds[i]->name, found->name, folder, kinds[i]->name, folder);
        found = kinds[i];
    }
    if (found != NULL)
        return found->open(dataset, folder);
    char files[LIST_BYTES];
    list_files(files);
    return sh_fail(SH_NOT_FOUND, "%s: no data is recognised in this folder; looked for %s", folder,
                   files);
}

sh_status sh_dataset_open(sh_dataset **dataset, const char *spec)
{
    if (spec[0] == '\0')
        return fail_unknown(spec);
    for (size_t i = 0; i < KINDS; i++) {
        const size_t length = strlen(kinds[i]->name);
        if (strncmp(spec, kinds[i]->name, length) != 0)
            continue;
        if (spec[length] == '\0')
            return kinds[i]->open(dataset, NULL);
        if (spec[length] == ':')
            return kinds[i]->open(dataset, spec + length + 1);
    }
    return open_folder(dataset, spec);
}

const sh_dataset_info *sh_dataset_about(const sh_dataset *dataset)
{
    return &dataset->info;
}

sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, uint8_t *bytes,
                          int32_t *label)
{
    const sh_dataset_info *info = &dataset->info;
    if (split != SH_SPLIT_TRAIN && split != SH_SPLIT_VALIDATION)
        return sh_fail(SH_INVALID, "%s has no split number %d", info->name, (int)split);
    if (index >= info->count[split])
        return sh_fail(SH_INVALID, "%s has no %s sample %u: there are %u", info->name,
                       sh_split_name(split), index, info->count[split]);
    return dataset->ops->read(dataset, split, index, bytes, label);
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
    if (dataset != NULL)
        dataset->ops->close(dataset);
}
