# Libraries, each the field's own and all in Debian (ARCHITECTURE.md says what each is for).
# Gathered in the interface target shoal_dependencies. Optional parts say here whether they were found.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent_core libevent_pthreads)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
find_program(PROTOC_C protoc-c REQUIRED)

add_library(shoal_dependencies INTERFACE)
target_link_libraries(shoal_dependencies INTERFACE
  Threads::Threads OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB PkgConfig::LIBEVENT PkgConfig::PROTOBUF_C
  PkgConfig::JANSSON PkgConfig::HWLOC PkgConfig::SQLITE PkgConfig::YAML PkgConfig::OPENBLAS m)

# Debian's own CMake file for oneDNN also wants OpenCL's headers, which nothing here uses.
if(NOT SHOAL_ONEDNN STREQUAL OFF)
  find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
  find_library(ONEDNN_LIBRARY dnnl)
  find_package(OpenMP COMPONENTS C QUIET)
endif()
if(ONEDNN_INCLUDE_DIR AND ONEDNN_LIBRARY AND OpenMP_C_FOUND)
  set(SHOAL_HAVE_ONEDNN ON)
  target_include_directories(shoal_dependencies SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
  target_link_libraries(shoal_dependencies INTERFACE ${ONEDNN_LIBRARY} OpenMP::OpenMP_C)
  target_compile_definitions(shoal_dependencies INTERFACE SHOAL_HAVE_ONEDNN)
  message(STATUS "oneDNN backend: yes (${ONEDNN_LIBRARY})")
elseif(SHOAL_ONEDNN STREQUAL ON)
  message(FATAL_ERROR "oneDNN was asked for and not found: apt-get install libdnnl-dev")
else()
  set(SHOAL_HAVE_ONEDNN OFF)
  message(STATUS "oneDNN backend: no (libdnnl-dev is missing or was declined); kernels are the portable ones")
endif()

# By Open MPI's own name: the collectives are any MPI's, but how ranks are placed is asked of its launcher.
if(NOT SHOAL_MPI STREQUAL OFF)
  pkg_check_modules(OPENMPI IMPORTED_TARGET ompi-c)
endif()
if(OPENMPI_FOUND AND NOT SHOAL_MPI STREQUAL OFF) # a build folder may have found it before
  set(SHOAL_HAVE_MPI ON)
  target_link_libraries(shoal_dependencies INTERFACE PkgConfig::OPENMPI)
  message(STATUS "MPI engine: yes (Open MPI ${OPENMPI_VERSION})")
elseif(SHOAL_MPI STREQUAL ON)
  message(FATAL_ERROR "MPI was asked for and not found: apt-get install libopenmpi-dev openmpi-bin")
else()
  set(SHOAL_HAVE_MPI OFF)
  message(STATUS "MPI engine: no (libopenmpi-dev is missing or was declined); --engine mpi will say so")
endif()
