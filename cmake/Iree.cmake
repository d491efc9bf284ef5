# The tree of IREE's runtime that the engine is compiled against: the target iree_runtime, and CEL_IREE_COMPILE, where the
# tree's compiler lies. A tree is what IREE's own `cmake --install` makes of a build of its runtime, or an unpacked
# iree-dist archive; a variable, of CMake or of the environment, names it. scripts/iree/ makes such trees.
set(CEL_IREE_TREE auto CACHE STRING "which variable names IREE's tree: dist, cuda, macos, rocm; auto: the first one that is set")
set_property(CACHE CEL_IREE_TREE PROPERTY STRINGS auto dist cuda macos rocm)
set(CEL_IREE_DIST_VARIABLE IREE_DIST)
set(CEL_IREE_CUDA_VARIABLE IREE_CUDA_HOME)
set(CEL_IREE_MACOS_VARIABLE IREE_MACOS_HOME)
set(CEL_IREE_ROCM_VARIABLE IREE_ROCM_HOME)

# cel_iree_value(OUT NAME): CMake's variable NAME, else the environment's, else "".
function(cel_iree_value out name)
  if(DEFINED ${name})
    set(${out} "${${name}}" PARENT_SCOPE)
  else()
    set(${out} "$ENV{${name}}" PARENT_SCOPE)
  endif()
endfunction()

set(CEL_IREE_KINDS ${CEL_IREE_TREE})
if(CEL_IREE_TREE STREQUAL "auto")
  set(CEL_IREE_KINDS cuda rocm macos dist)
elseif(NOT CEL_IREE_TREE MATCHES "^(dist|cuda|macos|rocm)$")
  message(FATAL_ERROR "CEL_IREE_TREE=${CEL_IREE_TREE}: accepted are auto, dist, cuda, macos, rocm")
endif()
set(CEL_IREE_HOME "")
set(CEL_IREE_NAMES "")
foreach(kind ${CEL_IREE_KINDS})
  string(TOUPPER ${kind} kind)
  list(APPEND CEL_IREE_NAMES ${CEL_IREE_${kind}_VARIABLE})
  if(NOT CEL_IREE_HOME)
    cel_iree_value(CEL_IREE_HOME ${CEL_IREE_${kind}_VARIABLE})
    set(CEL_IREE_NAME ${CEL_IREE_${kind}_VARIABLE})
    cel_iree_value(CEL_IREE_COMPILE IREE_${kind}_COMPILE)  # there is none for IREE_DIST
  endif()
endforeach()
list(JOIN CEL_IREE_NAMES " or " CEL_IREE_NAMES)
if(NOT CEL_IREE_HOME)
  message(FATAL_ERROR "CEL_XLA_IREE needs a tree of IREE's runtime: set ${CEL_IREE_NAMES} to its path (scripts/iree/ makes one)")
endif()

# Of the archives, the second holds what IREE takes from others and leaves out of its own.
set(CEL_IREE_NEEDS include/iree/runtime/api.h lib/libiree_runtime_unified.a lib/libflatcc_parsing.a)
foreach(file ${CEL_IREE_NEEDS})
  if(NOT EXISTS "${CEL_IREE_HOME}/${file}")
    message(FATAL_ERROR "${CEL_IREE_NAME}=${CEL_IREE_HOME} is no tree of IREE's runtime: ${CEL_IREE_HOME}/${file} is missing")
  endif()
endforeach()
if(CEL_IREE_COMPILE AND NOT EXISTS "${CEL_IREE_COMPILE}")
  string(REPLACE "_HOME" "_COMPILE" CEL_IREE_COMPILE_NAME ${CEL_IREE_NAME})
  message(FATAL_ERROR "${CEL_IREE_COMPILE_NAME}=${CEL_IREE_COMPILE}: there is no such file")
endif()
message(STATUS "IREE: ${CEL_IREE_NAME}=${CEL_IREE_HOME}")

add_library(iree_runtime INTERFACE)
target_include_directories(iree_runtime SYSTEM INTERFACE ${CEL_IREE_HOME}/include)
target_link_libraries(iree_runtime INTERFACE ${CEL_IREE_HOME}/lib/libiree_runtime_unified.a
                      ${CEL_IREE_HOME}/lib/libflatcc_parsing.a Threads::Threads ${CMAKE_DL_LIBS} m)
