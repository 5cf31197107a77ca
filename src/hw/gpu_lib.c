/* Where NVIDIA's libraries are on rented images, and their errors in words.
 * Images differ in how CUDA came onto them: toolkit, conda, wheels of Python,
 * or a driver folder that a container runtime mounts. */
#include "hw/gpu_lib.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* --- places -------------------------------------------------------------------- */

/* Where Python keeps packages below a prefix; Debian calls it dist-packages. */
static const char *const site_dirs[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                        "lib64/python3*/site-packages"};
/* Prefixes that images of the trade use beside the environment's own. */
static const char *const prefixes[] = {"/usr/local",  "/usr",  "/opt/conda",  "/opt/venv",
                                       "/opt/*/venv", "/venv", "/root/.local"};
/* Mounted by Kubernetes device plug-ins, WSL and NixOS. */
static const char *const driver_dirs[] = {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib",
                                          "/run/opengl-driver/lib"};

struct place_list {
	struct arena *arena;
	const char *wheel;
	const char **dirs;
	size_t n, cap;
};

static void place_add(struct place_list *list, const char *dir)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->dirs[i], dir) == 0)
			return;
	if (list->n + 1 >= list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 32;
		const char **more = arena_array(list->arena, cap, sizeof(*more));

		if (list->n)
			memcpy(more, list->dirs, list->n * sizeof(*more));
		list->dirs = more;
		list->cap = cap;
	}
	list->dirs[list->n++] = arena_str(list->arena, dir);
	list->dirs[list->n] = NULL;
}

static int newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* Directories that match, the highest version first. */
static void place_glob(struct place_list *list, const char *pattern)
{
	glob_t found;

	if (glob(pattern, GLOB_ONLYDIR | GLOB_NOSORT | GLOB_BRACE, NULL, &found) == 0) {
		qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), newest_first);
		for (size_t i = 0; i < found.gl_pathc; i++)
			place_add(list, found.gl_pathv[i]);
		globfree(&found);
	}
}

/* The text as a pattern that matches itself alone. */
static const char *literal(struct arena *arena, const char *text)
{
	struct str s = {0};
	const char *kept;

	for (; *text; text++) {
		if (strchr("*?[]{}\\", *text))
			str_addc(&s, '\\');
		str_addc(&s, *text);
	}
	kept = arena_str(arena, str_text(&s));
	str_release(&s);
	return kept;
}

static void places_of_toolkit(struct place_list *list, const char *prefix)
{
	place_glob(list, arena_strf(list->arena, "%s/lib64", prefix));
	place_glob(list, arena_strf(list->arena, "%s/lib", prefix));
}

/* Below a prefix (a pattern) of a Python installation. */
static void places_of_python(struct place_list *list, const char *prefix)
{
	for (size_t i = 0; i < sizeof(site_dirs) / sizeof(*site_dirs); i++) {
		const char *site = arena_strf(list->arena, "%s/%s", prefix, site_dirs[i]);

		place_glob(list, arena_strf(list->arena, "%s/nvidia/%s/lib", site, list->wheel));
		place_glob(list, arena_strf(list->arena, "%s/nvidia/cu[0-9]*/lib", site));
		place_glob(list, arena_strf(list->arena, "%s/torch/lib", site));
	}
}

static const char *env_prefix(struct place_list *list, const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? literal(list->arena, value) : NULL;
}

