/* SPDX-License-Identifier: Apache-2.0 */
/* Reads new photos for a trained run. If the run's data were not photos, their description does not
 * tell how to fit photos. New ones are then cropped. */
#include <stdlib.h>
#include <string.h>

#include "data/file_reader.h"
#include "data/photos/photo_load.h"

typedef struct photo_reader {
    sh_file_reader base;
    sh_photo_form form;
} photo_reader;

static sh_status photo_load(const sh_file_reader *reader, const char *path, void *sample)
{
    const sh_photo_form *form = &((const photo_reader *)reader)->form;
    return sh_fail_in(sh_photo_load(sample, form, path), "%s", path);
}

static void photo_free(sh_file_reader *reader)
{
    free(reader);
}

sh_status sh_photo_reader(sh_file_reader **reader, const sh_trained *trained,
                          const sh_read_options *options)
{
    static const sh_file_reader_ops ops = {
        .files = "photos", .is_named = sh_photo_is_named, .load = photo_load, .free = photo_free};
    const sh_dataset_info *info = &trained->info;
    const json_t *inputs = sh_file_reader_inputs(trained, "photo");
    const char *fit = json_string_value(json_object_get(inputs, "fit"));
    sh_photo_form form = {.side = (uint32_t)info->height,
                          .channels = (uint32_t)info->channels,
                          .no_exif = inputs != NULL ? json_is_false(json_object_get(inputs, "exif"))
                                                    : options->no_exif};
    if (info->element != SH_ELEMENT_BYTE || info->height != info->width ||
        info->height > SH_FIT_SIDE_MOST || (info->channels != 1 && info->channels != 3))
        return sh_fail(SH_UNSUPPORTED,
                       "the run was trained with samples of %zux%zux%zu, which are not square "
                       "photos of at most %d pixels, grey or in colour",
                       info->channels, info->height, info->width, SH_FIT_SIDE_MOST);
    if (!sh_fit_find(&form.fit, fit == NULL ? "" : fit))
        return sh_file_reader_malformed();
    photo_reader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of photos");
    fresh->base.ops = &ops;
    fresh->form = form;
    *reader = &fresh->base;
    return SH_OK;
}
