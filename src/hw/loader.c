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

enum status library_open(struct library *lib, struct arena *arena, const char *const *names,
                         const char *dir, struct error *err)
{
	const char *first = names[0], *broken = NULL;
	struct str path = {0};

	*lib = (struct library){0};
	for (; *names && !lib->handle; names++) {
		const char *name = dir ? path_join(&path, dir, *names) : *names;
		const char *const one[] = {*names, NULL};

		lib->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (lib->handle) {
			lib->soname = *names;
			lib->path = loaded_path(arena, lib->handle, name);
		} else if (!broken && library_find(arena, one, dir)) {
			broken = arena_str(arena, dlerror());
		}
	}
	str_release(&path);
	if (lib->handle)
		return ST_OK;
	if (broken)
		return error_set(err, ST_UNSUPPORTED, MSG_library_broken, broken);
	return error_set(err, ST_NOTFOUND, MSG_library_missing, first);
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
