/* Between the files of the double of libcuda. */
#ifndef STANDIN_CUDA_H
#define STANDIN_CUDA_H

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

#define DECLARE(slot, symbol, need, result, params) EXPORT result symbol params;
CUDA_SYMBOLS(DECLARE)
#undef DECLARE

/* machine_enter with what libcuda asks for: cuInit, or a context on top. */
int cuda_enter(const char *call, bool context);
/* Of a device number; NULL: none. */
struct card *cuda_card(cu_device device);
struct card *context_card(cu_context context);
/* The error that work has left on the card, or result. */
int cuda_state(struct card *card, int result);

#endif
