/* Reading the log of node changes. A line that cannot be right is an error with its
 * number: a slip of the pen must not become a verdict. */
#include "cli/scale_log.h"

#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/msg.h"
#include "base/sha256.h"

#define LOG_LIMIT ((size_t)16 << 20)

struct change {
	const char *path, *line; /* for messages */
	int64_t at, ready;       /* ready -1: never */
	bool out;
};

static enum status read_time(const struct change *c, const char *column, const char *text,
                             int64_t now_ns, int64_t *ns, struct error *err)
{
	if (!time_parse_zoned(text, ns))
		return error_set(err, ST_PARSE, MSG_scale_time, c->path, c->line, column, text);
	if (*ns > now_ns)
		return error_set(err, ST_PARSE, MSG_scale_future, c->path, c->line, column, text);
	return ST_OK;
}

static enum status read_change(struct change *c, const struct csv *csv, int row, int64_t now_ns,
                               struct error *err)
{
	const char *action = csv_field(csv, row, "action"), *at = csv_field(csv, row, "time"),
		   *ready = csv_field(csv, row, "ready_time");
	enum status st;

	c->out = strcmp(action, "add") == 0;
	if (!c->out && strcmp(action, "remove") != 0)
		return error_set(err, ST_PARSE, MSG_scale_action, c->path, c->line, action);
	if (!*csv_field(csv, row, "node"))
		return error_set(err, ST_PARSE, MSG_scale_node, c->path, c->line);
	st = read_time(c, "time", at, now_ns, &c->at, err);
	c->ready = -1;
	if (st == ST_OK && *ready)
		st = read_time(c, "ready_time", ready, now_ns, &c->ready, err);
	if (st == ST_OK && *ready && c->ready < c->at)
		return error_set(err, ST_PARSE, MSG_scale_order, c->path, c->line, ready, at);
	return st;
}

static enum status read_job(struct scale_log *log, const struct change *c, const char *word,
                            struct error *err)
{
	if (!word || !*word)
		return ST_OK;
	if (strcmp(word, "survived") == 0)
		log->jobs_survived++;
	else if (strcmp(word, "restarted") == 0 || strcmp(word, "lost") == 0)
		log->jobs_not++;
	else
		return error_set(err, ST_PARSE, MSG_scale_job_word, c->path, c->line, word);
	return ST_OK;
}

static enum status read_rows(struct scale_log *log, struct arena *arena, const struct csv *csv,
                             const char *path, int64_t now_ns, struct error *err)
{
	for (int i = 0; i < csv->n_rows; i++) {
		struct change c = {.path = path, .line = arena_strf(arena, "%d", csv->lines[i])};
		enum status st = read_change(&c, csv, i, now_ns, err);
		struct scale_way *way = c.out ? &log->out : &log->in;

		if (st == ST_OK)
			st = read_job(log, &c, csv_field(csv, i, "job"), err);
		if (st != ST_OK)
			return st;
		way->asked++;
		if (c.ready >= 0) {
			way->done++;
			samples_add(&way->minutes, (double)(c.ready - c.at) / 60e9);
		}
	}
	return ST_OK;
}

enum status scale_log_read(struct scale_log *log, struct arena *arena, const char *path,
                           int64_t now_ns, struct error *err)
{
	static const char *const columns[] = {"time", "action", "node", "ready_time"};
	struct str text = {0};
	char hex[SHA256_HEX];
	struct csv csv;
	enum status st = file_read(&text, path, LOG_LIMIT, err);

	*log = (struct scale_log){0};
	if (st != ST_OK)
		goto out;
	sha256_text(str_text(&text), text.len, hex);
	log->sha256 = arena_str(arena, hex);
	st = csv_parse(&csv, path, str_text(&text), text.len, err);
	if (st != ST_OK)
		goto out;
	for (int i = 0; i < 4 && st == ST_OK; i++)
		if (csv_column(&csv, columns[i]) < 0)
			st = error_set(err, ST_PARSE, MSG_scale_columns, path, columns[i]);
	if (st == ST_OK && csv.n_rows == 0)
		st = error_set(err, ST_PARSE, MSG_scale_empty, path);
	if (st == ST_OK)
		st = read_rows(log, arena, &csv, path, now_ns, err);
	csv_release(&csv);
out:
	str_release(&text);
	return st;
}

void scale_log_release(struct scale_log *log)
{
	samples_release(&log->out.minutes);
	samples_release(&log->in.minutes);
}
