# What `cpack -G DEB` makes of a build: shoal (the program), libshoal0.2 (the library, by its soname) and
# libshoal-dev, for the architecture that the build is for. Needs file, and dpkg-dev, whose dpkg-shlibdeps finds what they
# are linked with. The preset `package` leaves Open MPI out.
#
# These rules are apart from those of Install.cmake because a package has another prefix, and its libraries
# a folder for each architecture. Only cpack uses them.
set(multiarch ${CMAKE_INSTALL_LIBDIR})
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(multiarch lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(library_package libshoal${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(only_program COMPONENT program EXCLUDE_FROM_ALL)
set(only_library COMPONENT library EXCLUDE_FROM_ALL)
set(only_headers COMPONENT headers EXCLUDE_FROM_ALL)

if(TARGET shoal)
  install(TARGETS shoal RUNTIME DESTINATION bin ${only_program})
  # The system knows where the library is.
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/shoal\")" ${only_program})
endif()
install(FILES ${CMAKE_SOURCE_DIR}/package/shoal-join@.service DESTINATION lib/systemd/system ${only_program})
install(FILES ${SHOAL_MANUALS} DESTINATION share/man/man1 ${only_program})
install(FILES ${UNIT_PAGE} DESTINATION share/man/man8 ${only_program})
if(SHOAL_COMPLETIONS)
  shoal_install_completions(share vendor-completions ${only_program})
endif()
install(TARGETS libshoal
  LIBRARY DESTINATION ${multiarch} ${only_library} NAMELINK_COMPONENT headers)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/shoal DESTINATION include ${only_headers}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
shoal_write_pc(${CMAKE_BINARY_DIR}/package/shoal.pc ${multiarch} include)
install(FILES ${CMAKE_BINARY_DIR}/package/shoal.pc DESTINATION ${multiarch}/pkgconfig ${only_headers})
foreach(pair program=shoal library=${library_package} headers=libshoal-dev)
  string(REGEX MATCH "^([^=]+)=(.+)$" _ ${pair})
  install(FILES ${CMAKE_SOURCE_DIR}/package/copyright DESTINATION share/doc/${CMAKE_MATCH_2}
    COMPONENT ${CMAKE_MATCH_1} EXCLUDE_FROM_ALL)
endforeach()

# Debian's name of the architecture; of others dpkg is asked, which answers for this machine.
set(architecture_x86_64-linux-gnu amd64)
set(architecture_aarch64-linux-gnu arm64)
set(architecture_arm-linux-gnueabihf armhf)
if(architecture_${CMAKE_LIBRARY_ARCHITECTURE})
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${architecture_${CMAKE_LIBRARY_ARCHITECTURE}})
  # dpkg-shlibdeps has to look among that architecture's packages.
  file(WRITE ${CMAKE_BINARY_DIR}/package/architecture.cmake
    "set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})\n")
  set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/package/architecture.cmake)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shoal)
set(CPACK_PACKAGE_CONTACT "${SHOAL_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library headers)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME shoal)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "${library_package} ${same}")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "trains one neural network on many small computers
 Devices join and leave while it trains, and the weights at the end depend on the job
 alone, bit for bit. Has a systemd unit that lends a device to a training; it is not
 enabled.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Linked, so that dpkg-shlibdeps finds it, is what every device uses. These are loaded: by devices with company, and
# by whoever reads a study. Debian 13 has other names for them on 32-bit processors.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libssl3t64 | libssl3, libevent-core-2.1-7t64 | libevent-core-2.1-7, \
libevent-pthreads-2.1-7t64 | libevent-pthreads-2.1-7, libyaml-0-2")
# Readers of data load these when they are first used.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libjpeg62-turbo, libspng0, libwebp7, libsndfile1, libcsv3")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "distributed training on small computers: the library
 What the program shoal is made of, for other programs.")
set(CPACK_DEBIAN_HEADERS_PACKAGE_NAME libshoal-dev)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_HEADERS_PACKAGE_DEPENDS "${library_package} ${same}")
set(CPACK_DEBIAN_HEADERS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_HEADERS_DESCRIPTION "distributed training on small computers: headers
 What programs that train with libshoal are built with.")
include(CPack)
