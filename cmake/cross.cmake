# Toolchain file: builds for another architecture with Debian's cross compilers, against the libraries of
# a sysroot.  scripts/cross makes the sysroot and sets the environment:
#
#   FRAMEFS_CROSS_TRIPLET    such as aarch64-linux-gnu
#   FRAMEFS_CROSS_EMULATOR   a program of qemu-user, which runs the programs that the build makes
#   FRAMEFS_CROSS_SYSROOT    the folder with the libraries

if(NOT DEFINED ENV{FRAMEFS_CROSS_TRIPLET})
  message(FATAL_ERROR "scripts/cross sets what this preset needs: run it")
endif()
set(triplet $ENV{FRAMEFS_CROSS_TRIPLET})
set(sysroot $ENV{FRAMEFS_CROSS_SYSROOT})
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${triplet})
set(CMAKE_SYSTEM_NAME Linux)

set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_CROSSCOMPILING_EMULATOR $ENV{FRAMEFS_CROSS_EMULATOR} -L ${sysroot})

set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/usr/lib/${triplet}/pkgconfig:${sysroot}/usr/share/pkgconfig)
