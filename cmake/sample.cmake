# berth_sample(TARGET FILE) compiles the sample app (examples/hello) into TARGET: FILE, a C++ source, takes the path of its
# archive from the macro BERTH_SAMPLE. The archive has the program, stripped, and its Containerfile.
function(berth_sample target file)
  set(folder ${CMAKE_BINARY_DIR}/examples/sample)
  set(archive ${folder}.tar.gz)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_STRIP} -o ${folder}/hello $<TARGET_FILE:example_hello>
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/examples/hello/Containerfile ${folder}/Containerfile
    COMMAND tar --create --gzip --file ${archive} --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory ${folder}
            Containerfile hello
    DEPENDS example_hello ${PROJECT_SOURCE_DIR}/examples/hello/Containerfile
    COMMENT "Packing the sample app"
    VERBATIM)
  set_source_files_properties(${file} PROPERTIES
    COMPILE_DEFINITIONS "BERTH_SAMPLE=\"${archive}\"" OBJECT_DEPENDS ${archive} SKIP_UNITY_BUILD_INCLUSION ON)
  # The command belongs to this folder's targets only if one of them has its output.
  target_sources(${target} PRIVATE ${archive})
endfunction()
