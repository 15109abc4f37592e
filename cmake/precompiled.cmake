# For most files, the compiler spends most of its time reading the headers of the standard library and of nlohmann. They
# are parsed once, as a precompiled header that all layers share. A source file still includes what it uses, because the
# linters compile without this header. The header is named relative to the include path, so that it is the same in every
# checkout and ccache can share objects between them.
add_library(berth_precompiled_header OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
target_include_directories(berth_precompiled_header PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(berth_precompiled_header PRIVATE <cmake/precompiled.h>)
add_library(berth_precompiled_test_header OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
target_include_directories(berth_precompiled_test_header PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(berth_precompiled_test_header PRIVATE
  <cmake/precompiled.h> <catch2/catch.hpp>)

function(berth_precompiled target)
  target_precompile_headers(${target} REUSE_FROM berth_precompiled_header)
endfunction()
function(berth_precompiled_test target)
  target_precompile_headers(${target} REUSE_FROM berth_precompiled_test_header)
endfunction()
