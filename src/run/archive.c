#include "run/archive.h"

#include <dirent.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"

#define BLOCK     512
#define CHUNK     ((size_t)1 << 18)
#define MAX_DEPTH 16

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

static unsigned checksum(const struct header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= offsetof(struct header, checksum) && i < offsetof(struct header, type)
		               ? ' '
		               : p[i];
	return sum;
}

/* A name of more than 100 bytes is cut at a slash: prefix and name. */
static bool put_name(struct header *h, const char *name)
{
	size_t len = strlen(name);
	const char *slash = name;

	if (len <= sizeof(h->name)) {
		memcpy(h->name, name, len);
		return true;
	}
	do {
		slash = strchr(slash + 1, '/');
	} while (slash && strlen(slash + 1) > sizeof(h->name));
	if (!slash || (size_t)(slash - name) > sizeof(h->prefix))
		return false;
	memcpy(h->prefix, name, (size_t)(slash - name));
	memcpy(h->name, slash + 1, strlen(slash + 1));
	return true;
}

/* --- listing ------------------------------------------------------------------ */

static enum status digest_of(const char *path, struct archive_file *f, struct error *err)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	enum status st = ST_OK;
	struct sha256 sum;
	struct stat info;
	char *chunk;
	ssize_t n;

	if (fd < 0 || fstat(fd, &info) != 0) {
		st = error_errno(err, path, errno);
		if (fd >= 0)
			close(fd);
		return st;
	}
	if (!S_ISREG(info.st_mode) || info.st_size > ARCHIVE_MEMBER_MAX) {
		close(fd);
		return error_set(err, ST_CORRUPT, MSG_archive_kind, path);
	}
	chunk = malloc(CHUNK);
	if (!chunk)
		die_nomem();
	sha256_init(&sum);
	f->bytes = 0;
	while ((n = read(fd, chunk, CHUNK)) > 0) {
		sha256_add(&sum, chunk, (size_t)n);
		f->bytes += n;
	}
	if (n < 0)
		st = error_errno(err, path, errno);
	sha256_hex(&sum, f->sha256);
	free(chunk);
	close(fd);
	return st;
}

static struct archive_file *list_add(struct archive_list *l, struct arena *arena, const char *name)
{
	if (l->n == l->cap) {
		int64_t cap = l->cap ? 2 * l->cap : 64;
		struct archive_file *more = arena_array(arena, (size_t)cap, sizeof(*more));

		if (l->n)
			memcpy(more, l->files, (size_t)l->n * sizeof(*more));
		l->files = more;
		l->cap = cap;
	}
	l->files[l->n] = (struct archive_file){.name = arena_str(arena, name)};
	return &l->files[l->n++];
}

void archive_add_text(struct archive_list *list, struct arena *arena, const char *name,
                      const char *text)
{
	struct archive_file *f = list_add(list, arena, name);

	f->text = arena_str(arena, text);
	f->bytes = (int64_t)strlen(text);
	sha256_text(text, strlen(text), f->sha256);
}

static enum status add_path(struct archive_list *list, struct arena *arena, const char *dir,
                            const char *name, int depth, struct error *err);

static enum status add_folder(struct archive_list *list, struct arena *arena, const char *dir,
                              const char *name, int depth, struct error *err)
{
	const char *path = arena_strf(arena, "%s/%s", dir, name);
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, NULL);
	enum status st = n < 0 ? error_errno(err, path, errno) : ST_OK;

	for (int i = 0; i < n; i++) {
		const char *entry = entries[i]->d_name;

		if (st == ST_OK && strcmp(entry, ".") != 0 && strcmp(entry, "..") != 0)
			st = add_path(list, arena, dir, arena_strf(arena, "%s/%s", name, entry),
			              depth + 1, err);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return st;
}

static enum status add_path(struct archive_list *list, struct arena *arena, const char *dir,
                            const char *name, int depth, struct error *err)
{
	const char *path = arena_strf(arena, "%s/%s", dir, name);
	struct stat info;

	if (lstat(path, &info) != 0)
		return depth || errno != ENOENT ? error_errno(err, path, errno) : ST_OK;
	if (!S_ISDIR(info.st_mode))
		return digest_of(path, list_add(list, arena, name), err);
	return depth > MAX_DEPTH ? error_set(err, ST_CORRUPT, MSG_archive_kind, path)
	                         : add_folder(list, arena, dir, name, depth, err);
}

enum status archive_add(struct archive_list *list, struct arena *arena, const char *dir,
                        const char *const *names, struct error *err)
{
	enum status st = ST_OK;

	for (; *names && st == ST_OK; names++) {
		size_t len = strlen(*names);
		const char *name = arena_strn(arena, *names, len - ((*names)[len - 1] == '/'));

		st = add_path(list, arena, dir, name, 0, err);
	}
	return st;
}

