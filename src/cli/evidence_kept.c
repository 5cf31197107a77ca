/* Keeping evidence and finding it again; see evidence_kept.h. The list of options is
 * replayed as if they had been typed, so that there is one way to read evidence. */
#include "cli/evidence_kept.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/evidence_cost.h"
#include "run/archive.h"
#include "run/line.h"
#include "service/heartbeat.h"

#define KEPT_VERSION 1
#define FOLDER_NEW   EVIDENCE_FOLDER ".new"
#define NAME_MOST    60 /* of a copy, so that it fits into an archive */

/* Options that name files; the others are kept as texts. */
static const char files_of[] = "availability|causes|tickets|quote|bill|usage|vendor-report";

static const struct option_row kept_rows[] = {
	EVIDENCE_OPTIONS,
	/* A bill is what it was when it was kept. */
	{"as-of", OPTION_TEXT, "TIME", 0, 0, NULL, MSG_opt_as_of},
	{0},
};

/* --- keeping ---------------------------------------------------------------------- */

struct keeper {
	const char *dir; /* of the run */
	struct str folder;
	struct json_out j;
	struct arena arena;
	struct archive_list list; /* the copies */
	int n;
};

static enum status copy_file(const char *from, const char *to, struct error *err)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out;
	char part[1 << 16];
	ssize_t n = 0;
	enum status st = ST_OK;

	if (in < 0)
		return error_errno(err, from, errno);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0)
		st = error_errno(err, to, errno);
	while (st == ST_OK && (n = read(in, part, sizeof(part))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			st = error_errno(err, from, errno);
		else if (fd_write_all(out, part, (size_t)n) != ST_OK)
			st = error_errno(err, to, errno);
	}
	if (out >= 0 && st == ST_OK && fsync(out) != 0)
		st = error_errno(err, to, errno);
	if (out >= 0 && close(out) != 0 && st == ST_OK)
		st = error_errno(err, to, errno);
	close(in);
	return st;
}

/* "1-bill.csv": what every file system and archive can have as a name. */
static const char *copy_name(struct keeper *k, const char *value)
{
	char *path = arena_str(&k->arena, value), *base = basename(path);
	char *name = arena_strf(&k->arena, "%d-%.*s", ++k->n, NAME_MOST, base);

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(".-_", *p))
			*p = '_';
	return name;
}

/* Of a folder: the logs of a watch, or the record of another run. */
static int is_evidence(const struct dirent *entry)
{
	return str_ends(entry->d_name, HEARTBEAT_ENDING) || strcmp(entry->d_name, RUN_FILE) == 0 ||
	       strcmp(entry->d_name, JOURNAL_FILE) == 0;
}

static enum status copy_folder(const char *from, const char *to, struct error *err)
{
	struct dirent **names;
	struct str source = {0}, copy = {0};
	enum status st = dir_make(to, err);
	int n = st == ST_OK ? scandir(from, &names, is_evidence, alphasort) : 0;

	if (n < 0)
		return error_errno(err, from, errno);
	for (int i = 0; i < n; i++) {
		if (st == ST_OK)
			st = copy_file(path_join(&source, from, names[i]->d_name),
			               path_join(&copy, to, names[i]->d_name), err);
		free(names[i]);
	}
	if (n)
		free(names);
	str_release(&source);
	str_release(&copy);
	return st;
}

static void put_option(struct keeper *k, const char *option, const char *value, const char *file)
{
	json_object_begin(&k->j, NULL);
	json_put_string(&k->j, "option", option);
	json_put_string(&k->j, "value", value);
	if (file)
		json_put_string(&k->j, "file", file);
	json_object_end(&k->j);
}

static enum status keep_one(struct keeper *k, const char *option, const char *value,
                            struct error *err)
{
	const char *name;
	struct str copy = {0};
	struct stat info;
	enum status st;

	if (!word_in(files_of, option)) {
		put_option(k, option, value, NULL);
		return ST_OK;
	}
	if (stat(value, &info) != 0)
		return error_errno(err, value, errno);
	name = copy_name(k, value);
	path_join(&copy, k->folder.data, name);
	st = S_ISDIR(info.st_mode) ? copy_folder(value, copy.data, err)
	                           : copy_file(value, copy.data, err);
	if (st == ST_OK)
		put_option(k, option, value, arena_strf(&k->arena, "%s/%s", EVIDENCE_FOLDER, name));
	str_release(&copy);
	return st;
}

static enum status keep_time(struct keeper *k, const struct options *o, struct error *err)
{
	const char *bill = option_text(o, "bill", NULL);
	struct str text = {0};
	int64_t as_of = 0;
	enum status st;

