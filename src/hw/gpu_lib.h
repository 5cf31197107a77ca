/* What the four NVIDIA libraries have in common: where rented images keep
 * them, what is a stand-in, and what their error codes mean to the person who
 * rents the machine. Errors are about one card or one call; nothing here ends
 * a run.
 *
 * Open libcuda first: the stand-ins of the others ask for it by its soname and
 * must find the one that is loaded. */
#ifndef ASSAY_HW_GPU_LIB_H
#define ASSAY_HW_GPU_LIB_H

#include "assay/reading.h"
#include "hw/gpu_abi.h"
#include "hw/loader.h"

struct gpu_search {
	const char *lib_dir; /* only here, or NULL */
	const char *root;    /* put before absolute places, "" on a real machine */
};

/* Directories to look in after the dynamic linker's: CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda*, CONDA_PREFIX, Python wheels (of VIRTUAL_ENV, CONDA_PREFIX,
 * the system and the user), where container runtimes put the driver. Of the
 * wheels those called nvidia/`wheel`, nvidia/cu13 and the like, torch. Only
 * directories that exist; NULL-terminated; from the arena. */
const char *const *gpu_places(struct arena *arena, const char *root, const char *wheel);

/* library_search in gpu_places, and the mark of a stand-in. */
enum status gpu_lib_open(struct library *lib, struct arena *arena, const struct gpu_search *where,
                         const char *const *names, const char *wheel, const char *near,
                         struct error *err);

/* Whether gpu_lib_open would find one of the names, without opening any: its
 * path (arena), or NULL. For what must not load a vendor's library. */
const char *gpu_lib_find(struct arena *arena, const struct gpu_search *where,
                         const char *const *names, const char *wheel);

/* Whether readings through it are simulated: set probe_ctx.simulated then. */
bool gpu_lib_simulated(const struct library *lib);

/* A PCI address in the kernel's form, "0000:17:00.0": NVML writes a domain of 8
 * digits, tools of 3, some capitals, some no function. NULL: not an address. */
const char *gpu_pci(struct arena *arena, const char *text);

/* What is behind an error code. */
struct gpu_cause {
	int code;
	enum msg why;         /* {1} the call */
	enum outcome outcome; /* of what could not be measured by it */
	enum status status;
	bool sticky; /* no later call in this process can succeed: end the child */
};

/* The row of a code in a table of n, or NULL. */
const struct gpu_cause *gpu_cause_find(const struct gpu_cause *table, size_t n, int code);

/* Fills err: by cause where there is one, else the call, the library's own name
 * of the code, and the code. Returns the status. */
enum status gpu_cause_error(const struct gpu_cause *cause, const char *call, const char *name,
                            int code, struct error *err);

/* Rows of hw/gpu_symbols.h as those of library_bind. */
#define GPU_NEED_REQUIRED                           true
#define GPU_NEED_OPTIONAL                           false
#define GPU_ROW(slot, symbol, need, result, params) {#symbol, GPU_NEED_##need},

#endif
