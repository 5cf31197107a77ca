/* Reading small files of an image that nobody vouches for: links in circles, devices
 * and FIFOs in the place of files, folders without end. Every read has a bound, none
 * waits, and what could not be read is remembered, so that an unreadable tree is not
 * taken for an empty one. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "software.h"

#define NAMES_MOST    300000
#define NOTES_MOST    1000
#define PACKAGES_MOST 200000 /* sound nodes have a hundredth of it */

void *sw_grow(struct arena *arena, void *items, int count, int *cap, size_t size)
{
	void *more;

	if (count < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 16;
	more = arena_array(arena, (size_t)*cap, size);
	if (count)
		memcpy(more, items, (size_t)count * size);
	return more;
}

void sw_add_text(struct sw_scan *s, struct sw_text_list *list, const char *text)
{
	if (list->count >= NOTES_MOST)
		return;
	list->item = sw_grow(s->arena, list->item, list->count, &list->cap, sizeof(*list->item));
	list->item[list->count++] = arena_str(s->arena, text);
}

struct sw_package *sw_add_package(struct sw_scan *s, enum sw_source source)
{
	struct sw_package *p;

	s->packages = sw_grow(s->arena, s->packages, s->n_packages, &s->cap_packages, sizeof(*p));
	p = &s->packages[s->n_packages++];
	*p = (struct sw_package){.source = source};
	return p;
}

bool sw_late(struct sw_scan *s)
{
	if (!s->cut && (clock_now(s->ctx->clock) > s->until_ns || s->n_packages >= PACKAGES_MOST))
		s->cut = true;
	return s->cut;
}

/* --- files ------------------------------------------------------------------------ */

static const char *full_path(struct sw_scan *s, const char *path)
{
	return tmpf("%s%s", s->root, path);
}

static bool read_some(struct str *out, int fd, size_t limit)
{
	char chunk[16384];
	size_t left = limit;

	while (left) {
		ssize_t n = read(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		str_addn(out, chunk, (size_t)n);
		left -= (size_t)n;
	}
	return true;
}

bool sw_read(struct sw_scan *s, struct str *out, const char *path, size_t limit)
{
	int fd = open(full_path(s, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat at;
	bool ok;

	str_clear(out);
	if (fd < 0)
		return false;
	ok = fstat(fd, &at) == 0 && S_ISREG(at.st_mode) && read_some(out, fd, limit);
	close(fd);
	return ok;
}

const char *sw_line(struct sw_scan *s, const char *path)
{
	struct str text = {0};
	const char *kept = NULL;

	if (sw_read(s, &text, path, 4096) && text.len) {
		char *end = text.data + strcspn(text.data, "\n"), *begin = text.data;

		while (begin < end && isspace((unsigned char)*begin))
			begin++;
		while (end > begin && isspace((unsigned char)end[-1]))
			end--;
		if (end > begin)
			kept = arena_strn(s->arena, begin, (size_t)(end - begin));
	}
	str_release(&text);
	return kept;
}

bool sw_stat(struct sw_scan *s, const char *path, struct stat *at)
{
	return stat(full_path(s, path), at) == 0;
}

/* A link in a circle or a closed folder is not an empty place; other people's homes
 * are closed to us and to the jobs we speak of. */
static void note_unreadable(struct sw_scan *s, const char *path, int errnum)
{
	bool home = str_starts(path, "/root") || str_starts(path, "/home/");

	if (errnum == ENOENT || errnum == ENOTDIR || (errnum == EACCES && home))
		return;
	for (int i = 0; i < s->unreadable.count; i++)
		if (str_starts(s->unreadable.item[i], path))
			return;
	sw_add_text(s, &s->unreadable, tmpf("%s: %s", path, strerror(errnum)));
}

bool sw_there(struct sw_scan *s, const char *path)
{
	struct stat at;

	if (sw_stat(s, path, &at))
		return true;
	note_unreadable(s, path, errno);
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *sw_names(struct sw_scan *s, const char *dir)
{
	static const char *const none[] = {NULL};
	DIR *d = opendir(full_path(s, dir));
	const char **names = NULL;
	struct dirent *entry;
	int n = 0, cap = 0;

	if (!d) {
		note_unreadable(s, dir, errno);
		return none;
	}
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		if (n == NAMES_MOST) {
			sw_add_text(s, &s->unreadable, tmpf("%s: more than %d names", dir, n));
			s->cut = true;
			break;
		}
		names = sw_grow(s->arena, names, n, &cap, sizeof(*names));
		names[n++] = arena_str(s->arena, entry->d_name);
	}
	closedir(d);
	names = sw_grow(s->arena, names, n, &cap, sizeof(*names));
	names[n] = NULL;
	qsort(names, (size_t)n, sizeof(*names), by_text);
	return names;
}

const char *sw_env(const struct sw_scan *s, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = s->environment; p && *p; p += strlen(p) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return p + len + 1;
	return NULL;
}

/* --- small texts ------------------------------------------------------------------ */

const char *sw_normal(struct arena *arena, const char *name, size_t len)
{
	char *out = arena_strn(arena, name, len);

	for (char *p = out; *p; p++)
		*p = *p == '_' || *p == '.' ? '-' : (char)tolower((unsigned char)*p);
	return out;
}

const char *sw_header(struct arena *arena, const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; *line && *line != '\n' && *line != '\r';) {
		size_t line_len = strcspn(line, "\n");

		if (strncasecmp(line, key, len) == 0 && line[len] == ':') {
			const char *begin = line + len + 1, *end = line + line_len;

			while (begin < end && isspace((unsigned char)*begin))
				begin++;
			while (end > begin && isspace((unsigned char)end[-1]))
				end--;
			return end > begin ? arena_strn(arena, begin, (size_t)(end - begin)) : NULL;
		}
		line += line_len + (line[line_len] == '\n');
	}
	return NULL;
}

const char *sw_quoted(struct arena *arena, const char *text, const char *word)
{
	const char *p = strstr(text, word), *end;
	size_t line;

	if (!p)
		return NULL;
	p += strlen(word);
	line = strcspn(p, "\n");
	/* The word itself may stand in quotes: 'cuda_version': '12.4'. */
	for (; line && *p && strchr("'\",", *p); p++)
		line--;
	end = p + strcspn(p, "'\"\n,}");
	if (end >= p + line || (*end != '\'' && *end != '"'))
		return NULL;
	p = end + 1;
	end = p + strcspn(p, "'\"\n");
	return end > p && *end != '\n' && *end ? arena_strn(arena, p, (size_t)(end - p)) : NULL;
}

struct sw_bytes sw_part(struct sw_bytes b, size_t at, size_t n)
{
	if (at > b.n || b.n - at < n)
		return (struct sw_bytes){0};
	return (struct sw_bytes){b.at + at, n};
}

uint64_t sw_le(struct sw_bytes b, size_t at, int count)
{
	struct sw_bytes p = sw_part(b, at, (size_t)count);
	uint64_t value = 0;

	for (int i = count; p.at && i-- > 0;)
		value = value << 8 | p.at[i];
	return value;
}

int sw_version_compare(const char *a, const char *b)
{
	while (isdigit((unsigned char)*a) || isdigit((unsigned char)*b)) {
		char *end_a, *end_b;
		unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);

		if (x != y)
			return x < y ? -1 : 1;
		a = *end_a == '.' ? end_a + 1 : "";
		b = *end_b == '.' ? end_b + 1 : "";
	}
	return 0;
}

int sw_major(const char *version)
{
	return version && isdigit((unsigned char)*version) ? atoi(version) : -1;
}

void sw_put_list(struct json_out *j, const char *key, const struct sw_text_list *list, int most)
{
	json_put_int(j, tmpf("%s_count", key), list->count);
	json_array_begin(j, key);
	for (int i = 0; i < list->count && i < most; i++)
		json_put_string(j, NULL, list->item[i]);
	json_array_end(j);
}
