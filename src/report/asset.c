/* SPDX-License-Identifier: Apache-2.0 */
#include "report/asset.h"

#include <string.h>
#include <zlib.h>

static sh_status unpack(FILE *file, const sh_asset *asset)
{
    enum { GZIP = 16 };
    unsigned char chunk[16384];
    z_stream stream = {.next_in = (z_const Bytef *)asset->packed, .avail_in = asset->bytes};
    int code = inflateInit2(&stream, MAX_WBITS + GZIP);
    while (code == Z_OK) {
        stream.next_out = chunk;
        stream.avail_out = sizeof chunk;
        code = inflate(&stream, Z_NO_FLUSH);
        fwrite(chunk, 1, sizeof chunk - stream.avail_out, file);
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END ? SH_OK : sh_fail_memory(sizeof chunk, "a page");
}

sh_status sh_asset_write(FILE *file, const char *name)
{
    for (const sh_asset *asset = sh_assets; asset->name != NULL; asset++)
        if (strcmp(asset->name, name) == 0)
            return unpack(file, asset);
    return SH_OK;
}
