/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a small picture as PNG (ISO/IEC 15948) in base64 (RFC 4648) for pages.
 *
 *     char *text;
 *     SH_TRY(sh_png_base64(&text, &(sh_png){.pixels = grey, .width = 28, .height = 28,
 *                                           .channels = 1}));
 *     printf("<img src=\"data:image/png;base64,%s\">", text);
 *     free(text);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PNG_H
#define SHOAL_DATA_PNG_H

#include <stdint.h>

#include "base/fail.h"

#define SH_PNG_SIDE_MOST 1024

typedef struct sh_png {
    const uint8_t *pixels;  /* [height][width][channels]; borrowed for the call */
    uint32_t width, height; /* 1 .. SH_PNG_SIDE_MOST */
    uint32_t channels;      /* 1: grey, 3: RGB */
} sh_png;

/* Free `*text` with free(). SH_NO_MEMORY. */
sh_status sh_png_base64(char **text, const sh_png *png) SHOAL_CHECKED;

#endif