static int by_name(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void archive_sort(struct archive_list *list)
{
	if (list->n)
		qsort(list->files, (size_t)list->n, sizeof(*list->files), by_name);
}

/* --- writing ------------------------------------------------------------------ */

struct writer {
	int fd;
	const char *path, *top;
};

static enum status put(struct writer *w, const void *data, size_t len, struct error *err)
{
	return fd_write_all(w->fd, data, len) == ST_OK ? ST_OK : error_errno(err, w->path, errno);
}

static enum status put_header(struct writer *w, const char *name, int64_t bytes, struct error *err)
{
	struct header h = {.mode = "0000644", .uid = "0000000", .gid = "0000000", .type = '0'};

	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	memcpy(h.mtime, "00000000000", 12);
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)bytes & 077777777777);
	if (bytes > ARCHIVE_MEMBER_MAX || !put_name(&h, tmpf("%s/%s", w->top, name)))
		return error_set(err, ST_RANGE, MSG_archive_kind, name);
	snprintf(h.checksum, sizeof(h.checksum), "%06o", checksum(&h));
	h.checksum[7] = ' ';
	return put(w, &h, sizeof(h), err);
}

static enum status put_padding(struct writer *w, int64_t bytes, struct error *err)
{
	static const char zeros[BLOCK];
	size_t over = (size_t)(bytes % BLOCK);

	return over ? put(w, zeros, BLOCK - over, err) : ST_OK;
}

static enum status put_file(struct writer *w, const char *dir, const struct archive_file *f,
                            struct error *err)
{
	struct str path = {0};
	struct archive_file now = {0};
	enum status st = put_header(w, f->name, f->bytes, err);
	char *chunk = malloc(CHUNK);
	int64_t left = f->bytes;
	struct sha256 sum;
	ssize_t n = 0;
	int fd;

