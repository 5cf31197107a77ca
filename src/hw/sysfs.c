/* Reading small kernel files below a root. */
#include "hw/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define READ_LIMIT ((size_t)16 << 20)
#define LINK_LIMIT 4096

static void make_path(struct str *path, const char *root, const char *fmt, va_list ap)
{
	str_add(path, root);
	str_addv(path, fmt, ap);
}

/* First line without surrounding blanks; the pointer is into `line`. */
static const char *trimmed_line(struct str *line, const char *path)
{
	char *begin;

	if (!file_read_line(path, line) || line->len == 0)
		return NULL;
	while (line->len > 0 && isspace((unsigned char)line->data[line->len - 1]))
		line->data[--line->len] = '\0';
	for (begin = line->data; isspace((unsigned char)*begin); begin++)
		;
	return *begin ? begin : NULL;
}

const char *sys_text(struct arena *arena, const char *root, const char *fmt, ...)
{
	struct str path = {0}, line = {0};
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	make_path(&path, root, fmt, ap);
	va_end(ap);
	text = arena_str(arena, trimmed_line(&line, path.data));
	str_release(&path);
	str_release(&line);
	return text;
}

bool sys_read(struct str *out, const char *root, const char *path)
{
	struct str full = {0};
	bool ok;

	str_addf(&full, "%s%s", root, path);
	ok = file_read(out, full.data, READ_LIMIT, NULL) == ST_OK;
	str_release(&full);
	return ok;
}

int64_t sys_number(int64_t fallback, const char *root, const char *fmt, ...)
{
	struct str path = {0}, line = {0};
	const char *text;
	int64_t value = fallback;
	va_list ap;

	va_start(ap, fmt);
	make_path(&path, root, fmt, ap);
	va_end(ap);
	text = trimmed_line(&line, path.data);
	if (text) {
		int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
		char *end;
		long long number = strtoll(text, &end, base);

		if (end != text && *end == '\0')
			value = number;
	}
	str_release(&path);
	str_release(&line);
	return value;
}

bool sys_exists(const char *root, const char *path)
{
	struct str full = {0};
	bool ok;

	str_addf(&full, "%s%s", root, path);
	ok = access(full.data, F_OK) == 0;
	str_release(&full);
	return ok;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* alphasort follows the locale's collation; bytes are the same everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

const char *const *sys_names(struct arena *arena, const char *root, const char *dir)
{
	struct str full = {0};
	struct dirent **entries = NULL;
	const char **names;
	int n;

	str_addf(&full, "%s%s", root, dir);
	n = scandir(full.data, &entries, visible, by_name);
	str_release(&full);
	n = n < 0 ? 0 : n;
	names = arena_array(arena, (size_t)n + 1, sizeof(*names));
	for (int i = 0; i < n; i++) {
		names[i] = arena_str(arena, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return names;
}

const char *sys_link_name(struct arena *arena, const char *root, const char *fmt, ...)
{
	struct str path = {0};
	char target[LINK_LIMIT];
	const char *slash;
	ssize_t len;
	va_list ap;

	va_start(ap, fmt);
	make_path(&path, root, fmt, ap);
	va_end(ap);
	len = readlink(path.data, target, sizeof(target) - 1);
	str_release(&path);
	if (len <= 0)
		return NULL;
	target[len] = '\0';
	slash = strrchr(target, '/');
	return arena_str(arena, slash ? slash + 1 : target);
}

/* A run of `least` to `most` hex digits; moves *p behind it. */
static bool hex_run(const char **p, int least, int most)
{
	int n = 0;

	while (n < most && isxdigit((unsigned char)(*p)[n]))
		n++;
	*p += n;
	return n >= least;
}

bool pci_address_valid(const char *p)
{
	return hex_run(&p, 4, 8) && *p++ == ':' && hex_run(&p, 2, 2) && *p++ == ':' &&
	       hex_run(&p, 2, 2) && *p++ == '.' && hex_run(&p, 1, 1) && *p == '\0';
}

const char *sys_pci_parent(struct arena *arena, const char *root, const char *fmt, ...)
{
	struct str path = {0};
	const char *found = NULL;
	char *real, *rest = NULL;
	va_list ap;

	va_start(ap, fmt);
	make_path(&path, root, fmt, ap);
	va_end(ap);
	real = realpath(path.data, NULL);
	str_release(&path);
	/* The last address on the path is the device itself, earlier ones are
	 * the bridges above it. */
	for (char *word = real ? strtok_r(real, "/", &rest) : NULL; word;
	     word = strtok_r(NULL, "/", &rest))
		if (pci_address_valid(word))
			found = word;
	found = arena_str(arena, found);
	free(real);
	return found;
}

int cpu_list_parse(const char *list, int *cpus, int max)
{
	int n = 0;

	if (!list)
		return -1;
	while (*list) {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (end == list || first < 0)
			return -1;
		if (*end == '-') {
			list = end + 1;
			last = strtol(list, &end, 10);
			if (end == list)
				return -1;
		}
		if (last < first || last >= 1 << 20 || (*end && *end != ','))
			return -1;
		for (long cpu = first; cpu <= last; cpu++, n++)
			if (cpus && n < max)
				cpus[n] = (int)cpu;
		list = *end ? end + 1 : end;
	}
	return n;
}