	if (!bill)
		return ST_OK;
	st = cost_as_of(o, bill, &as_of, err);
	if (st == ST_OK) {
		time_add_utc(&text, as_of * NS_PER_S);
		put_option(k, "as-of", text.data, NULL);
	}
	str_release(&text);
	return st;
}

static enum status keep_all(struct keeper *k, const struct options *o, struct error *err)
{
	static const char *const copies[] = {FOLDER_NEW "/", NULL};
	enum status st = dir_make(k->folder.data, err);

	json_object_begin(&k->j, NULL);
	json_put_int(&k->j, "v", KEPT_VERSION);
	json_array_begin(&k->j, "options");
	for (const struct option_row *row = kept_rows; row->name && st == ST_OK; row++) {
		int n = 0;
		const char *const *values;

		if (strcmp(row->name, "as-of") == 0)
			continue;
		values = option_list(o, row->name, &n);
		for (int i = 0; i < n && st == ST_OK; i++)
			st = keep_one(k, row->name, values[i], err);
	}
	if (st == ST_OK)
		st = keep_time(k, o, err);
	json_array_end(&k->j);
	if (st == ST_OK)
		st = archive_add(&k->list, &k->arena, k->dir, copies, err);
	return st;
}

static void put_files(struct keeper *k)
{
	json_array_begin(&k->j, "files");
	for (int64_t i = 0; i < k->list.n; i++) {
		const struct archive_file *f = &k->list.files[i];

		json_object_begin(&k->j, NULL);
		json_put_string(&k->j, "name",
		                arena_strf(&k->arena, "%s%s", EVIDENCE_FOLDER,
		                           f->name + strlen(FOLDER_NEW)));
		json_put_int(&k->j, "bytes", f->bytes);
		json_put_string(&k->j, "sha256", f->sha256);
		json_object_end(&k->j);
	}
	json_array_end(&k->j);
	json_object_end(&k->j);
	str_addc(k->j.out, '\n');
}

/* The list goes first and comes last: without it there is no evidence. */
static enum status put_in_place(struct keeper *k, struct error *err)
{
	struct str list = {0}, folder = {0};
	enum status st = ST_OK;

	path_join(&list, k->dir, EVIDENCE_FILE);
	path_join(&folder, k->dir, EVIDENCE_FOLDER);
	if (unlink(list.data) != 0 && errno != ENOENT)
		st = error_errno(err, list.data, errno);
	if (st == ST_OK)
		archive_remove(folder.data);
	if (st == ST_OK && rename(k->folder.data, folder.data) != 0)
		st = error_errno(err, folder.data, errno);
	if (st == ST_OK)
		st = file_write(list.data, str_text(k->j.out), k->j.out->len, err);
	str_release(&list);
	str_release(&folder);
	return st;
}

enum status evidence_keep(const char *dir, const struct options *options, struct error *err)
{
	struct str text = {0};
	struct keeper k = {.dir = dir, .j = json_writer(&text, 1)};
	enum status st;

	/* Beside the old ones, which may be what is given. */
	path_join(&k.folder, dir, FOLDER_NEW);
	archive_remove(k.folder.data);
	st = keep_all(&k, options, err);
	if (st == ST_OK) {
		put_files(&k);
		st = put_in_place(&k, err);
	}
	if (st != ST_OK)
		archive_remove(k.folder.data);
	str_release(&k.folder);
	str_release(&text);
	arena_release(&k.arena);
	return st;
}

/* --- taking ----------------------------------------------------------------------- */

/* Below the folder and nowhere else: the list may come out of anybody's archive. */
static bool is_within(const char *file)
{
	if (!str_starts(file, EVIDENCE_FOLDER "/"))
		return false;
	for (const char *p = file; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (*p == '/' || *p == '\0' || strcmp(p, ".") == 0 || strcmp(p, "..") == 0 ||
		    str_starts(p, "../") || str_starts(p, "./"))
			return false;
	}
	return true;
}

static int row_of(const char *name)
{
	for (int i = 0; kept_rows[i].name; i++)
		if (name && strcmp(kept_rows[i].name, name) == 0)
			return i;
	return -1;
}

static bool add_option(struct options *o, struct rundir *run, const cJSON *item)
{
	const char *value = json_string(item, "value", NULL);
	const char *file = json_string(item, "file", NULL);
	int row = row_of(json_string(item, "option", NULL));

	if (row < 0 || !value || o->count[row] == MAX_VALUES - 1)
		return false;
	if (word_in(files_of, kept_rows[row].name) != (file != NULL) || (file && !is_within(file)))
		return false;
	o->values[row][o->count[row]++] = file ? arena_strf(&run->arena, "%s/%s", run->path, file)
	                                       : arena_str(&run->arena, value);
	return true;
}

