# Writes ptx.c: a text file as a byte array ending in NUL. -DOUT=… -DFILE=…
file(READ "${FILE}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${OUT}" "/* Made by embed_ptx.cmake from kernels.ptx. */\n#include \"kernels/ptx.h\"\n\nconst char kernels_ptx[] = {${bytes}0};\n")
