# What `cmake --install BUILD --prefix DIR --strip` gives: the program, the shared library, the public
# headers and shoal.pc, which finds its prefix from its own place and so may be moved with it.
install(TARGETS libshoal
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET shoal)
  install(TARGETS shoal RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/shoal DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

file(RELATIVE_PATH SHOAL_PREFIX_FROM_PC
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" SHOAL_PREFIX_FROM_PC "${SHOAL_PREFIX_FROM_PC}")
configure_file(${CMAKE_SOURCE_DIR}/shoal.pc.in ${CMAKE_BINARY_DIR}/shoal.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/shoal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
