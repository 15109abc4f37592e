# berth_console(TARGET) compiles the files of the console and of the documentation (console/, docs/) into TARGET. Where
# they can't be built (no npm, or neither a network nor packages that were installed before), the build goes on without
# them and says so, and berthd says so under /console and /docs. BERTH_CONSOLE=OFF leaves both out.
option(BERTH_CONSOLE "build the console into berthd" ON)

function(berth_console target)
  if(NOT BERTH_CONSOLE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/api/console/no_files.cpp)
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/console)
  set(out ${CMAKE_BINARY_DIR}/console)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/src/*.ts ${folder}/src/*.tsx ${folder}/src/*.html ${folder}/styles/*.css)
  list(FILTER sources EXCLUDE REGEX "/generated/")
  # The documentation is made of Markdown.
  file(GLOB_RECURSE documents CONFIGURE_DEPENDS ${folder}/documentation/* ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/*.png)
  foreach(name README.md SECURITY.md CHANGELOG.md charts/berth/README.md)
    list(APPEND documents ${PROJECT_SOURCE_DIR}/${name})
  endforeach()
  add_custom_command(
    OUTPUT ${out}/files.cpp
    COMMAND ${folder}/build ${out}
    DEPENDS ${sources} ${documents} ${folder}/build ${folder}/build.mjs ${folder}/package-lock.json
            ${PROJECT_SOURCE_DIR}/api/console/no_files.cpp
    COMMENT "Building the console and the documentation"
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/files.cpp)
endfunction()
