/* Libraries that may be absent, found and opened at run time. One rule of
 * search for all: either one directory and nothing else (--lib-dir), or what
 * the dynamic linker would do. Nothing is ever closed: CUDA and threaded BLAS
 * libraries do not survive it, and a probe child ends soon anyway. */
#ifndef ASSAY_HW_LOADER_H
#define ASSAY_HW_LOADER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct library {
	void *handle;
	const char *soname; /* the name of the list that was found */
	const char *path;   /* real path of the file that was loaded */
};

/* Tries the names (a NULL-terminated list) in order and opens the first that
 * loads. With dir only absolute paths below it are tried. ST_NOTFOUND: none is
 * there; ST_UNSUPPORTED: one is there and does not load (err says the linker's
 * words). Strings go to the arena. */
enum status library_open(struct library *lib, struct arena *arena, const char *const *names,
                         const char *dir, struct error *err);

/* The symbol, or NULL. */
void *library_symbol(const struct library *lib, const char *name);

/* Whether library_open would find one of the names, without opening any: looks
 * at dir alone, or at LD_LIBRARY_PATH, the linker's cache and its default
 * directories. The path of the first found goes to the arena, NULL: none. */
const char *library_find(struct arena *arena, const char *const *names, const char *dir);

/* Value of `soname` in the text of an ld.so.cache, or NULL (tests). */
const char *linker_cache_find(const char *cache, size_t len, const char *soname);

#endif
