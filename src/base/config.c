/* Configuration files: those built in, and a directory that may override any
 * of them file by file. */
#include "base/config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define CONFIG_LIMIT ((size_t)16 << 20)

enum status config_read(struct str *out, struct str *where, const char *dir, const char *name,
                        struct error *err)
{
	if (dir) {
		struct error trouble = {0};
		enum status st;

		path_join(where, dir, name);
		st = file_read(out, where->data, CONFIG_LIMIT, &trouble);
		if (st != ST_NOTFOUND) {
			if (st != ST_OK)
				error_set(err, st, MSG_path_error, where->data,
				          str_text(&trouble.text));
			error_release(&trouble);
			return st;
		}
		error_release(&trouble);
	}
	for (const struct embedded_file *f = embedded_files; f->name; f++) {
		if (strcmp(f->name, name) == 0) {
			str_clear(where);
			str_addf(where, "built-in:%s", name);
			str_addn(out, f->data, f->len);
			return ST_OK;
		}
	}
	return error_set(err, ST_NOTFOUND, MSG_config_missing, name, dir ? dir : "built-in");
}

struct names {
	char **list;
	size_t count;
};

/* Adds the part of file between folder and ending, once. */
static void add_name(struct names *n, const char *file, const char *ending)
{
	size_t len = strlen(file) - strlen(ending);

	for (size_t i = 0; i < n->count; i++)
		if (strlen(n->list[i]) == len && strncmp(n->list[i], file, len) == 0)
			return;
	n->list = realloc(n->list, (n->count + 2) * sizeof(*n->list));
	if (!n->list)
		die_nomem();
	n->list[n->count] = strndup(file, len);
	if (!n->list[n->count])
		die_nomem();
	n->list[++n->count] = NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **config_list(const char *dir, const char *folder, const char *ending)
{
	struct names n = {.list = calloc(1, sizeof(*n.list))};
	size_t prefix = strlen(folder) + 1;
	struct str path = {0};
	DIR *d = NULL;

	if (!n.list)
		die_nomem();
	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (str_starts(f->name, folder) && f->name[prefix - 1] == '/' &&
		    str_ends(f->name, ending) && !strchr(f->name + prefix, '/'))
			add_name(&n, f->name + prefix, ending);
	if (dir)
		d = opendir(path_join(&path, dir, folder));
	if (d) {
		struct dirent *entry;

		while ((entry = readdir(d)))
			if (str_ends(entry->d_name, ending) && entry->d_name[0] != '.')
				add_name(&n, entry->d_name, ending);
		closedir(d);
	}
	str_release(&path);
	qsort(n.list, n.count, sizeof(*n.list), by_name);
	return n.list;
}

void config_list_free(char **names)
{
	for (char **p = names; p && *p; p++)
		free(*p);
	free(names);
}
