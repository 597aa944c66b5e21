# Language, warnings and output folders for every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

# The tool must rank the same on every machine: no fused multiply-add behind the source's back.
add_compile_definitions(_GNU_SOURCE)
add_compile_options("$<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Checks (MO_CHECK) do not hang on NDEBUG; assert is not used.
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>")
endif()

set(MO_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wundef -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Wdouble-promotion
    -Wimplicit-fallthrough)
foreach(warning IN LISTS MO_WARNINGS)
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:${warning}>")
endforeach()
if(MO_WERROR OR DEFINED ENV{CI})
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:-Werror>")
endif()

# The tool lies at the top of the build folder, the test programs in tests/ below it. Both find shared
# libraries that lie beside the tool (tools/bundle.sh puts them there for machines that lack them), and so
# do those libraries: that is what the older kind of run path is for.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
add_link_options("LINKER:--disable-new-dtags")
