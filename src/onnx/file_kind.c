/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/file_kind.h"

#include <stdbool.h>
#include <string.h>

static const struct mark {
    size_t at, count;
    const char *bytes, *kind;
} marks[] = {
    {0, 4, "PK\3\4",
     "a zip archive, such as PyTorch and Keras save: export the network with torch.onnx.export() "
     "or tf2onnx"},
    {0, 2, "\x80\2", "a Python pickle: export the network with torch.onnx.export()"},
    {0, 4, "\x89HDF", "an HDF5 file, such as Keras saves: export the network with tf2onnx"},
    {4, 4, "TFL3", "a TensorFlow Lite model: export the network with tf2onnx"},
    {4, 4, "ORTM",
     "a model in ONNX Runtime's own format: use the .onnx file that it was made from"},
    {8, 2, "{\"", "a safetensors file, which has weights but no network: --weights takes it"},
    {0, 24, "version https://git-lfs.",
     "a pointer of Git LFS, not the file: fetch the file with 'git lfs pull'"},
    {0, 4, "GGUF", "a GGUF file"},
    {0, 6, "\x93NUMPY", "a NumPy array"},
    {0, 4, "\x89PNG", "a PNG picture"},
    {0, 3, "\xFF\xD8\xFF", "a JPEG picture"},
    {0, 4, "RIFF", "a WAV or WebP file"},
    {0, 2, "\x1F\x8B", "a gzip archive: unpack it first"},
    {0, 4,
     "\x7F"
     "ELF",
     "a program"},
    {0, 5, "%PDF-", "a PDF document"},
    {0, 9, "<!DOCTYPE", "a web page"},
    {0, 5, "<html", "a web page"},
};

static bool is_text(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t' &&
            (bytes[i] < ' ' || bytes[i] > '~'))
            return false;
    return true;
}

const char *sh_file_kind(const uint8_t *bytes, size_t count)
{
    count = count < SH_FILE_KIND_BYTES ? count : SH_FILE_KIND_BYTES;
    if (count == 0)
        return "an empty file";
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i].at + marks[i].count <= count &&
            memcmp(bytes + marks[i].at, marks[i].bytes, marks[i].count) == 0)
            return marks[i].kind;
    return is_text(bytes, count) ? "a text" : NULL;
}
