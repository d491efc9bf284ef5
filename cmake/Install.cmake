# What `cmake --install` puts where, and the Debian package (`cpack -G DEB`).
include(GNUInstallDirs)
if(CEL_MLX_BUNDLE) # cmake/Mlx.cmake
  set(CEL_MLX_INTO ${CMAKE_INSTALL_LIBDIR}/mlxcel)
  foreach(folder ${CEL_MLX_BUNDLE})
    string(REGEX MATCH "(mlx/lib|[^/]+)$" into "${folder}")
    install(DIRECTORY ${folder}/ DESTINATION ${CEL_MLX_INTO}/${into})
  endforeach()
  foreach(folder ${CEL_MLX_LICENCES})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR}/mlx)
  endforeach()
  set(CEL_MLX_HERE $ORIGIN)
  if(APPLE)
    set(CEL_MLX_HERE @loader_path)
  endif()
  file(RELATIVE_PATH CEL_MLX_UP ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(mlxcel PROPERTIES INSTALL_RPATH "${CEL_MLX_HERE}/${CEL_MLX_UP}/mlxcel/mlx/lib")
  set_target_properties(mlxcel_shared PROPERTIES INSTALL_RPATH "${CEL_MLX_HERE}/mlxcel/mlx/lib")
endif()
install(TARGETS mlxcel mlxcel_static mlxcel_shared)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/mlxcel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The .pc file finds its tree from where it lies, so that the tree can be moved.
file(RELATIVE_PATH CEL_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" CEL_PC_UP "${CEL_PC_UP}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/mlxcel.pc.in ${CMAKE_BINARY_DIR}/mlxcel.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/mlxcel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/manual) # empty where tools/ cannot run
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
install(FILES ${CMAKE_BINARY_DIR}/manual/mlxcel.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME mlxcel OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/mlxcel.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _mlxcel OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/mlxcel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c")

set(CPACK_GENERATOR DEB)
if(CEL_MLX AND NOT CEL_MLX_BUNDLE)
  set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/no_package.cmake)
endif()
set(CPACK_PACKAGE_NAME mlxcel)
set(CPACK_PACKAGE_VENDOR mlxcel)
set(CPACK_PACKAGE_CONTACT "the mlxcel authors <mlxcel@mlxcel.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "mlxcel runs language models from their published checkpoints (safetensors,
GGUF) on the CPU: a program with its manual, and a C library.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)      # what the program and the library are linked with
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CEL_MLX_BUNDLE}) # what the package brings itself
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and a trigger of ldconfig
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libpcre2-dev, libutf8proc-dev")  # for linking libmlxcel.a
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
