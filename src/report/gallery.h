/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes pictures of samples (format: data/thumbnail.h) to a page.
 *
 * Pictures are untrusted: a note replaces an invalid one.
 *
 *     sh_pictures_begin(file);
 *     sh_picture_write(file, picture, "training 4", "rose, distance 0.31");
 *     sh_pictures_end(file);
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_GALLERY_H
#define SHOAL_REPORT_GALLERY_H

#include <jansson.h>
#include <stdio.h>

void sh_pictures_begin(FILE *file);

/* An HTML figure; title and text are escaped; NULL is "". */
void sh_picture_write(FILE *file, const json_t *picture, const char *title, const char *text);

void sh_pictures_end(FILE *file);

#endif
