# berth_commit(TARGET): the program knows the git commit that it is built of (controller/base/version.h). The commit stands
# in one small source, which is written anew when the commit has changed; nothing else is compiled again for it.
function(berth_commit target)
  set(out ${CMAKE_BINARY_DIR}/commit.cpp)
  if(NOT TARGET berth_commit_source)
    add_custom_target(berth_commit_source
      COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake
      BYPRODUCTS ${out} VERBATIM)
    add_library(berth_commit OBJECT ${out})
    add_dependencies(berth_commit berth_commit_source)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:berth_commit>)
endfunction()
