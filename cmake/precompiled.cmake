# The standard library's and nlohmann's headers are the larger part of what the compiler reads for most files, so that
# they are parsed once, as a precompiled header that all layers share. A source file still includes what it uses: the
# linters compile without this header. It is named relative to the include path, so that the generated header is the same
# in every checkout and ccache finds in one what it compiled in another.
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
