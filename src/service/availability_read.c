/* Finding and reading the logs of a watch. */
#include "service/availability_read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct taking {
	struct watched *w;
	int from; /* streams of earlier files end here */
};

static struct observed *stream_of(struct taking *t, const struct heartbeat *b)
{
	struct watched *w = t->w;
	struct observed *o;

	for (int i = t->from; i < w->count; i++)
		if (strcmp(w->list[i].node, b->node) == 0 &&
		    strcmp(w->list[i].observer, b->observer) == 0)
			return &w->list[i];
	if (w->count == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 32;
		w->list = reallocarray(w->list, (size_t)w->cap, sizeof(*w->list));
		if (!w->list)
			die_nomem();
	}
	o = &w->list[w->count++];
	*o = (struct observed){.node = strdup(b->node),
	                       .observer = strdup(b->observer),
	                       .outside = strcmp(b->node, b->observer) != 0};
	if (!o->node || !o->observer)
		die_nomem();
	return o;
}

static enum status take_beat(void *arg, const struct heartbeat *b, int64_t line, struct error *err)
{
	(void)line;
	(void)err;
	/* Of the file, not of a node. */
	if (b->kind == BEAT_SEAL)
		return ST_OK;
	observed_beat(stream_of(arg, b), b);
	return ST_OK;
}

static void add_note(struct watched *w, enum msg id, const char *const *args)
{
	const char **grown = arena_array(w->arena, (size_t)w->n_notes + 1, sizeof(*grown));
	struct str text = {0};

	msg_add_list(&text, id, args);
	if (w->n_notes)
		memcpy(grown, w->notes, (size_t)w->n_notes * sizeof(*grown));
	grown[w->n_notes++] = arena_str(w->arena, str_text(&text));
	w->notes = grown;
	str_release(&text);
}

static enum status read_file(struct watched *w, const char *path, struct error *err)
{
	struct taking t = {w, w->count};
	struct heartbeat_file file;
	enum status st = heartbeat_read(path, &file, take_beat, &t, err);

	if (st != ST_OK)
		return st;
	if (file.torn)
		add_note(w, MSG_heartbeat_torn,
		         (const char *const[]){path, tmpf("%lld", (long long)file.lines + 1),
		                               tmpf("%lld", (long long)file.torn), NULL});
	for (int i = t.from; i < w->count; i++)
		spans_settle(&w->list[i].spans);
	return ST_OK;
}

static int is_log(const struct dirent *entry)
{
	return str_ends(entry->d_name, HEARTBEAT_ENDING);
}

static enum status read_dir(struct watched *w, const char *dir, struct error *err)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_log, alphasort);
	enum status st = ST_OK;

	if (n < 0)
		return error_errno(err, dir, errno);
	if (n == 0)
		st = error_set(err, ST_NOTFOUND, MSG_availability_no_log, dir, HEARTBEAT_ENDING);
	for (int i = 0; i < n; i++) {
		if (st == ST_OK)
			st = read_file(w, arena_strf(w->arena, "%s/%s", dir, names[i]->d_name),
			               err);
		free(names[i]);
	}
	free(names);
	return st;
}

/* Nobody who never knew the time can vouch for any. */
static void drop_unbegun(struct watched *w)
{
	int kept = 0;

	for (int i = 0; i < w->count; i++)
		if (w->list[i].begun)
			w->list[kept++] = w->list[i];
		else
			observed_release(&w->list[i]);
	w->count = kept;
}

enum status watched_read(struct watched *w, const char *const *paths, int n_paths,
                         struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; i < n_paths && st == ST_OK; i++) {
		struct stat at;

		if (stat(paths[i], &at) != 0)
			return error_errno(err, paths[i], errno);
		st = S_ISDIR(at.st_mode) ? read_dir(w, paths[i], err) : read_file(w, paths[i], err);
	}
	drop_unbegun(w);
	if (st == ST_OK && w->count == 0)
		st = error_set(err, ST_NOTFOUND, MSG_availability_no_beats, paths[0]);
	return st;
}

void watched_release(struct watched *w)
{
	for (int i = 0; i < w->count; i++)
		observed_release(&w->list[i]);
	free(w->list);
	w->list = NULL;
	w->count = w->cap = 0;
}
