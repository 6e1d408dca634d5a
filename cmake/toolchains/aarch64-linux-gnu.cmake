# Builds for 64-bit Arm on Debian of another architecture: scripts/install-dependencies.sh arm, then
# scripts/make-sysroot.sh arm64.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(DEBIAN_ARCHITECTURE arm64)
set(DEBIAN_TRIPLET aarch64-linux-gnu)
set(QEMU qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
