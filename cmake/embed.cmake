# berth_embed(TARGET NAMESPACE [RELATIVE_TO FOLDER] FILE…) compiles the text of the files into TARGET, as raw string
# literals. `const std::vector<berth::EmbeddedFile>& NAMESPACE::files()` returns them, sorted by name. The name of a file
# is its path below FOLDER; without FOLDER, it is the last part of its path.
#
# berth_embed_as_json(TARGET NAMESPACE FOLDER FILE…) does the same with YAML files below FOLDER, but compiles their
# contents as JSON, which takes a fraction of the time to parse when a program starts. Names end in .json.
function(berth_embed target namespace)
  cmake_parse_arguments(EMBED "" "RELATIVE_TO" "" ${ARGN})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${namespace} id)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${id}_embedded.cpp)
  set(files ${EMBED_UNPARSED_ARGUMENTS})
  list(SORT files)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMESPACE=${namespace} -DRELATIVE_TO=${EMBED_RELATIVE_TO} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

function(berth_embed_as_json target namespace folder)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    return()
  endif()
  if(NOT TARGET yaml_as_json)
    add_executable(yaml_as_json ${PROJECT_SOURCE_DIR}/cmake/yaml_as_json.cpp)
    target_link_libraries(yaml_as_json PRIVATE berth_base)
    berth_precompiled(yaml_as_json)
  endif()
  string(MAKE_C_IDENTIFIER ${namespace} id)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${id})
  foreach(file IN LISTS ARGN)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${folder} OUTPUT_VARIABLE name)
    cmake_path(REPLACE_EXTENSION name LAST_ONLY json)
    list(APPEND files ${made}/${name})
  endforeach()
  add_custom_command(
    OUTPUT ${files}
    COMMAND yaml_as_json ${folder} ${made} ${ARGN}
    DEPENDS yaml_as_json ${ARGN}
    VERBATIM)
  berth_embed(${target} ${namespace} RELATIVE_TO ${made} ${files})
endfunction()
