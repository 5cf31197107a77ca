/* Opening libraries at run time, and saying beforehand whether that could
 * work: assay list must not load a vendor library, so it reads the linker's
 * cache (glibc's sysdeps/generic/dl-cache.h has the layout) itself. */
#include "hw/loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define CACHE_PATH  "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_LIMIT ((size_t)64 << 20)

struct cache_head {
	char magic[20];
	uint32_t entries;
	uint32_t text_len;
	uint32_t unused[5];
};

/* Offsets are counted from the head. */
struct cache_entry {
	int32_t flags;
	uint32_t name, path;
	uint32_t os_version;
	uint64_t hwcap;
};

/* --- opening -------------------------------------------------------------- */

static const char *loaded_path(struct arena *arena, void *handle, const char *fallback)
{
	struct link_map *map = NULL;
	char *real = NULL;
	const char *kept;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0])
		real = realpath(map->l_name, NULL);
	kept = arena_str(arena, real ? real : fallback);
	free(real);
	return kept;
}

/* name: a path, or a soname for the linker to find. */
static bool load(struct library *lib, struct arena *arena, const char *soname, const char *name)
{
	lib->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (lib->handle) {
		lib->soname = arena_str(arena, soname);
		lib->path = loaded_path(arena, lib->handle, name);
	}
	return lib->handle != NULL;
}

/* Keeps the linker's words where a file is there and does not load. */
static bool load_from(struct library *lib, struct arena *arena, const char *soname, const char *dir)
{
	struct str path = {0};
	const char *name = path_join(&path, dir, soname);

	if (access(name, F_OK) == 0 && !load(lib, arena, soname, name) && !lib->problem)
		lib->problem = arena_str(arena, dlerror());
	str_release(&path);
	return lib->handle != NULL;
}

static bool load_by_linker(struct library *lib, struct arena *arena, const char *soname)
{
	const char *const one[] = {soname, NULL};
	const char *words;

	if (load(lib, arena, soname, soname))
		return true;
	words = dlerror();
	if (!lib->problem && library_find(arena, one, NULL))
		lib->problem = arena_str(arena, words);
	return false;
}

static bool load_anywhere(struct library *lib, struct arena *arena,
                          const struct library_search *where, const char *soname)
{
	bool found;

	if (where->dir)
		return load_from(lib, arena, soname, where->dir);
	found = where->near && load_from(lib, arena, soname, where->near);
	found = found || load_by_linker(lib, arena, soname);
	for (const char *const *place = where->places; !found && place && *place; place++)
		found = load_from(lib, arena, soname, *place);
	return found;
}

enum status library_search(struct library *lib, struct arena *arena,
                           const struct library_search *where, struct error *err)
{
	*lib = (struct library){0};
	for (const char *const *name = where->names; *name; name++)
		if (load_anywhere(lib, arena, where, *name))
			return ST_OK;
	if (lib->problem)
		return error_set(err, ST_UNSUPPORTED, MSG_library_broken, lib->problem);
	return error_set(err, ST_NOTFOUND, MSG_library_missing, where->names[0]);
}

enum status library_open(struct library *lib, struct arena *arena, const char *const *names,
                         const char *dir, struct error *err)
{
	const struct library_search where = {.names = names, .dir = dir};

	return library_search(lib, arena, &where, err);
}

enum status library_bind(struct library *lib, struct arena *arena, const struct library_row *rows,
                         size_t count, void *table, struct error *err)
{
	const char **lacks = arena_array(arena, count + 1, sizeof(*lacks));
	size_t n = 0;

	lib->missing = NULL;
	for (size_t i = 0; i < count; i++) {
		void *symbol = library_symbol(lib, rows[i].symbol);

		memcpy((char *)table + i * sizeof(symbol), &symbol, sizeof(symbol));
		if (!symbol && !rows[i].required)
			lacks[n++] = rows[i].symbol;
		else if (!symbol && !lib->missing)
			lib->missing = rows[i].symbol;
	}
	lib->lacks = lacks;
	if (lib->missing)
		return error_set(err, ST_UNSUPPORTED, MSG_library_symbol, lib->path, lib->missing);
	return ST_OK;
}

void *library_symbol(const struct library *lib, const char *name)
{
	return dlsym(lib->handle, name);
}

/* --- looking only --------------------------------------------------------- */

/* A NUL-terminated text inside the cache, or NULL. */
static const char *cache_text(const char *head, size_t len, uint32_t offset)
{
	if (offset >= len || !memchr(head + offset, '\0', len - offset))
		return NULL;
	return head + offset;
}

const char *linker_cache_find(const char *cache, size_t len, const char *soname)
{
	/* glibc before 2.32 puts an old-format table in front. */
	const char *head = memmem(cache, len, CACHE_MAGIC, strlen(CACHE_MAGIC));
	struct cache_head h;

	if (!head || (len -= (size_t)(head - cache)) < sizeof(h))
		return NULL;
	memcpy(&h, head, sizeof(h));
	if (h.entries > (len - sizeof(h)) / sizeof(struct cache_entry))
		return NULL;
	for (uint32_t i = 0; i < h.entries; i++) {
		struct cache_entry e;
		const char *name;

		memcpy(&e, head + sizeof(h) + i * sizeof(e), sizeof(e));
		name = cache_text(head, len, e.name);
		if (name && strcmp(name, soname) == 0)
			return cache_text(head, len, e.path);
	}
	return NULL;
}

static const char *in_dir(struct arena *arena, const char *dir, const char *name)
{
	const char *path = arena_strf(arena, "%s/%s", dir, name);

	return access(path, R_OK) == 0 ? path : NULL;
}

/* A list "a:b;c" as LD_LIBRARY_PATH has it. */
static const char *in_path_list(struct arena *arena, const char *list, const char *name)
{
	const char *found = NULL;

	while (list && *list && !found) {
		size_t len = strcspn(list, ":;");

		if (len > 0)
			found = in_dir(arena, arena_strn(arena, list, len), name);
		list += len;
		list += *list != '\0';
	}
	return found;
}

static const char *in_system(struct arena *arena, const struct str *cache, const char *name)
{
	static const char *const dirs[] = {"/lib", "/usr/lib", "/lib64", "/usr/lib64",
	                                   "/usr/local/lib"};
	const char *path = in_path_list(arena, getenv("LD_LIBRARY_PATH"), name);

	if (!path && cache->len) {
		path = linker_cache_find(cache->data, cache->len, name);
		if (path && access(path, R_OK) != 0)
			path = NULL;
		path = arena_str(arena, path);
	}
	for (size_t i = 0; !path && i < sizeof(dirs) / sizeof(*dirs); i++)
		path = in_dir(arena, dirs[i], name);
	return path;
}

const char *library_find(struct arena *arena, const char *const *names, const char *dir)
{
	struct str cache = {0};
	const char *path = NULL;

	if (!dir)
		file_read(&cache, CACHE_PATH, CACHE_LIMIT, NULL);
	for (; *names && !path; names++)
		path = dir ? in_dir(arena, dir, *names) : in_system(arena, &cache, *names);
	str_release(&cache);
	return path;
}
