/* Our own log of starts and stops; see usage.h. */
#include "service/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/causes.h"
#include "service/sheet.h"

static int by_resource(const void *a, const void *b)
{
	const struct usage_run *x = a, *y = b;
	int order = strcmp(x->resource, y->resource);

	if (order)
		return order;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_run(struct usage *u, struct usage_run run)
{
	if (u->n_runs == u->cap_runs) {
		u->cap_runs = u->cap_runs ? u->cap_runs * 2 : 64;
		u->runs = reallocarray(u->runs, (size_t)u->cap_runs, sizeof(*u->runs));
		if (!u->runs)
			die_nomem();
	}
	u->runs[u->n_runs++] = run;
}

static enum status take_line(struct usage *u, const struct sheet *s, const int at[4],
                             struct error *err)
{
	struct usage_run run = {.line = s->line, .running = true};
	const char *state = at[3] >= 0 ? s->fields[at[3]] : "running";
	const char *line = tmpf("%lld", (long long)s->line);
	enum status st = ST_OK;
	int64_t ns = 0;

	for (int i = 1; i < 3 && st == ST_OK; i++) {
		st = moment_read(s->name, line, s->columns[at[i]], s->fields[at[i]], &ns, err);
		*(i == 1 ? &run.start : &run.end) = ns / NS_PER_S;
	}
	if (st != ST_OK)
		return st;
	if (!*s->fields[at[0]])
		return error_set(err, ST_PARSE, MSG_sheet_empty_field, s->name, line,
		                 s->columns[at[0]]);
	if (run.end <= run.start)
		return error_set(err, ST_PARSE, MSG_usage_backwards, s->name, line);
	if (!word_in("running|stopped|broken|setup", state))
		return error_set(err, ST_PARSE, MSG_usage_state, s->name, line, state);
	run.running = strcmp(state, "running") == 0;
	run.resource = arena_str(&u->arena, s->fields[at[0]]);
	add_run(u, run);
	return ST_OK;
}

static enum status check_overlaps(const struct usage *u, const char *path, struct error *err)
{
	for (int i = 1; i < u->n_runs; i++) {
		const struct usage_run *a = &u->runs[i - 1], *b = &u->runs[i];

		if (strcmp(a->resource, b->resource) == 0 && b->start < a->end)
			return error_set(err, ST_PARSE, MSG_usage_overlap, path,
			                 tmpf("%lld", (long long)b->line),
			                 tmpf("%lld", (long long)a->line), b->resource);
	}
	return ST_OK;
}

enum status usage_read(struct usage *u, const char *path, struct error *err)
{
	static const char *const names[] = {"resource", "start", "end", "state"};
	struct sheet s;
	int at[4];
	bool more = true;
	enum status st = sheet_open(&s, path, err);

	*u = (struct usage){0};
	if (st != ST_OK)
		return st;
	for (int i = 0; i < 4; i++)
		at[i] = sheet_column(&s, names[i]);
	for (int i = 0; i < 3 && st == ST_OK; i++)
		st = sheet_need(&s, names[i], NULL, err);
	while (st == ST_OK) {
		st = sheet_next(&s, &more, err);
		if (st != ST_OK || !more)
			break;
		st = take_line(u, &s, at, err);
	}
	if (st == ST_OK && !u->n_runs)
		st = error_set(err, ST_PARSE, MSG_sheet_no_lines, path);
	sheet_close(&s);
	if (st == ST_OK) {
		qsort(u->runs, (size_t)u->n_runs, sizeof(*u->runs), by_resource);
		st = check_overlaps(u, path, err);
	}
	if (st != ST_OK)
		usage_release(u);
	return st;
}

void usage_release(struct usage *u)
{
	free(u->runs);
	arena_release(&u->arena);
	*u = (struct usage){0};
}

/* The first run of the resource; n_runs: none. */
static int first_run(const struct usage *u, const char *resource)
{
	int lo = 0, hi = u->n_runs;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (strcmp(u->runs[mid].resource, resource) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < u->n_runs && strcmp(u->runs[lo].resource, resource) == 0 ? lo : u->n_runs;
}

bool usage_knows(const struct usage *u, const char *resource)
{
	return first_run(u, resource) < u->n_runs;
}

int64_t usage_seconds(const struct usage *u, const char *resource, int64_t start, int64_t end,
                      int64_t step, int64_t *exact)
{
	int64_t rounded = 0;

	*exact = 0;
	for (int i = first_run(u, resource);
	     i < u->n_runs && strcmp(u->runs[i].resource, resource) == 0; i++) {
		const struct usage_run *r = &u->runs[i];
		int64_t from = r->start > start ? r->start : start;
		int64_t to = r->end < end ? r->end : end;

		if (!r->running || to <= from)
			continue;
		*exact += to - from;
		rounded += (to - from + step - 1) / step * step;
	}
	return rounded;
}
