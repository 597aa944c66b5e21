# cmake -DINPUT=FILE -DOUTPUT=FILE.c -DSYMBOL=NAME -P EmbedFile.cmake
# Writes the bytes of INPUT as the NUL-terminated array `const char SYMBOL[]`.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
if(bytes MATCHES "0x[89a-f]" OR bytes MATCHES "0x00")
    message(FATAL_ERROR "${INPUT} is not plain ASCII; it becomes text of emitted files")
endif()
file(WRITE "${OUTPUT}" "#include \"codegen/embedded.h\"\n\nconst char ${SYMBOL}[] = {\n${bytes}0};\n")
