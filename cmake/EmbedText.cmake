# Writes a C file with a packed file in it, and its size.
#   cmake -D OUTPUT=text.c -D NAME=sh_gpu_kernels_ptx -D FILE=kernels.ptx.gz -P EmbedText.cmake
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by cmake/EmbedText.cmake. */
#include \"backend/gpu/gpu_kernels.h\"

static const unsigned char bytes[] = {${bytes}};
const sh_gpu_packed ${NAME} = {bytes, sizeof bytes};
")
