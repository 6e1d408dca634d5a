/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of samples (data/thumbnail.h: their form) in a page.
 *
 *     sh_pictures_begin(file);
 *     sh_picture_write(file, picture, "training 4", "rose, distance 0.31");
 *     sh_pictures_end(file);
 *
 * Pictures come from files, so they are checked: what is not of the form is left out, and says so.
 * Whatever stands in one, the page asks for nothing from outside.
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_GALLERY_H
#define SHOAL_REPORT_GALLERY_H

#include <jansson.h>
#include <stdio.h>

void sh_pictures_begin(FILE *file);

/* A figure of HTML with a title and text below it; both are escaped, NULL is "". */
void sh_picture_write(FILE *file, const json_t *picture, const char *title, const char *text);

void sh_pictures_end(FILE *file);

#endif
