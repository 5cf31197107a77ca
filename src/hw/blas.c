/* The CPU's BLAS. Each family has its own way to say how many threads to use
 * and which version it is; sgemm and dgemm are the same cblas functions in all.
 *
 * To add a family: a list of sonames, a row in families[], BLAS_FAMILIES. */
#include "hw/blas.h"

#include <stdint.h>
#include <string.h>

/* Where a distribution builds one library per threading model, the plain
 * soname is the serial build (Fedora, RHEL), so threaded ones come first. */
static const char *const openblas_names[] = {"libopenblasp.so.0", "libopenblaso.so.0",
                                             "libopenblas.so.0", "libopenblas.so", NULL};
static const char *const blis_names[] = {"libblis-mt.so.5",
                                         "libblis-mt.so.4",
                                         "libblis-mt.so",
                                         "libblis.so.4",
                                         "libblis.so.3",
                                         "libblis.so",
                                         NULL};
static const char *const mkl_names[] = {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so", NULL};

struct family {
	const char *name;
	const char *const *sonames;
	const char *set_threads, *get_threads;
	bool wide_threads; /* BLIS counts in its dim_t of 64 bits */
	const char *(*version)(const struct library *lib, struct arena *arena);
};

static const char *openblas_version(const struct library *lib, struct arena *arena)
{
	char *(*config)(void) = (char *(*)(void))library_symbol(lib, "openblas_get_config");
	char *(*core)(void) = (char *(*)(void))library_symbol(lib, "openblas_get_corename");

	/* The configuration names the core only where it was not built for many. */
	return config ? arena_strf(arena, "%s core %s", config(), core ? core() : "?") : NULL;
}

static const char *blis_version(const struct library *lib, struct arena *arena)
{
	char *(*version)(void) = (char *(*)(void))library_symbol(lib, "bli_info_get_version_str");
	int (*arch)(void) = (int (*)(void))library_symbol(lib, "bli_arch_query_id");
	char *(*arch_name)(int) = (char *(*)(int))library_symbol(lib, "bli_arch_string");

	if (!version)
		return NULL;
	return arena_strf(arena, "BLIS %s arch %s", version(),
	                  arch && arch_name ? arch_name(arch()) : "?");
}

static const char *mkl_version(const struct library *lib, struct arena *arena)
{
	void (*version)(char *, int) =
		(void (*)(char *, int))library_symbol(lib, "MKL_Get_Version_String");
	char *text;

	if (!version)
		return NULL;
	text = arena_alloc(arena, 256);
	version(text, 255);
	for (size_t len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
		text[len - 1] = '\0';
	return text;
}

static const struct family families[BLAS_FAMILIES] = {
	{"openblas", openblas_names, "openblas_set_num_threads", "openblas_get_num_threads", false,
         openblas_version},
	{"blis", blis_names, "bli_thread_set_num_threads", "bli_thread_get_num_threads", true,
         blis_version},
	{"mkl", mkl_names, "MKL_Set_Num_Threads", "MKL_Get_Max_Threads", false, mkl_version},
};

static enum status resolve(struct blas *blas, const struct family *f, struct arena *arena,
                           struct error *err)
{
	const char *const needed[] = {"cblas_sgemm", "cblas_dgemm", f->set_threads};
	void *found[3];

	for (int i = 0; i < 3; i++) {
		found[i] = library_symbol(&blas->lib, needed[i]);
		if (!found[i])
			return error_set(err, ST_UNSUPPORTED, MSG_library_symbol, blas->lib.path,
			                 needed[i]);
	}
	memcpy(&blas->sgemm, &found[0], sizeof(found[0]));
	memcpy(&blas->dgemm, &found[1], sizeof(found[1]));
	blas->set_threads = found[2];
	blas->get_threads = library_symbol(&blas->lib, f->get_threads);
	blas->wide_threads = f->wide_threads;
	blas->name = f->name;
	blas->version = f->version(&blas->lib, arena);
	if (!blas->version)
		blas->version = blas->lib.soname;
	return ST_OK;
}

void blas_set_threads(const struct blas *blas, int count)
{
	if (blas->wide_threads)
		((void (*)(int64_t))blas->set_threads)(count);
	else
		((void (*)(int))blas->set_threads)(count);
}

int blas_threads(const struct blas *blas)
{
	if (!blas->get_threads)
		return 0;
	if (blas->wide_threads)
		return (int)((int64_t(*)(void))blas->get_threads)();
	return ((int (*)(void))blas->get_threads)();
}

static enum status open_family(struct blas *blas, const struct family *f, struct arena *arena,
                               const char *dir, struct error *err)
{
	enum status st;

	*blas = (struct blas){0};
	st = library_open(&blas->lib, arena, f->sonames, dir, err);
	return st == ST_OK ? resolve(blas, f, arena, err) : st;
}

enum status blas_open(struct blas list[BLAS_FAMILIES], int *count, struct arena *arena,
                      const char *family, const char *dir, struct error *err)
{
	struct error why = {0};
	enum status st = ST_OK;

	*count = 0;
	for (size_t i = 0; i < BLAS_FAMILIES; i++) {
		struct error one = {0};

		if (family && strcmp(family, families[i].name) != 0)
			continue;
		st = open_family(&list[*count], &families[i], arena, dir, &one);
		if (st == ST_OK)
			++*count;
		else if (st != ST_NOTFOUND)
			error_set(&why, st, MSG_path_error, families[i].name, str_text(&one.text));
		error_release(&one);
	}
	/* A library that is there and broken is worth a word only if no other works. */
	if (*count > 0)
		st = ST_OK;
	else if (why.status != ST_OK)
		st = error_set(err, why.status, MSG_blas_broken, str_text(&why.text));
	else
		st = error_set(err, ST_NOTFOUND, MSG_blas_missing);
	error_release(&why);
	return st;
}

const char *blas_find(struct arena *arena, const char *dir)
{
	const char *path = NULL;

	for (size_t i = 0; i < BLAS_FAMILIES && !path; i++)
		path = library_find(arena, families[i].sonames, dir);
	return path;
}