	if (!chunk)
		die_nomem();
	sha256_init(&sum);
	fd = open(path_join(&path, dir, f->name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (st == ST_OK && fd < 0)
		st = error_errno(err, path.data, errno);
	while (st == ST_OK && left &&
	       (n = read(fd, chunk, left < (int64_t)CHUNK ? (size_t)left : CHUNK)) > 0) {
		sha256_add(&sum, chunk, (size_t)n);
		st = put(w, chunk, (size_t)n, err);
		left -= n;
	}
	sha256_hex(&sum, now.sha256);
	if (st == ST_OK && (left || strcmp(now.sha256, f->sha256) != 0))
		st = error_set(err, ST_CORRUPT, MSG_archive_changed, path.data);
	if (fd >= 0)
		close(fd);
	free(chunk);
	str_release(&path);
	return st == ST_OK ? put_padding(w, f->bytes, err) : st;
}

static enum status put_text(struct writer *w, const char *name, const char *text, struct error *err)
{
	size_t len = strlen(text);
	enum status st = put_header(w, name, (int64_t)len, err);

	if (st == ST_OK)
		st = put(w, text, len, err);
	return st == ST_OK ? put_padding(w, (int64_t)len, err) : st;
}

static enum status put_all(struct writer *w, const char *dir, const char *manifest,
                           const struct archive_list *list, struct error *err)
{
	static const char end[2 * BLOCK];
	enum status st = put_text(w, ARCHIVE_MANIFEST, manifest, err);

	for (int64_t i = 0; i < list->n && st == ST_OK; i++) {
		const struct archive_file *f = &list->files[i];

		st = f->text ? put_text(w, f->name, f->text, err) : put_file(w, dir, f, err);
	}
	if (st == ST_OK)
		st = put(w, end, sizeof(end), err);
	if (st == ST_OK && fsync(w->fd) != 0)
		st = error_errno(err, w->path, errno);
	return st;
}

enum status archive_write(const char *path, const char *top, const char *dir, const char *manifest,
                          const struct archive_list *list, struct error *err)
{
	struct str temporary = {0};
	struct writer w = {.path = path, .top = top};
	enum status st;

	w.fd = file_beside(&temporary, path);
	if (w.fd < 0) {
		st = error_errno(err, path, errno);
		str_release(&temporary);
		return st;
	}
	st = put_all(&w, dir, manifest, list, err);
	close(w.fd);
	if (st == ST_OK && rename(temporary.data, path) != 0)
		st = error_errno(err, path, errno);
	if (st != ST_OK)
		unlink(temporary.data);
	str_release(&temporary);
	return st;
}

/* --- reading ------------------------------------------------------------------ */

struct unpacker {
	int fd;
	const char *path, *dir;
	struct arena *arena;
	const char *top;
	int64_t total;
};

static enum status broken(struct unpacker *u, const char *member, struct error *err)
{
	return error_set(err, ST_CORRUPT, MSG_archive_broken, u->path, member);
}

/* Exactly len bytes. */
static enum status get(struct unpacker *u, void *data, size_t len, struct error *err)
{
	char *to = data;

	while (len) {
		ssize_t n = read(u->fd, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, u->path, errno);
		if (!n)
			return broken(u, "end of file", err);
		to += n;
		len -= (size_t)n;
	}
	return ST_OK;
}

static int64_t octal(const char *text, size_t len)
{
	int64_t value = 0;

	for (size_t i = 0; i < len && text[i] && text[i] != ' '; i++) {
		if (text[i] < '0' || text[i] > '7')
			return -1;
		value = value * 8 + text[i] - '0';
	}
	return value;
}

/* Relative, printable, and no component that is empty, "." or "..". */
static bool name_is_plain(const char *name)
{
	for (const char *p = name;; p++) {
		size_t len = strcspn(p, "/");

		if (!len || (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.'))))
			return false;
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)p[i] < ' ' || p[i] == 0x7f || p[i] == '\\')
				return false;
		p += len;
		if (!*p)
			return true;
	}
}

static enum status get_data(struct unpacker *u, int fd, const char *path, int64_t bytes,
                            struct error *err)
{
	char *chunk = malloc(CHUNK);
	enum status st = ST_OK;

	if (!chunk)
		die_nomem();
	while (bytes && st == ST_OK) {
		size_t n = bytes < (int64_t)CHUNK ? (size_t)bytes : CHUNK;

		st = get(u, chunk, n, err);
		if (st == ST_OK && fd_write_all(fd, chunk, n) != ST_OK)
			st = error_errno(err, path, errno);
		bytes -= (int64_t)n;
	}
	free(chunk);
	return st;
}

static enum status unpack_member(struct unpacker *u, const struct header *h, struct error *err)
{
	int64_t bytes = octal(h->size, sizeof(h->size));
	const char *name = h->prefix[0] ? arena_strf(u->arena, "%.155s/%.100s", h->prefix, h->name)
	                                : arena_strf(u->arena, "%.100s", h->name);
	const char *slash = strchr(name, '/');
	struct str path = {0};
	char padding[BLOCK];
	enum status st;
	int fd;

	if (h->type != '0' || bytes < 0 || bytes > ARCHIVE_MEMBER_MAX || !name_is_plain(name) ||
	    !slash || (u->total += bytes) > 16 * ARCHIVE_MEMBER_MAX)
		return broken(u, name_is_plain(name) ? name : "name", err);
	if (!u->top)
		u->top = arena_strn(u->arena, name, (size_t)(slash - name));
	if (strlen(u->top) != (size_t)(slash - name) || strncmp(u->top, name, strlen(u->top)) != 0)
		return broken(u, name, err);
	path_join(&path, u->dir, name);
	*strrchr(path.data, '/') = 0;
	st = dir_make(path.data, err);
	path_join(&path, u->dir, name);
	fd = st == ST_OK
	             ? open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
	             : -1;
	if (st == ST_OK && fd < 0)
		st = errno == EEXIST ? broken(u, name, err) : error_errno(err, path.data, errno);
	if (st == ST_OK)
		st = get_data(u, fd, path.data, bytes, err);
	if (fd >= 0 && close(fd) != 0 && st == ST_OK)
		st = error_errno(err, path.data, errno);
	str_release(&path);
	return st == ST_OK && bytes % BLOCK ? get(u, padding, BLOCK - (size_t)(bytes % BLOCK), err)
	                                    : st;
}

static enum status unpack(struct unpacker *u, struct error *err)
{
	static const struct header none;
	struct header h;
	enum status st = ST_OK;

	while (st == ST_OK) {
		st = get(u, &h, sizeof(h), err);
		if (st == ST_OK && memcmp(&h, &none, sizeof(h)) == 0)
			return u->top ? ST_OK : broken(u, "nothing", err);
		if (st == ST_OK && (memcmp(h.magic, "ustar", 6) != 0 ||
		                    octal(h.checksum, sizeof(h.checksum)) != checksum(&h)))
			st = broken(u, "header", err);
		if (st == ST_OK)
			st = unpack_member(u, &h, err);
	}
	return st;
}

enum status archive_unpack(const char *path, const char *dir, struct arena *arena, const char **top,
                           struct error *err)
{
	struct unpacker u = {.path = path, .dir = dir, .arena = arena};
	enum status st;

	u.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (u.fd < 0)
		return error_errno(err, path, errno);
	st = unpack(&u, err);
	close(u.fd);
	*top = u.top;
	return st;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

void archive_remove(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
