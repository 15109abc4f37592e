# berth_layer(NAME SOURCES … USES …) defines a static library that may use nothing but USES. In addition it defines a
# program that links the whole library with USES only, so that code which reaches into another layer leaves an undefined
# symbol there and fails the build.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wconversion
                    -Wno-sign-conversion)
# A warning ends the builds of developers and of CI. It doesn't end the one that people run: another compiler, or its
# optimizer, finds other warnings, and that is no reason for somebody to get no program.
if(CMAKE_BUILD_TYPE STREQUAL Debug)
  add_compile_options(-Werror)
endif()
# GCC 12 reports these inside the standard library's own inlined code (GCC bugs 105329, 105593).
add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # Only the fuzzers are built with clang; GCC decides about warnings. clang 14 doesn't announce all of its concepts,
  # without which libstdc++ doesn't offer std::expected.
  add_compile_options(-w -D__cpp_concepts=202002L)
endif()
include(cmake/hardening.cmake)
if(BERTH_SANITIZE)
  # GCC takes no precompiled header of a build with sanitizers: it defines their macros before it looks at the header.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
include(cmake/precompiled.cmake)

# Several source files are included by one, which takes half of the time, because each header is then read once. A local
# name can then hide a name of another file's anonymous namespace, and what a file keeps in one looks as if a header did.
# clang-tidy looks at each file alone (scripts/tidy.sh) and finds what matters, and missing includes.
function(berth_several_files_at_once target)
  if(CMAKE_UNITY_BUILD)
    target_compile_options(${target} PRIVATE -Wno-shadow -Wno-subobject-linkage)
  endif()
endfunction()

function(berth_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;USES" ${ARGN})
  if(NOT LAYER_SOURCES)
    add_library(${name} INTERFACE)
    return()
  endif()
  add_library(${name} STATIC ${LAYER_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${LAYER_USES})
  berth_precompiled(${name})
  berth_several_files_at_once(${name})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/linkcheck.cpp CONTENT "int main() {}\n")
  add_executable(linkcheck_${name} ${CMAKE_BINARY_DIR}/linkcheck.cpp)
  set_target_properties(linkcheck_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/linkcheck)
  target_link_libraries(linkcheck_${name} PRIVATE -Wl,--whole-archive ${name} -Wl,--no-whole-archive)
endfunction()