const char *const *gpu_places(struct arena *arena, const char *root, const char *wheel)
{
	static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH"};
	struct place_list list = {.arena = arena, .wheel = wheel};
	const char *prefix, *base = literal(arena, root);

	for (size_t i = 0; i < sizeof(toolkits) / sizeof(*toolkits); i++)
		if ((prefix = env_prefix(&list, toolkits[i])))
			places_of_toolkit(&list, prefix);
	places_of_toolkit(&list, arena_strf(arena, "%s/usr/local/cuda", base));
	places_of_toolkit(&list, arena_strf(arena, "%s/usr/local/cuda-*", base));
	if ((prefix = env_prefix(&list, "CONDA_PREFIX")))
		place_glob(&list, arena_strf(arena, "%s/lib", prefix));
	if ((prefix = env_prefix(&list, "VIRTUAL_ENV")))
		places_of_python(&list, prefix);
	if ((prefix = env_prefix(&list, "CONDA_PREFIX")))
		places_of_python(&list, prefix);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		places_of_python(&list, arena_strf(arena, "%s%s", base, prefixes[i]));
	if ((prefix = env_prefix(&list, "HOME")))
		places_of_python(&list, arena_strf(arena, "%s/.local", prefix));
	for (size_t i = 0; i < sizeof(driver_dirs) / sizeof(*driver_dirs); i++)
		place_glob(&list, arena_strf(arena, "%s%s", base, driver_dirs[i]));
	return list.n ? list.dirs : arena_array(arena, 1, sizeof(*list.dirs));
}

/* --- opening ---------------------------------------------------------------------- */

enum status gpu_lib_open(struct library *lib, struct arena *arena, const struct gpu_search *where,
                         const char *const *names, const char *wheel, const char *near,
                         struct error *err)
{
	struct library_search search = {.names = names, .dir = where->lib_dir, .near = near};
	enum status st;

	if (!search.dir)
		search.places = gpu_places(arena, where->root ? where->root : "", wheel);
	st = library_search(lib, arena, &search, err);
	if (st == ST_OK)
		lib->standin = library_symbol(lib, GPU_STANDIN_SYMBOL) != NULL;
	return st;
}

const char *gpu_lib_find(struct arena *arena, const struct gpu_search *where,
                         const char *const *names, const char *wheel)
{
	const char *path = library_find(arena, names, where->lib_dir);
	const char *const *places;

	if (path || where->lib_dir)
		return path;
	places = gpu_places(arena, where->root ? where->root : "", wheel);
	for (; *places && !path; places++)
		path = library_find(arena, names, *places);
	return path;
}

bool gpu_lib_simulated(const struct library *lib)
{
	return lib->handle && lib->standin;
}

/* --- PCI addresses ------------------------------------------------------------------ */

/* Reads hex digits, least to most of them; -1 when they are not there. */
static long hex_number(const char **p, int least, int most)
{
	long value = 0;
	int n = 0;

	for (; n < most; n++, ++*p) {
		char c = (char)(**p | 0x20);
		int digit = **p >= '0' && **p <= '9' ? **p - '0' : -1;

		if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		if (digit < 0)
			break;
		value = value * 16 + digit;
	}
	return n < least ? -1 : value;
}

const char *gpu_pci(struct arena *arena, const char *text)
{
	long domain, bus, device, function = 0;

	if (!text || (domain = hex_number(&text, 3, 8)) < 0 || *text++ != ':' ||
	    (bus = hex_number(&text, 2, 2)) < 0 || *text++ != ':' ||
	    (device = hex_number(&text, 2, 2)) < 0)
		return NULL;
	if (*text == '.') {
		text++;
		function = hex_number(&text, 1, 1);
	}
	/* Tools have printed devices above 31; the kernel's list decides. */
	if (*text || function < 0)
		return NULL;
	return arena_strf(arena, "%04lx:%02lx:%02lx.%lx", domain, bus, device, function);
}

/* --- errors --------------------------------------------------------------------------- */

const struct gpu_cause *gpu_cause_find(const struct gpu_cause *table, size_t n, int code)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].code == code)
			return &table[i];
	return NULL;
}

enum status gpu_cause_error(const struct gpu_cause *cause, const char *call, const char *name,
                            int code, struct error *err)
{
	if (cause)
		return error_set(err, cause->status, cause->why, call);
	return error_set(err, ST_UNSUPPORTED, MSG_gpu_call_failed, call, name ? name : "?",
	                 tmpf("%d", code));
}
