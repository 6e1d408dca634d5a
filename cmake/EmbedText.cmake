# Writes a C file with a text in it, which is that of several files, one after the other.
#   cmake -D OUTPUT=text.c -D NAME=sh_gpu_kernels_opencl -D "FILES=a.cl;b.cl" -P EmbedText.cmake
set(bytes "")
foreach(file ${FILES})
  file(READ ${file} part HEX)
  string(APPEND bytes "${part}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by cmake/EmbedText.cmake. */\nextern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
