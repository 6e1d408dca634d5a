/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a photo from its file.
 *
 *     SH_TRY(sh_fail_in(sh_photo_load(sample, &form, path), "%s", path));
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_LOAD_H
#define SHOAL_DATA_PHOTOS_PHOTO_LOAD_H

#include "data/photos/photo.h"

/* Does not block. `*fd` is owned: close it. SH_CORRUPT; the message lacks the path. */
sh_status sh_photo_open(int *fd, const char *path) SHOAL_CHECKED;

/* Fails like sh_photo_decode, and with SH_CORRUPT if the file cannot be read. */
sh_status sh_photo_load(uint8_t *sample, const sh_photo_form *form, const char *path) SHOAL_CHECKED;

#endif
