# Builds for 32-bit Arm with hardware floats (Debian's armhf: ARMv7 with VFPv3), as aarch64-linux-gnu.cmake
# does for 64-bit Arm.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(DEBIAN_ARCHITECTURE armhf)
set(DEBIAN_TRIPLET arm-linux-gnueabihf)
set(QEMU qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
