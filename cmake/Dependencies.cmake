# Libraries, each the field's own and all in Debian (ARCHITECTURE.md says what each is for).
# Gathered in the interface target shoal_dependencies. Optional parts say here whether they were found.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
find_program(PROTOC_C protoc-c REQUIRED)
find_program(GZIP gzip REQUIRED)

add_library(shoal_dependencies INTERFACE)
target_link_libraries(shoal_dependencies INTERFACE
  Threads::Threads OpenSSL::Crypto ZLIB::ZLIB PkgConfig::PROTOBUF_C PkgConfig::JANSSON PkgConfig::SQLITE
  ${CMAKE_DL_LIBS} m)

# Headers alone: these are loaded where they are used (src/base/library.h).
pkg_check_modules(LIBEVENT REQUIRED IMPORTED_TARGET libevent_core libevent_pthreads)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JPEG REQUIRED libjpeg)
pkg_check_modules(SPNG REQUIRED spng)
pkg_check_modules(WEBP REQUIRED libwebp)
pkg_check_modules(SNDFILE REQUIRED sndfile)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)
foreach(library OpenSSL::SSL PkgConfig::LIBEVENT PkgConfig::YAML)
  target_include_directories(shoal_dependencies SYSTEM INTERFACE
    $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
endforeach()

# By Open MPI's own name: the collectives are any MPI's, but how ranks are placed is asked of its launcher.
if(NOT SHOAL_MPI STREQUAL OFF)
  pkg_check_modules(OPENMPI IMPORTED_TARGET ompi-c)
endif()
if(OPENMPI_FOUND AND NOT SHOAL_MPI STREQUAL OFF) # a build folder may have found it before
  set(SHOAL_HAVE_MPI ON)
  target_include_directories(shoal_dependencies SYSTEM INTERFACE
    $<TARGET_PROPERTY:PkgConfig::OPENMPI,INTERFACE_INCLUDE_DIRECTORIES>)
  message(STATUS "MPI engine: yes (Open MPI ${OPENMPI_VERSION})")
elseif(SHOAL_MPI STREQUAL ON)
  message(FATAL_ERROR "MPI was asked for and not found: apt-get install libopenmpi-dev openmpi-bin")
else()
  set(SHOAL_HAVE_MPI OFF)
  message(STATUS "MPI engine: no (libopenmpi-dev is missing or was declined); --engine mpi will say so")
endif()

# Of no program but browsers: it is packed into the library, for the pages of `shoal report`.
if(NOT SHOAL_CHARTS STREQUAL OFF)
  find_file(SHOAL_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
    NO_CMAKE_FIND_ROOT_PATH)
endif()
if(SHOAL_CHART_JS AND NOT SHOAL_CHARTS STREQUAL OFF)
  message(STATUS "charts: yes (${SHOAL_CHART_JS})")
elseif(SHOAL_CHARTS STREQUAL ON)
  message(FATAL_ERROR "charts were asked for and Chart.js was not found: apt-get install libjs-chart.js")
else()
  set(SHOAL_CHART_JS "")
  message(STATUS "charts: no (libjs-chart.js is missing or was declined); reports have tables only")
endif()

# Compiles the kernels of GPUs for NVIDIA's, at build time alone; users need the driver and nothing else.
if(NOT SHOAL_CUDA STREQUAL OFF)
  find_program(SHOAL_CLANG_PTX NAMES clang clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
  if(SHOAL_CLANG_PTX AND NOT DEFINED SHOAL_CLANG_MAKES_PTX)
    file(WRITE ${CMAKE_BINARY_DIR}/ptx.cl "__kernel void k(__global float *x) { *x = __nvvm_div_rn_f(*x, 3.0f); }\n")
    execute_process(COMMAND ${SHOAL_CLANG_PTX} -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-cuda -Xclang -target-cpu
      -Xclang sm_70 -S -o ${CMAKE_BINARY_DIR}/ptx.out ${CMAKE_BINARY_DIR}/ptx.cl
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      set(SHOAL_CLANG_MAKES_PTX OFF CACHE INTERNAL "clang compiles to PTX")
    else()
      set(SHOAL_CLANG_MAKES_PTX ON CACHE INTERNAL "clang compiles to PTX")
    endif()
  endif()
endif()
if(SHOAL_CLANG_PTX AND SHOAL_CLANG_MAKES_PTX AND NOT SHOAL_CUDA STREQUAL OFF)
  message(STATUS "kernels for NVIDIA's driver: yes (${SHOAL_CLANG_PTX})")
elseif(SHOAL_CUDA STREQUAL ON)
  message(FATAL_ERROR "kernels for NVIDIA's driver were asked for and no clang makes PTX: apt-get install clang")
else()
  set(SHOAL_CLANG_MAKES_PTX OFF CACHE INTERNAL "clang compiles to PTX")
  message(STATUS "kernels for NVIDIA's driver: no (clang is missing or was declined); GPUs by OpenCL only")
endif()
