/* Saving lines, and waiting with those that cannot be saved. */
#include "coord/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/msg.h"

#define WAITING_LIMIT ((size_t)64 << 20)
#define FILES_LIMIT   ((size_t)256 << 20)

struct kept_file {
	struct kept_file *next;
	char *path;
	size_t len;
	char data[];
};

static void drop_first(struct keeper *k)
{
	struct kept_file *f = k->files;

	k->files = f->next;
	k->file_bytes -= f->len;
	free(f->path);
	free(f);
}

static enum status save_file(const char *path, const char *data, size_t len, struct error *err)
{
	const char *slash = strrchr(path, '/');
	enum status st = slash ? dir_make(tmpf("%.*s", (int)(slash - path), path), err) : ST_OK;

	return st == ST_OK ? file_write(path, data, len, err) : st;
}

static enum status save_files(struct keeper *k, struct error *err)
{
	while (k->files) {
		enum status st = save_file(k->files->path, k->files->data, k->files->len, err);

		if (st != ST_OK)
			return st;
		drop_first(k);
	}
	return k->file_dropped ? error_errno(err, "raw", ENOSPC) : ST_OK;
}

static enum status save_waiting(struct keeper *k, struct error *err)
{
	enum status files = save_files(k, err);

	if (files != ST_OK)
		return files;
	while (k->saved < k->waiting.len) {
		const char *line = k->waiting.data + k->saved;
		size_t len = strcspn(line, "\n");
		enum status st = k->save(k->arg, line, len, err);

		if (st != ST_OK)
			return st;
		k->saved += len + 1;
		k->lines++;
	}
	str_clear(&k->waiting);
	k->saved = 0;
	return ST_OK;
}

bool keeper_add(struct keeper *k, const char *line, size_t len, struct error *err)
{
	bool first = !k->told;

	if (k->waiting.len + len < WAITING_LIMIT) {
		str_addn(&k->waiting, line, len);
		str_addc(&k->waiting, '\n');
	} else {
		k->dropped++;
	}
	if (save_waiting(k, first ? err : NULL) == ST_OK)
		return true;
	k->told = true;
	return !first;
}

static void keep_file(struct keeper *k, const char *path, const void *data, size_t len)
{
	struct kept_file *f;

	if (k->file_bytes + len > FILES_LIMIT) {
		k->file_dropped = true;
		return;
	}
	f = malloc(sizeof(*f) + len);
	if (!f)
		die_nomem();
	*f = (struct kept_file){.path = strdup(path), .len = len};
	if (!f->path)
		die_nomem();
	memcpy(f->data, data, len);
	if (!k->files)
		k->last = &k->files;
	*k->last = f;
	k->last = &f->next;
	k->file_bytes += len;
}

bool keeper_file(struct keeper *k, const char *path, const void *data, size_t len,
                 struct error *err)
{
	bool first = !k->told;

	keep_file(k, path, data, len);
	if (save_waiting(k, first ? err : NULL) == ST_OK)
		return true;
	k->told = true;
	return !first;
}

bool keeper_empty(const struct keeper *k)
{
	return !k->files && !k->file_dropped && k->waiting.len == 0 && k->dropped == 0;
}

enum status keeper_end(struct keeper *k, struct error *err)
{
	struct error why = {0};
	int64_t lost = k->dropped;
	enum status st = save_waiting(k, &why);

	for (size_t i = k->saved; st != ST_OK && i < k->waiting.len; i++)
		lost += k->waiting.data[i] == '\n';
	if (lost)
		st = error_set(err, why.status ? why.status : ST_NOSPACE, MSG_store_failed,
		               tmpf("%lld", (long long)lost), str_text(&why.text));
	while (k->files)
		drop_first(k);
	str_release(&k->waiting);
	error_release(&why);
	return lost ? st : ST_OK;
}
