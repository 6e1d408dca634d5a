# What `cmake --install BUILD --prefix DIR --strip` gives: the program, its manual pages and completions, the shared
# library, the public headers and shoal.pc, which finds its prefix from its own place and so may be moved with it.
install(TARGETS libshoal
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET shoal)
  install(TARGETS shoal RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/shoal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

# Manual pages are packed, as they are read. That of the systemd unit is only in packages, as the unit is.
set(UNIT_PAGE ${CMAKE_BINARY_DIR}/man/shoal-join@.service.8.gz)
add_custom_command(OUTPUT ${UNIT_PAGE}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
  COMMAND ${GZIP} -9nc ${CMAKE_SOURCE_DIR}/package/shoal-join@.service.8 > ${UNIT_PAGE}
  DEPENDS ${CMAKE_SOURCE_DIR}/package/shoal-join@.service.8 COMMENT "Packing shoal-join@.service.8")
add_custom_target(shoal_pages ALL DEPENDS ${UNIT_PAGE})
install(FILES ${SHOAL_MANUALS} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
if(SHOAL_COMPLETIONS)
  shoal_install_completions(${CMAKE_INSTALL_DATADIR} site-functions)
endif()

# Writes `file` for a library in `libdir` and headers in `includedir`, both below the prefix.
function(shoal_write_pc file libdir includedir)
  file(RELATIVE_PATH prefix_from_pc /prefix/${libdir}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
  configure_file(${CMAKE_SOURCE_DIR}/shoal.pc.in ${file} @ONLY)
endfunction()
shoal_write_pc(${CMAKE_BINARY_DIR}/shoal.pc ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
