# The thread sanitizer of clang. Of a loop it watches the vectors where gcc's watches each number, which is
# most of what a training takes there; of vectors those of at most 16 bytes.
target_compile_options(shoal_options INTERFACE -O2)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(shoal_options INTERFACE -mprefer-vector-width=128)
endif()
target_compile_definitions(shoal_options INTERFACE __SANITIZE_THREAD__=1) # as gcc says it
