/* Opening a run: the text is read, cut into lines, digested in a second thread
 * while this one parses; then both results are put together. The text is read
 * and not mapped, so that a file that shrinks or a disk that fails is an error
 * and not a signal. */
#include "run/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unit.h"
#include "run/attempts.h"
#include "run/chain.h"
#include "run/line.h"
#include "run/run_json.h"
#include "run/verify_raw.h"

#define RUN_FILE_LIMIT ((size_t)16 << 20)
/* 10,000 nodes of 8 cards write about 1 GB; it is read as a whole. */
#define JOURNAL_LIMIT ((size_t)4 << 30)

/* What opening collects besides the run itself. */
struct opening {
	struct rundir *run;
	const char *journal; /* path, for messages */
	int flags;
	char run_sha256[SHA256_HEX]; /* of run.json */
	struct lines lines;
	struct chain chain;
	struct line_parser parser;
	struct intern intern;
	bool started;              /* line 1 is a start line */
	bool run_changed;          /* run.json is not what the start line digests */
	bool ended;                /* the last line is an end line */
	int64_t count_at, counted; /* first end line with a wrong count; its count */
	int64_t bad_at;            /* first line that cannot be used, 0: none */
	const char *bad_why;
	bool bad_newer;
	int64_t resumes_cap, done_cap;
	int64_t *resumed_at; /* from malloc until finished */
	const char **done;
};

/* --- reading the files ------------------------------------------------------------ */

static enum status load_run_json(struct opening *o, struct error *err)
{
	struct str path = {0}, text = {0};
	enum status st;

	st = file_read(&text, path_join(&path, o->run->path, RUN_FILE), RUN_FILE_LIMIT, err);
	if (st == ST_OK)
		st = run_json_parse(&o->run->info, &o->run->arena, path.data, str_text(&text),
		                    text.len, err);
	sha256_text(str_text(&text), text.len, o->run_sha256);
	str_release(&text);
	str_release(&path);
	return st;
}

static enum status read_fully(struct rundir *run, int fd, size_t size, const char *path,
                              struct error *err)
{
	size_t have = 0;
	void *map;

	if (size == 0)
		return ST_OK;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return error_errno(err, path, errno);
	while (have < size) {
		ssize_t n = read(fd, (char *)map + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int failed = errno;

			munmap(map, size);
			return error_errno(err, path, failed);
		}
		if (n == 0)
			break; /* it shrank: the rest stays NULs, which is a torn line */
		have += (size_t)n;
	}
	run->map = map;
	run->map_len = size;
	return ST_OK;
}

static enum status load_journal(struct rundir *run, const char *path, struct error *err)
{
	struct stat info;
	enum status st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_errno(err, path, errno);
	if (fstat(fd, &info) != 0)
		st = error_errno(err, path, errno);
	else if (!S_ISREG(info.st_mode))
		st = error_set(err, ST_PARSE, MSG_journal_not_file, path);
	else if ((size_t)info.st_size > JOURNAL_LIMIT)
		st = error_set(err, ST_RANGE, MSG_file_too_large, path, fmt_bytes(JOURNAL_LIMIT));
	else
		st = read_fully(run, fd, (size_t)info.st_size, path, err);
	close(fd);
	return st;
}

/* --- lines -------------------------------------------------------------------------- */

