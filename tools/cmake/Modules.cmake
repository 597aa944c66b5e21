# mo_module(NAME [FOLDERS IT MAY INCLUDE...]) makes the library mo_NAME of src/NAME/*.c. main.c is left
# to its executable. mo_linked collects all libraries, for the test programs.
add_library(mo_linked INTERFACE)

function(mo_module name)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.c")
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    add_library(mo_${name} STATIC ${sources})
    target_include_directories(mo_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include")
    target_compile_definitions(mo_${name} PUBLIC MO_VERSION="${PROJECT_VERSION}")
    foreach(other IN LISTS ARGN)
        target_link_libraries(mo_${name} PUBLIC mo_${other})
    endforeach()
    target_link_libraries(mo_linked INTERFACE mo_${name})
endfunction()