static enum status replay(struct options *o, struct rundir *run, const struct json_doc *doc,
                          struct error *err)
{
	const cJSON *item, *list = json_get(doc->root, "options");
	int64_t version = json_int64(doc->root, "v", 0);

	if (version > KEPT_VERSION)
		return error_set(err, ST_PARSE, MSG_run_newer, doc->name,
		                 tmpf("%lld", (long long)version), tmpf("%d", KEPT_VERSION));
	if (version < 1 || !cJSON_IsArray(list) || !cJSON_IsArray(json_get(doc->root, "files")))
		return error_set(err, ST_PARSE, MSG_evidence_form, doc->name);
	memcpy(o->rows, kept_rows, sizeof(kept_rows));
	cJSON_ArrayForEach(item, list)
	{
		if (!add_option(o, run, item))
			return error_set(err, ST_PARSE, MSG_evidence_form, json_place(doc, item));
	}
	return ST_OK;
}

/* Both lists have nearly one order: the next is a good guess. */
static const struct evidence_file *used_as(const struct evidence_file *used, int n, int *next,
                                           const struct rundir *run, const char *name)
{
	for (int k = 0; k < n; k++) {
		int i = (*next + k) % n;

		if (strcmp(used[i].file + strlen(run->path) + 1, name) != 0)
			continue;
		*next = i + 1;
		return &used[i];
	}
	return NULL;
}

/* Every file that was kept is as it was, and nothing else was used. */
static enum status check_files(const struct evidence_file *used, int n, const struct rundir *run,
                               const struct json_doc *doc, struct error *err)
{
	const cJSON *files = json_get(doc->root, "files"), *f;
	enum status st = ST_OK;
	int known = 0, next = 0;

	cJSON_ArrayForEach(f, files)
	{
		const char *name = json_string(f, "name", "");
		const struct evidence_file *u = used_as(used, n, &next, run, name);
		char hex[SHA256_HEX] = "";
		int64_t bytes;

		if (st == ST_OK && !u && is_within(name))
			st = evidence_digest(tmpf("%s/%s", run->path, name), hex, &bytes, err);
		if (st == ST_OK && strcmp(u ? u->sha256 : hex, json_string(f, "sha256", "")) != 0)
			st = error_set(err, ST_CORRUPT, MSG_evidence_altered, name);
		known += u != NULL;
	}
	if (st == ST_OK && known != n)
		st = error_set(err, ST_CORRUPT, MSG_evidence_altered, EVIDENCE_FOLDER);
	return st;
}

/* As it was given, not as the copy is called. */
static void name_as_given(struct evidence_file *used, int n, struct rundir *run,
                          const struct json_doc *doc)
{
	const cJSON *item;

	for (int i = 0; i < n; i++) {
		const char *file = used[i].file + strlen(run->path) + 1;

		cJSON_ArrayForEach(item, json_get(doc->root, "options"))
		{
			const char *copy = json_string(item, "file", NULL);
			size_t len = copy ? strlen(copy) : 0;

			if (len && strncmp(file, copy, len) == 0 &&
			    (!file[len] || file[len] == '/'))
				used[i].file =
					arena_strf(&run->arena, "%s%s",
				                   json_string(item, "value", ""), file + len);
		}
	}
}

static enum status take(struct rundir *run, const char *config_dir, const struct json_doc *doc,
                        struct evidence_file **files, int *n, struct error *err)
{
	struct options *o = arena_alloc(&run->arena, sizeof(*o));
	const struct evidence_file *taken;
	enum status st = replay(o, run, doc, err);

	if (st == ST_OK)
		st = evidence_take(run, o, config_dir, &taken, n, err);
	if (st != ST_OK)
		return st;
	*files = arena_array(&run->arena, (size_t)*n + 1, sizeof(**files));
	if (*n)
		memcpy(*files, taken, (size_t)*n * sizeof(**files));
	st = check_files(*files, *n, run, doc, err);
	if (st == ST_OK)
		name_as_given(*files, *n, run, doc);
	return st;
}

enum status evidence_take_kept(struct rundir *run, const char *config_dir,
                               const struct evidence_file **files, int *n, struct error *err)
{
	struct evidence_file *used = NULL;
	struct str path = {0};
	struct json_doc doc;
	enum status st = ST_OK;

	*files = NULL;
	*n = 0;
	path_join(&path, run->path, EVIDENCE_FILE);
	if (access(path.data, F_OK) == 0 || errno != ENOENT) {
		st = json_load(&doc, path.data, JSON_STRICT, err);
		if (st == ST_OK) {
			st = take(run, config_dir, &doc, &used, n, err);
			json_release(&doc);
		}
	}
	*files = used;
	str_release(&path);
	return st;
}
