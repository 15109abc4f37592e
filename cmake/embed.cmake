# berth_embed(TARGET NAMESPACE [RELATIVE_TO FOLDER] FILE…) compiles the text of the files into TARGET, as raw string
# literals. `const std::vector<berth::EmbeddedFile>& NAMESPACE::files()` returns them, sorted by name. The name of a file
# is its path below FOLDER; without FOLDER, it is the last part of its path.
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
