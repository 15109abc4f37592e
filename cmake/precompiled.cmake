# For most files, the compiler spends most of its time reading the headers of the standard library and of nlohmann. They
# are parsed once, as a precompiled header that all layers share. A source file still includes what it uses, because the
# linters compile without this header. The header is named relative to the include path, so that it is the same in every
# checkout and ccache can share objects between them.
add_library(berth_precompiled_header OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
target_include_directories(berth_precompiled_header PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(berth_precompiled_header PRIVATE <cmake/precompiled.h>)
# Only the tests' targets need this one, so that a build without them doesn't make it.
add_library(berth_precompiled_test_header OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
target_include_directories(berth_precompiled_test_header PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(berth_precompiled_test_header PRIVATE
  <cmake/precompiled.h> <catch2/catch.hpp>)

# ccache tells objects apart by the content of the precompiled header that they were compiled with. GCC writes that file
# differently each time, so two checkouts would share nothing. With CCACHE_PCH_EXTSUM, which CMakePresets.json sets, ccache
# reads this sum of what the header contains instead. The other variables there let checkouts share objects, and let
# ccache keep those that were compiled with a precompiled header.
function(berth_precompiled_sum target)
  set(includes "")
  foreach(header ${ARGN})
    string(APPEND includes "#include <${header}>\n")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.h "${includes}")
  set(root "")
  if(CMAKE_SYSROOT)
    set(root --sysroot=${CMAKE_SYSROOT})
  endif()
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${root} ${CMAKE_CXX23_STANDARD_COMPILE_OPTION} -E -P -I${PROJECT_SOURCE_DIR} -x c++ ${CMAKE_BINARY_DIR}/${target}.h
    OUTPUT_VARIABLE content COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${content}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum "${sum}\n")
endfunction()
berth_precompiled_sum(berth_precompiled_header cmake/precompiled.h)
berth_precompiled_sum(berth_precompiled_test_header cmake/precompiled.h catch2/catch.hpp)

function(berth_precompiled target)
  target_precompile_headers(${target} REUSE_FROM berth_precompiled_header)
endfunction()
function(berth_precompiled_test target)
  target_precompile_headers(${target} REUSE_FROM berth_precompiled_test_header)
endfunction()
