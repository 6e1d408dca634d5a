# Compiler options shared by every target, as the interface target shoal_options.
#
# -ffp-contract=off: a fused multiply-add rounds once where two operations round twice, so the optimiser
# and the exact sum would differ between architectures (promise 1).
add_library(shoal_options INTERFACE)
target_compile_definitions(shoal_options INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(shoal_options INTERFACE
  -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-common
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wformat=2 -Wundef)
if(SHOAL_WERROR)
  target_compile_options(shoal_options INTERFACE -Werror)
endif()
if(SHOAL_SANITIZE)
  target_compile_options(shoal_options INTERFACE
    -fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(shoal_options INTERFACE -fsanitize=${SHOAL_SANITIZE})
endif()
