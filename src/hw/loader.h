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
	const char *soname;  /* the name of the list that was found */
	const char *path;    /* real path of the file that was loaded */
	const char *version; /* as it says itself; NULL: not asked */
	const char *problem; /* the linker's words on the first file that did not load, or NULL */
	const char *missing; /* first function it lacks that it must have, or NULL */
	const char *const *lacks; /* optional functions it lacks; NULL-terminated, or NULL */
	bool standin;             /* a double of the tests, not the real thing */
};

/* Where to look. All but the names may be NULL. */
struct library_search {
	const char *const *names;  /* sonames, the best first; a worse one is tried
	                              only when no place has a better */
	const char *dir;           /* nowhere else but here */
	const char *near;          /* first here: where a partner was found */
	const char *const *places; /* after the dynamic linker: directories */
};

/* Opens the first of all that loads. ST_NOTFOUND: none is there;
 * ST_UNSUPPORTED: one is there and does not load (err says the linker's words).
 * Strings go to the arena. */
enum status library_search(struct library *lib, struct arena *arena,
                           const struct library_search *where, struct error *err);

/* The same for names (a NULL-terminated list) in dir alone or, without one,
 * where the dynamic linker looks. */
enum status library_open(struct library *lib, struct arena *arena, const char *const *names,
                         const char *dir, struct error *err);

/* One function of a table of function pointers. */
struct library_row {
	const char *symbol;
	bool required;
};

/* Fills `table`, a struct of `count` function pointers in the order of the
 * rows; what an optional row does not find stays NULL and is listed in lacks.
 * ST_UNSUPPORTED: a required one is not there; the rest is filled all the same. */
enum status library_bind(struct library *lib, struct arena *arena, const struct library_row *rows,
                         size_t count, void *table, struct error *err);

/* The symbol, or NULL. */
void *library_symbol(const struct library *lib, const char *name);

/* Whether library_open would find one of the names, without opening any: looks
 * at dir alone, or at LD_LIBRARY_PATH, the linker's cache and its default
 * directories. The path of the first found goes to the arena, NULL: none. */
const char *library_find(struct arena *arena, const char *const *names, const char *dir);

/* Value of `soname` in the text of an ld.so.cache, or NULL (tests). */
const char *linker_cache_find(const char *cache, size_t len, const char *soname);

#endif
