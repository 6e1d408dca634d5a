# What is made of the tables of commands and options by the program package/reference, which is not installed: a
# manual page for each command, completions for bash, zsh and fish, and docs/commands.md. The lists
# SHOAL_MANUALS and SHOAL_COMPLETIONS have the files; they are empty in builds whose programs cannot run at build time.
# The target docs is the reference of the C interface.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E make_directory build
    COMMAND ${DOXYGEN} docs/Doxyfile
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "Writing build/api/html" VERBATIM)
endif()

set(SHOAL_MANUALS)
set(SHOAL_COMPLETIONS)
if(NOT TARGET shoal OR SHOAL_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "manual pages and completions: no (this build's programs do not run here)")
  return()
endif()

file(GLOB REFERENCE_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/package/reference/*.c)
add_executable(reference ${REFERENCE_SOURCES})
target_include_directories(reference PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_options(reference PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
target_link_libraries(reference PRIVATE shoal_cli libshoal shoal_options)

# The names of the commands, from their list.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/command.h)
file(READ ${CMAKE_SOURCE_DIR}/src/cli/command.h commands)
string(REGEX MATCH "#define SH_COMMAND_MAP\\(X\\)[^#]*" commands "${commands}")
string(REGEX MATCHALL "X\\([a-z_]+\\)" commands "${commands}")
set(topics shoal)
foreach(command ${commands})
  string(REGEX REPLACE "X\\((.*)\\)" "\\1" command ${command})
  string(REPLACE _ - command ${command})
  list(APPEND topics ${command})
endforeach()
set(folder ${CMAKE_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${folder} ${CMAKE_BINARY_DIR}/completions)
foreach(topic ${topics})
  set(page shoal-${topic}.1)
  if(topic STREQUAL shoal)
    set(page shoal.1)
  endif()
  add_custom_command(OUTPUT ${folder}/${page}.gz
    COMMAND reference man ${topic} > ${folder}/${page}
    COMMAND ${GZIP} -9nc ${folder}/${page} > ${folder}/${page}.gz
    DEPENDS reference COMMENT "Writing the manual page ${page}" VERBATIM)
  list(APPEND SHOAL_MANUALS ${folder}/${page}.gz)
endforeach()

set(folder ${CMAKE_BINARY_DIR}/completions)
add_custom_command(OUTPUT ${folder}/shoal ${folder}/_shoal ${folder}/shoal.fish
  COMMAND reference bash > ${folder}/tables.bash
  COMMAND ${CMAKE_COMMAND} -E cat ${folder}/tables.bash ${CMAKE_SOURCE_DIR}/package/completion.bash > ${folder}/shoal
  COMMAND reference zsh > ${folder}/_shoal
  COMMAND reference fish > ${folder}/shoal.fish
  DEPENDS reference ${CMAKE_SOURCE_DIR}/package/completion.bash COMMENT "Writing the completions" VERBATIM)
set(SHOAL_COMPLETIONS ${folder}/shoal ${folder}/_shoal ${folder}/shoal.fish)
add_custom_target(shoal_reference ALL DEPENDS ${SHOAL_MANUALS} ${SHOAL_COMPLETIONS})

# Writes docs/commands.md and the table of docs/options.md anew, after a change of the tables.
add_custom_target(commands_page
  COMMAND reference markdown > docs/commands.md
  COMMAND sed -i "/^|/d" docs/options.md
  COMMAND $<TARGET_FILE:shoal> help train --markdown >> docs/options.md
  DEPENDS shoal reference
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "Writing docs/commands.md and docs/options.md" VERBATIM)

# The places of a completion: where `cmake --install` and where Debian's packages put it.
function(shoal_install_completions share zsh)
  install(FILES ${CMAKE_BINARY_DIR}/completions/shoal DESTINATION ${share}/bash-completion/completions ${ARGN})
  install(FILES ${CMAKE_BINARY_DIR}/completions/_shoal DESTINATION ${share}/zsh/${zsh} ${ARGN})
  install(FILES ${CMAKE_BINARY_DIR}/completions/shoal.fish DESTINATION ${share}/fish/vendor_completions.d ${ARGN})
endfunction()
