# Compiler options shared by every target, as the interface target shoal_options.
#
# -ffp-contract=off: a fused multiply-add rounds once where two operations round twice, so the optimiser
# and the exact sum would differ between architectures (promise 1). clang contracts by default.
include(CheckLinkerFlag)

# For the same reason no option may let the compiler reorder or replace floating-point operations.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(REGEX MATCH "-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-ffp-model=fast"
  reordering " ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}}")
if(reordering)
  message(FATAL_ERROR "${reordering} (CFLAGS or CMAKE_C_FLAGS) lets the compiler change results, and devices would "
    "no longer have the same weights: leave it out")
endif()

add_library(shoal_options INTERFACE)
# Offsets in files have 64 bits on 32-bit processors, too: data sets are larger than 2 GB.
target_compile_definitions(shoal_options INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE
  _FILE_OFFSET_BITS=64)
target_compile_options(shoal_options INTERFACE
  -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-common
  -ffunction-sections -fdata-sections
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wformat=2 -Wundef
  # Says that it made no vectors of a loop that may be made of them: there it is built for size.
  $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
# Unused sections go, and so do libraries that nothing calls: a small program that starts quickly.
target_link_options(shoal_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)
if(SHOAL_WERROR)
  target_compile_options(shoal_options INTERFACE -Werror)
endif()

if(SHOAL_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "SHOAL_FUZZ needs clang, whose library the fuzzers are: cmake --preset fuzz")
  endif()
  # "fuzzer-no-link" instruments the code; only a fuzz target itself links the fuzzer's main (fuzz/).
  target_compile_options(shoal_options INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(shoal_options INTERFACE -fsanitize=address,undefined)
elseif(SHOAL_SANITIZE)
  target_compile_options(shoal_options INTERFACE
    -fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(shoal_options INTERFACE -fsanitize=${SHOAL_SANITIZE})
  # Instrumented code hides from gcc what was written; builds without sanitizers watch this.
  target_compile_options(shoal_options INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(SHOAL_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID MATCHES Clang)
    include(ThreadSanitizer)
  endif()
elseif(CMAKE_BUILD_TYPE STREQUAL Release)
  # The program listens on a network: the compiler's cheap guards are on.
  target_compile_options(shoal_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
    -D_FORTIFY_SOURCE=2)
  # Nothing unwinds the stack of a C program while it runs: tables for that would be an eighth of it.
  target_compile_options(shoal_options INTERFACE -fno-asynchronous-unwind-tables -fno-unwind-tables)
  target_link_options(shoal_options INTERFACE -Wl,-z,relro -Wl,-z,now)
  # Code and constants in one segment, without the paddings to a page between them: 12 kB less.
  target_link_options(shoal_options INTERFACE -Wl,-z,noseparate-code)
  # Relocations of tables as bits instead of 24 bytes each: 27 kB less. Needs a C library from 2022 on; a
  # linker that lacks it for this processor only warns.
  check_linker_flag(C -Wl,--fatal-warnings,-z,pack-relative-relocs SHOAL_PACKS_RELOCATIONS)
  if(SHOAL_PACKS_RELOCATIONS)
    target_link_options(shoal_options INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
endif()
