# Writes a C file with packed files in it, as src/report/page.h has them.
#   cmake -D OUTPUT=assets.c -D "FILES=page.html=page.html.gz;..." -P Embed.cmake
set(code "/* Made by cmake/Embed.cmake. */\n#include \"report/page.h\"\n\n#include <stddef.h>\n\n")
set(list "")
foreach(pair ${FILES})
  string(REGEX MATCH "^([^=]+)=(.+)$" _ ${pair})
  set(name ${CMAKE_MATCH_1})
  string(MAKE_C_IDENTIFIER ${name} id)
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND code "static const unsigned char ${id}[] = {${bytes}};\n")
  string(APPEND list "    {\"${name}\", ${id}, sizeof ${id}},\n")
endforeach()
file(WRITE ${OUTPUT} "${code}\nconst sh_asset sh_assets[] = {\n${list}    {NULL, NULL, 0},\n};\n")