static void *grow(void *list, int64_t count, int64_t *cap, size_t size)
{
	if (count < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 64;
	list = reallocarray(list, (size_t)*cap, size);
	if (!list)
		die_nomem();
	return list;
}

static void note_bad(struct opening *o, int64_t number, const char *why, bool newer)
{
	if (o->bad_at)
		return;
	o->bad_at = number;
	o->bad_why = arena_str(&o->run->arena, why);
	o->bad_newer = newer;
}

static void take_own(struct opening *o, int64_t number, const struct line *line)
{
	struct rundir *run = o->run;

	switch (line->kind) {
	case LINE_START:
		o->started = number == 1;
		o->run_changed = number == 1 && strcmp(line->run_sha256, o->run_sha256) != 0;
		break;
	case LINE_RESUME:
		o->resumed_at = grow(o->resumed_at, run->n_resumes, &o->resumes_cap,
		                     sizeof(*o->resumed_at));
		o->resumed_at[run->n_resumes++] = run->n_readings;
		break;
	case LINE_WORK:
		if (strcmp(line->state, "done") == 0) {
			o->done = grow(o->done, run->n_done, &o->done_cap, sizeof(*o->done));
			o->done[run->n_done++] = line->work;
		}
		break;
	case LINE_END:
		if (line->readings != run->n_readings && !o->count_at) {
			o->count_at = number;
			o->counted = line->readings;
		}
		break;
	case LINE_READING:
	case LINE_OTHER:
		break;
	}
}

static void take_line(struct opening *o, int64_t number, const char *text, size_t len)
{
	struct rundir *run = o->run;
	struct line line;

	o->ended = false;
	if (line_parse(&o->parser, &line, text, len) != ST_OK) {
		note_bad(o, number, o->parser.why, o->parser.newer);
		return;
	}
	if (line.reading.time)
		run->ended = line.reading.time;
	o->ended = line.kind == LINE_END;
	if (line.kind == LINE_READING)
		run->readings[run->n_readings++] = line.reading;
	else
		take_own(o, number, &line);
}

static void take_lines(struct opening *o)
{
	struct rundir *run = o->run;
	int64_t n = o->lines.count;

	o->intern.arena = &run->arena;
	o->parser = (struct line_parser){.arena = &run->arena, .intern = &o->intern};
	run->readings = arena_array(&run->arena, (size_t)n, sizeof(*run->readings));
	for (int64_t i = 0; i < n; i++) {
		size_t len;
		const char *text = lines_at(&o->lines, i, &len);

		take_line(o, i + 1, text, len);
	}
	run->resumed_at = arena_array(&run->arena, (size_t)run->n_resumes, sizeof(int64_t));
	run->done = arena_array(&run->arena, (size_t)run->n_done, sizeof(char *));
	if (run->n_resumes)
		memcpy((void *)run->resumed_at, o->resumed_at,
		       (size_t)run->n_resumes * sizeof(int64_t));
	if (run->n_done)
		memcpy((void *)run->done, o->done, (size_t)run->n_done * sizeof(char *));
}

/* --- what it amounts to --------------------------------------------------------------- */

static const char *number(int64_t n)
{
	return tmpf("%lld", (long long)n);
}

static void settle(struct rundir *run, enum journal_state state, const char *trouble)
{
	run->state = state;
	run->trouble = arena_str(&run->arena, trouble);
}

/* Whether something does not fit together; settles the state if so. */
static bool altered(struct opening *o)
{
	const struct chain *c = &o->chain;

	if (c->broken)
		settle(o->run, JOURNAL_ALTERED,
		       c->broken_form ? say(MSG_chain_form, JOURNAL_FILE, number(c->broken))
		                      : say(MSG_chain_digest, JOURNAL_FILE, number(c->broken - 1),
		                            number(c->broken)));
	else if (o->bad_at && o->bad_at == o->lines.count && !o->bad_newer)
		/* No later line vouches for the last one. */
		settle(o->run, JOURNAL_ALTERED,
		       say(MSG_line_at, JOURNAL_FILE, number(o->bad_at), o->bad_why));
	else if (!o->bad_at && o->run_changed)
		settle(o->run, JOURNAL_ALTERED, say(MSG_run_changed, RUN_FILE));
	else if (!o->bad_at && o->count_at)
		settle(o->run, JOURNAL_ALTERED,
		       say(MSG_end_count, JOURNAL_FILE, number(o->count_at), number(o->counted)));
	else
		return false;
	return true;
}

static enum status conclude(struct opening *o, struct error *err)
{
	struct rundir *run = o->run;
	size_t torn = run->map_len - run->whole_len;

	run->digest = arena_str(&run->arena, o->chain.head);
	if (!o->started && o->chain.linked == 0 && !o->bad_newer) {
		settle(run, JOURNAL_UNREADABLE,
		       o->lines.count == 0 ? say(MSG_journal_no_line, JOURNAL_FILE)
		                           : say(MSG_journal_no_start, JOURNAL_FILE));
		return ST_OK;
	}
	if (altered(o))
		return ST_OK;
	if (o->bad_at)
		return error_set(err, ST_PARSE, MSG_line_at, o->journal, number(o->bad_at),
		                 o->bad_why);
	if (!o->started)
		settle(run, JOURNAL_ALTERED, say(MSG_journal_no_start, JOURNAL_FILE));
	else if (torn)
		settle(run, JOURNAL_CUT,
		       say(MSG_journal_torn, JOURNAL_FILE, number(run->n_lines + 1),
		           number((int64_t)torn)));
	else
		run->state = o->ended ? JOURNAL_INTACT : JOURNAL_CUT;
	return ST_OK;
}

static enum status read_run(struct opening *o, struct error *err)
{
	struct rundir *run = o->run;
	enum status st = load_run_json(o, err);
	const char *trouble;

	if (st == ST_OK)
		st = load_journal(run, o->journal, err);
	if (st != ST_OK)
		return st;
	lines_index(&o->lines, run->map, run->map_len);
	run->n_lines = o->lines.count;
	run->whole_len = o->lines.starts[o->lines.count];
	chain_start(&o->chain, &o->lines, o->flags & RUNDIR_CHAIN);
	take_lines(o);
	chain_wait(&o->chain);
	st = conclude(o, err);
	if (st != ST_OK || !(o->flags & RUNDIR_RAW) || run->state == JOURNAL_ALTERED)
		return st;
	trouble = raw_trouble(run);
	if (trouble)
		settle(run, JOURNAL_ALTERED, trouble);
	return ST_OK;
}

enum status rundir_open(struct rundir *run, const char *path, int flags, struct error *err)
{
	struct opening o = {.run = run, .flags = flags};
	struct str journal = {0};
	enum status st;

	*run = (struct rundir){0};
	run->path = arena_str(&run->arena, path);
	run->works = works_new(&run->arena);
	o.journal = path_join(&journal, path, JOURNAL_FILE);
	st = read_run(&o, err);
	lines_release(&o.lines);
	intern_release(&o.intern);
	free(o.resumed_at);
	free(o.done);
	str_release(&journal);
	if (st != ST_OK)
		rundir_close(run);
	return st;
}

void rundir_close(struct rundir *run)
{
	if (run->map)
		munmap(run->map, run->map_len);
	arena_release(&run->arena);
	*run = (struct rundir){0};
}
