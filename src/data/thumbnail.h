/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a sample for people, small enough for pages and run files.
 *
 * By the sample (data/source.h: "inputs"), one of
 *
 *     {"kind": "image", "width": 28, "height": 28, "png": "iVBO..."}       base64
 *     {"kind": "heat", "width": 64, "height": 40, "png": "iVBO..."}        a spectrogram: time to
 *                                                    the right, frequency up, dark to bright
 *     {"kind": "lines", "least": -2.1, "most": 3.4, "names": ["x"], "lines": [[0, 37, 200]]}
 *                                                    a series: 0 means least, 200 means most
 *     {"kind": "values", "names": ["age"], "values": ["41"], "more": 3}    a row, in the source's
 *                                                    units if known; 3 not shown
 *     {"kind": "text", "text": "of the "}            bytes; non-ASCII as "?"
 *
 * Larger samples are averaged. Images of floats are scaled from black, the minimum, to white. Three
 * channels are colours; otherwise the first is shown.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_THUMBNAIL_H
#define SHOAL_DATA_THUMBNAIL_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_THUMBNAIL_SIDE 64 /* pixels each way */
#define SH_THUMBNAIL_LINES 4
#define SH_THUMBNAIL_POINTS 128 /* per line */
#define SH_THUMBNAIL_HEIGHT 200 /* largest value of a line */
#define SH_THUMBNAIL_VALUES 24
#define SH_THUMBNAIL_TEXT 256 /* bytes */

/* `description`: sh_description_read's, or NULL. Free `*json` with json_decref(). SH_NO_MEMORY. */
sh_status sh_thumbnail_json(json_t **json, const sh_dataset_info *info, const json_t *description,
                            const void *sample) SHOAL_CHECKED;

#endif
