/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample as people can look at it, small enough for a page and for the files of a run.
 *
 *     json_t *picture;
 *     SH_TRY(sh_thumbnail_json(&picture, info, description, sample));
 *
 * By what the sample is (data/source.h: "inputs"), one of
 *
 *     {"kind": "image", "width": 28, "height": 28, "png": "iVBO..."}       base64
 *     {"kind": "heat", "width": 64, "height": 40, "png": "iVBO..."}        a spectrogram: time goes
 *                                                    right, frequency up, from dark to bright
 *     {"kind": "lines", "least": -2.1, "most": 3.4, "names": ["x"], "lines": [[0, 37, 200]]}
 *                                                    a series: 0 stands for least, 200 for most
 *     {"kind": "values", "names": ["age"], "values": ["41"], "more": 3}    a row, in the units of
 *                                                    its source where they are known; 3 not shown
 *     {"kind": "text", "text": "of the "}            bytes; those that are no ASCII are "?"
 *
 * Pixels are means of the sample's where it has more; images of floats reach from black, their
 * least value, to white. Images of three channels are in colour, of others the first is shown.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_THUMBNAIL_H
#define SHOAL_DATA_THUMBNAIL_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_THUMBNAIL_SIDE 64 /* pixels each way at most */
#define SH_THUMBNAIL_LINES 4
#define SH_THUMBNAIL_POINTS 128 /* of a line */
#define SH_THUMBNAIL_HEIGHT 200 /* of a line: the most */
#define SH_THUMBNAIL_VALUES 24
#define SH_THUMBNAIL_TEXT 256 /* bytes */

/* `description` is sh_description_read's, or NULL; `sample` as sh_dataset_read gives it. `*json` is
 * owned: json_decref(). SH_NO_MEMORY. */
sh_status sh_thumbnail_json(json_t **json, const sh_dataset_info *info, const json_t *description,
                            const void *sample) SHOAL_CHECKED;

#endif
