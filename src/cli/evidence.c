/* Evidence beside a run; see evidence.h. A table from option to function: what a file
 * means is worked out in src/service, here it becomes readings. */
#include "cli/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/evidence_cost.h"
#include "cli/evidence_detail.h"
#include "cli/evidence_service.h"
#include "cli/evidence_vendor.h"

/* An option of EVIDENCE_OPTIONS and what reads it when it was given. */
static const struct source {
	const char *option;
	enum status (*read)(struct evidence *e, struct error *err);
} sources[] = {
	{"quote", evidence_quote},
	{"bill", evidence_bill},
	{"availability", evidence_availability},
	{"causes", evidence_causes},
	{"tickets", evidence_tickets},
	{"vendor-report", evidence_vendor_report},
	/* After those that tell a price. */
	{"params", evidence_model},
	{"tokens", evidence_tokens},
	{0},
};

static void *grow(void *list, int64_t count, size_t size)
{
	list = reallocarray(list, (size_t)count, size);
	if (!list)
		die_nomem();
	return list;
}

struct reading evidence_reading(const struct evidence *e, const char *source, const char *metric)
{
	const struct metric *def = metric_find(cli_metrics(), metric, NULL);
	struct reading r = reading_init();

	r.seq = -1;
	r.time = e->time;
	r.phase = "evidence";
	r.probe = source;
	r.subject.kind = def ? def->subject : SUBJECT_CLUSTER;
	r.metric = metric;
	r.unit = def ? def->unit : NULL;
	r.better = def ? def->better : BETTER_NEITHER;
	return r;
}

void evidence_add(struct evidence *e, const struct reading *r)
{
	if (e->n_readings == e->cap_readings) {
		e->cap_readings = e->cap_readings ? e->cap_readings * 2 : 16;
		e->readings = grow(e->readings, e->cap_readings, sizeof(*e->readings));
	}
	e->readings[e->n_readings++] = *r;
}

enum status evidence_digest(const char *path, char hex[SHA256_HEX], int64_t *bytes,
                            struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sha256 sha;
	char part[1 << 16];
	ssize_t n;

	if (fd < 0)
		return error_errno(err, path, errno);
	sha256_init(&sha);
	*bytes = 0;
	while ((n = read(fd, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		sha256_add(&sha, part, (size_t)n);
		*bytes += n;
	}
	if (n < 0)
		error_errno(err, path, errno);
	close(fd);
	sha256_hex(&sha, hex);
	return n < 0 ? ST_IO : ST_OK;
}

enum status evidence_note_file(struct evidence *e, const char *kind, const char *path,
                               struct error *err)
{
	struct evidence_file *f;
	char hex[SHA256_HEX];
	int64_t bytes;
	enum status st = evidence_digest(path, hex, &bytes, err);

	if (st != ST_OK)
		return st;
	e->files = grow(e->files, e->n_files + 1, sizeof(*e->files));
	f = &e->files[e->n_files++];
	f->kind = arena_str(e->arena, kind);
	f->file = arena_str(e->arena, path);
	f->sha256 = arena_str(e->arena, hex);
	f->bytes = bytes;
	return ST_OK;
}

/* The readings of the run, then those of the evidence. */
static void join(struct rundir *run, const struct evidence *e)
{
	size_t n = (size_t)run->n_readings, more = (size_t)e->n_readings;
	struct reading *all = arena_array(&run->arena, n + more + 1, sizeof(*all));

	if (n)
		memcpy(all, run->readings, n * sizeof(*all));
	if (more)
		memcpy(all + n, e->readings, more * sizeof(*all));
	run->readings = all;
	run->n_readings += e->n_readings;
}

bool evidence_given(const struct options *options)
{
	static const struct option_row rows[] = {EVIDENCE_OPTIONS, {0}};

	for (const struct option_row *row = rows; row->name; row++)
		if (option_given(options, row->name))
			return true;
	return false;
}

static enum status read_all(struct evidence *e, struct error *err)
{
	struct str now = {0};
	enum status st = ST_OK;

	time_add_utc(&now, e->wall_ns);
	e->time = arena_str(e->arena, str_text(&now));
	str_release(&now);
	for (const struct source *s = sources; s->option && st == ST_OK; s++)
		if (option_given(e->options, s->option))
			st = s->read(e, err);
	return st;
}

enum status evidence_try(const struct options *options, const char *config_dir, struct error *err)
{
	struct arena arena = {0};
	struct evidence e = {.arena = &arena,
	                     .options = options,
	                     .config_dir = config_dir,
	                     .wall_ns = clock_wall(&clock_system)};
	enum status st = read_all(&e, err);

	free(e.readings);
	free(e.files);
	arena_release(&arena);
	return st;
}

enum status evidence_take(struct rundir *run, const struct options *options, const char *config_dir,
                          const struct evidence_file **files, int *n, struct error *err)
{
	struct evidence e = {.arena = &run->arena,
	                     .options = options,
	                     .run = run,
	                     .config_dir = config_dir,
	                     .wall_ns = clock_wall(&clock_system)};
	struct evidence_file *kept;
	enum status st = read_all(&e, err);

	if (st == ST_OK && e.n_readings)
		join(run, &e);
	kept = arena_array(e.arena, (size_t)e.n_files, sizeof(*kept));
	if (e.n_files)
		memcpy(kept, e.files, (size_t)e.n_files * sizeof(*kept));
	*files = kept;
	*n = e.n_files;
	free(e.readings);
	free(e.files);
	return st;
}
