/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/builder_parts.h"
#include "store/file.h"

sh_status sh_builder_save(sh_builder *builder, sh_layer result, const char *path)
{
    sh_network *network;
    SH_TRY(sh_builder_network(&network, builder, result, path));
    const sh_status status = sh_file_replace(path, network->bytes, network->count);
    sh_network_unref(network);
    return status;
}
