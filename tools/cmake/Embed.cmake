# mo_embed_kernels(TARGET): each kernels/NAME.cuh becomes `const char mo_kernels_NAME[]` in TARGET
# (declared in src/codegen/embedded.h).
function(mo_embed_kernels target)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/kernels/*.cuh")
    foreach(header IN LISTS headers)
        get_filename_component(name "${header}" NAME_WE)
        set(generated "${CMAKE_BINARY_DIR}/generated/kernels_${name}.c")
        add_custom_command(
            OUTPUT "${generated}"
            COMMAND "${CMAKE_COMMAND}" -DINPUT=${header} -DOUTPUT=${generated} -DSYMBOL=mo_kernels_${name}
                    -P "${CMAKE_SOURCE_DIR}/tools/cmake/EmbedFile.cmake"
            DEPENDS "${header}" "${CMAKE_SOURCE_DIR}/tools/cmake/EmbedFile.cmake"
            COMMENT "Embedding kernels/${name}.cuh"
            VERBATIM)
        target_sources(${target} PRIVATE "${generated}")
    endforeach()
endfunction()
