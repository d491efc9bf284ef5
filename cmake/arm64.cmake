# Cross-builds for 64-bit Arm Linux; programs run under qemu. scripts/arm64_sysroot.sh brings the libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(root ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot)
get_filename_component(root ${root} ABSOLUTE)
set(libraries ${root}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
# Libraries of libraries (bsd, tinfo) are found here and not in the system's own folders.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}:${root}/lib/aarch64-linux-gnu")

find_program(CEL_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(CEL_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CEL_QEMU} -L /usr/aarch64-linux-gnu -E
      LD_LIBRARY_PATH=${libraries}:${root}/lib/aarch64-linux-gnu)
endif()
