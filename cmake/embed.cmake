# berth_embed(TARGET NAMESPACE FILE…) compiles the text of the files into TARGET, as raw string literals. `const
# std::vector<berth::EmbeddedFile>& NAMESPACE::files()` returns them, sorted by name.
function(berth_embed target namespace)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${namespace} id)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${id}_embedded.cpp)
  set(files ${ARGN})
  list(SORT files)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMESPACE=${namespace} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
