/* Lines of the heartbeat log, written and read. Reading goes line by line: a month
 * of a node has 260,000 of them. */
#include "service/heartbeat.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "service/moment.h"

#define COLUMNS            15
#define HEARTBEAT_LINE_MAX 65536 /* ours have some 250 bytes */

static const char *const kinds[] = {
#define X(name, text) text,
	BEAT_KIND_LIST(X)
#undef X
};

static const char *const states[] = {
#define X(name, text) text,
	NODE_STATE_LIST(X)
#undef X
};

const char *node_state_name(enum node_state state)
{
	return states[state];
}

bool heartbeat_word(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == ',' || *text == '"' || *text == 127)
			return false;
	return true;
}

/* --- writing -------------------------------------------------------------------- */

static void add_count(struct str *out, int64_t value)
{
	if (value >= 0)
		str_addf(out, "%lld", (long long)value);
	str_addc(out, ',');
}

void heartbeat_format(struct str *out, const struct heartbeat *b, const char *prev)
{
	time_add_utc(out, b->wall_ns);
	str_addf(out, ",%lld.%03d,%s,%s,%lld,%s,%s,", (long long)(b->mono_ns / NS_PER_S),
	         (int)(b->mono_ns % NS_PER_S / NS_PER_MS), b->node, b->observer, (long long)b->seq,
	         b->boot_id, kinds[b->kind]);
	add_count(out, b->cards);
	if (isfinite(b->kernel_ms))
		str_addf(out, "%.3f", b->kernel_ms);
	str_addc(out, ',');
	add_count(out, b->xid);
	add_count(out, b->ecc);
	add_count(out, b->links);
	str_addf(out, "%s,%s,%s\n", states[b->state], b->note, prev);
}

/* --- reading -------------------------------------------------------------------- */

struct reader {
	const char *path;
	int64_t line, seq;
	char prev[SHA256_HEX];
};

static enum status bad(const struct reader *r, struct error *err, const char *column,
                       const char *value)
{
	return error_set(err, ST_PARSE, MSG_heartbeat_cell, r->path,
	                 tmpf("%lld", (long long)r->line), column, value);
}

static int word_index(const char *const *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static bool count_cell(const char *text, int64_t *value)
{
	*value = -1;
	return !*text || (parse_int64(text, value) && *value >= 0);
}

static bool seconds_cell(const char *text, int64_t *ns)
{
	double seconds;

	if (!parse_double(text, &seconds) || seconds < 0 || seconds > 1e10)
		return false;
	*ns = llround(seconds * 1e3) * NS_PER_MS;
	return true;
}

static enum status parse_cells(const struct reader *r, char **cell, struct heartbeat *b,
                               struct error *err)
{
	int kind = word_index(kinds, BEAT_KINDS, cell[6]);
	int state = word_index(states, NODE_STATES, cell[12]);

	if (!time_parse_utc(cell[0], &b->wall_ns) || moment_parse(cell[0], &b->wall_ns))
		return bad(r, err, "ts_utc", cell[0]);
	if (!seconds_cell(cell[1], &b->mono_ns))
		return bad(r, err, "mono_s", cell[1]);
	if (!*cell[2] || !*cell[3])
		return bad(r, err, *cell[2] ? "observer" : "node", "");
	if (!parse_int64(cell[4], &b->seq) || b->seq != r->seq + 1)
		return bad(r, err, "seq", cell[4]);
	if (kind < 0)
		return bad(r, err, "kind", cell[6]);
	if (!count_cell(cell[7], &b->cards))
		return bad(r, err, "gpus_ok", cell[7]);
	b->kernel_ms = NAN;
	if (*cell[8] && !parse_double(cell[8], &b->kernel_ms))
		return bad(r, err, "kernel_ms", cell[8]);
	if (!count_cell(cell[9], &b->xid) || !count_cell(cell[10], &b->ecc) ||
	    !count_cell(cell[11], &b->links))
		return bad(r, err, "xid, ecc, link_flaps", cell[9]);
	if (state < 0)
		return bad(r, err, "state", cell[12]);
	b->node = cell[2];
	b->observer = cell[3];
	b->boot_id = cell[5];
	b->kind = (enum beat_kind)kind;
	b->state = (enum node_state)state;
	b->note = cell[13];
	return ST_OK;
}

static enum status parse_line(struct reader *r, char *text, struct heartbeat *b, struct error *err)
{
	char *cell[COLUMNS], *p = text;
	int n = 0;

	for (; n < COLUMNS && p; n++)
		cell[n] = strsep(&p, ",");
	if (n != COLUMNS || p)
		return error_set(err, ST_PARSE, MSG_heartbeat_foreign, r->path,
		                 tmpf("%lld", (long long)r->line));
	/* The chain first: a line that was put in says nothing true about its cells. */
	if (strcmp(cell[14], r->prev) != 0)
		return error_set(err, ST_CORRUPT, MSG_heartbeat_chain, r->path,
		                 tmpf("%lld", (long long)r->line),
		                 tmpf("%lld", (long long)r->line - 1));
	return parse_cells(r, cell, b, err);
}

static enum status take_line(struct reader *r, char *text, size_t len, heartbeat_take *take,
                             void *arg, struct error *err)
{
	char digest[SHA256_HEX];
	struct heartbeat beat;
	enum status st = ST_OK;

	sha256_text(text, len, digest);
	if (memchr(text, 0, len))
		st = error_set(err, ST_PARSE, MSG_heartbeat_foreign, r->path,
		               tmpf("%lld", (long long)r->line));
	else if (r->line == 1 && strcmp(text, HEARTBEAT_COLUMNS) != 0)
		st = error_set(err, ST_PARSE, MSG_heartbeat_header, r->path);
	else if (r->line > 1)
		st = parse_line(r, text, &beat, err);
	if (st == ST_OK && r->line > 1) {
		r->seq = beat.seq;
		st = take(arg, &beat, r->line, err);
	}
	memcpy(r->prev, digest, sizeof(r->prev));
	return st;
}

/* The next line with its newline, as far as there is room: a file that is no log may
 * have no end of line at all. 0 at the end. */
static size_t next_line(FILE *in, char *text)
{
	size_t len = 0;
	int c;

	while (len < HEARTBEAT_LINE_MAX && (c = getc_unlocked(in)) != EOF) {
		text[len++] = (char)c;
		if (c == '\n')
			break;
	}
	return len;
}

enum status heartbeat_read(const char *path, struct heartbeat_file *file, heartbeat_take *take,
                           void *arg, struct error *err)
{
	struct reader r = {.path = path};
	FILE *in = fopen(path, "re");
	enum status st = ST_OK;
	char text[HEARTBEAT_LINE_MAX];
	size_t len;

	*file = (struct heartbeat_file){0};
	if (!in)
		return error_errno(err, path, errno);
	while (st == ST_OK && (len = next_line(in, text)) > 0) {
		bool whole = text[len - 1] == '\n';

		if (!whole && len < sizeof(text)) {
			file->torn = (int64_t)len;
			break;
		}
		/* Of one that is too long, the NUL in it is refused as any other. */
		text[len - 1] = '\0';
		len -= whole;
		r.line++;
		st = take_line(&r, text, len, take, arg, err);
	}
	if (st == ST_OK && ferror(in))
		st = error_errno(err, path, EIO);
	if (st == ST_OK && r.line == 0)
		st = error_set(err, ST_PARSE, MSG_heartbeat_header, path);
	file->lines = r.line;
	memcpy(file->head, r.prev, sizeof(file->head));
	fclose(in);
	return st;
}
