/* assay import FILE...: what other tools wrote, as a run directory. From there on it is a
 * run like any other - score, report, compare - but that each reading is `imported`. The
 * files themselves are kept in raw/, so that what was read can be read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "cli/run_setup.h"
#include "import/import.h"
#include "run/journal.h"

static const struct option_row rows[] = {
	{"out", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_import_out},
	{"node", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_import_node},
	{"peer", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_import_peer},
	{"unit", OPTION_WORD, "Gb/s|MiB/s", 0, 0, "Gb/s|MiB/s", MSG_opt_import_unit},
	{"nodes", OPTION_INT, "N", 1, 100000, NULL, MSG_opt_import_nodes},
	{"cards", OPTION_INT, "N", 0, 1024, NULL, MSG_opt_import_cards},
	{"vendor", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_vendor},
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{0},
};

/* A file, and which of the readings came of it. */
struct source {
	struct str text;
	int64_t first, end;
	const char *raw, *sha256;
};

struct importing {
	struct arena arena;
	struct import in;
	struct source *sources;
	int n;
	const char *now;
};

static const struct metric *metric_named(const char *name)
{
	return metric_find(cli_metrics(), name, NULL);
}

static enum status read_files(struct importing *m, const struct options *o, struct error *err)
{
	for (int i = 0; i < m->n; i++) {
		struct source *s = &m->sources[i];
		char hex[SHA256_HEX];
		enum status st = file_read(&s->text, o->operands[i], IMPORT_FILE_MAX, err);

		if (st != ST_OK)
			return st;
		s->first = m->in.n;
		st = import_text(&m->in, o->operands[i], str_text(&s->text), s->text.len, err);
		if (st != ST_OK)
			return st;
		s->end = m->in.n;
		sha256_text(str_text(&s->text), s->text.len, hex);
		s->sha256 = arena_str(&m->arena, hex);
		s->raw = arena_strf(&m->arena, "raw/import-%d.txt", i + 1);
		fprintf(stderr, "%s\n",
		        say(MSG_import_done, o->operands[i],
		            tmpf("%lld", (long long)(s->end - s->first)), m->in.tool));
	}
	return ST_OK;
}

static void say_left(const struct importing *m)
{
	struct str names = {0};

	for (int64_t i = 0; i < m->in.n_left && i < 12; i++)
		str_addf(&names, "%s%s", i ? ", " : "", m->in.left[i]);
	if (m->in.n_left > 12)
		str_addf(&names, " ... %lld", (long long)(m->in.n_left - 12));
	if (m->in.n_left) {
		struct str shown = {0};

		str_add_printable(&shown, names.data, names.len);
		fprintf(stderr, "%s\n", say(MSG_import_left, "import", str_text(&shown)));
		str_release(&shown);
	}
	str_release(&names);
}

/* --- writing ------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int64_t count_nodes(struct importing *m)
{
	const char **names = arena_array(&m->arena, (size_t)m->in.n, sizeof(*names));
	int64_t n = 0;

	for (int64_t i = 0; i < m->in.n; i++)
		names[i] = m->in.readings[i].node;
	qsort(names, (size_t)m->in.n, sizeof(*names), by_name);
	for (int64_t i = 0; i < m->in.n; i++)
		n += !i || strcmp(names[i], names[i - 1]) != 0;
	return n;
}

static enum status append(struct importing *m, struct journal *j, const struct source *s,
                          struct error *err)
{
	for (int64_t i = s->first; i < s->end; i++) {
		struct reading *r = &m->in.readings[i];
		struct str line = {0};
		char work[13];
		enum status st;

		r->time = m->now;
		r->phase = "import";
		work_id(work, r->phase, r->probe, r->subject.id, tmpf("file=%s", s->sha256));
		r->work = work;
		r->raw = (struct raw_file){s->raw, s->sha256, (int64_t)s->text.len};
		reading_format(&line, r);
		st = journal_append(j, str_text(&line), line.len, err);
		str_release(&line);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

static enum status write_run(struct importing *m, const struct options *o, const char *dir,
                             struct error *err)
{
	struct run_info info = {
		.id = random_hex(&m->arena, 16),
		.created = m->now,
		.version = ASSAY_VERSION,
		.build = ASSAY_BUILD,
		.host = local_node_name(&m->arena),
		.command = command_line(&m->arena, o->argc, o->argv),
		.vendor = option_text(o, "vendor", NULL),
		.profile = option_text(o, "profile", NULL),
		.budget = "imported",
		.seed = random_hex(&m->arena, 16),
		.expected_nodes = option_int(o, "nodes", count_nodes(m)),
		.expected_cards = option_int(o, "cards", -1),
	};
	struct journal *j = NULL;
	char digest[65];
	enum status st = journal_create(&j, dir, &info, err), ended;

	for (int i = 0; i < m->n && st == ST_OK; i++) {
		struct str path = {0};
		const struct source *s = &m->sources[i];

		st = file_write(path_join(&path, dir, s->raw), str_text(&s->text), s->text.len,
		                err);
		if (st == ST_OK)
			st = append(m, j, s, err);
		str_release(&path);
	}
	if (!j)
		return st;
	ended = journal_close(j, st != ST_OK, digest, err);
	return st == ST_OK ? ended : st;
}

static int import_files(const struct options *o, struct error *err)
{
	const char *dir = option_text(o, "out", NULL);
	struct importing m = {.n = o->n_operands};
	struct str now = {0};
	enum status st;

	if (!dir)
		return cli_status_code(error_set(err, ST_USAGE, MSG_import_out));
	time_add_utc(&now, clock_wall(&clock_system));
	m.now = arena_str(&m.arena, str_text(&now));
	m.sources = arena_array(&m.arena, (size_t)m.n, sizeof(*m.sources));
	m.in = (struct import){.arena = &m.arena,
	                       .metric = metric_named,
	                       .node = option_text(o, "node", NULL),
	                       .peer = option_text(o, "peer", NULL),
	                       .unit = option_text(o, "unit", NULL)};
	st = read_files(&m, o, err);
	if (st == ST_OK)
		st = write_run(&m, o, dir, err);
	if (st == ST_OK) {
		say_left(&m);
		fprintf(stderr, "%s\n", say(MSG_import_next, dir));
	}
	for (int i = 0; i < m.n; i++)
		str_release(&m.sources[i].text);
	str_release(&now);
	arena_release(&m.arena);
	return cli_status_code(st);
}

const struct command command_import = {
	.name = "import",
	.summary = MSG_cmd_import,
	.operands = "FILE...",
	.min_operands = 1,
	.max_operands = 4096,
	.rows = rows,
	.run = import_files,
};
