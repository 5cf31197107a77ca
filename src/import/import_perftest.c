/* perftest (ib_write_bw, ib_send_lat, …). Its peak is not taken: measured by duration it
 * is not measured and printed as 0. "MB/sec" is 2^20 bytes. Latencies of write and send
 * are half the round trip there as here; of a read the whole one. The JSON of version
 * 4.5 has keys without quotes and no unit. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

#define MIB_GBITS (8 * 1048576 / 1e9)

struct perftest {
	const char *verb;   /* write, read, send; NULL: not said */
	const char *device; /* mlx5_0, or NULL */
	bool latency;
	double factor; /* to Gb/s; 0: not said */
	/* of the largest size (bandwidth) or the smallest (latency) */
	double size, value, min, max, p99, p999, iterations;
	int rows;
};

static const char *verb_of(const char *title)
{
	return strstr(title, "Write")  ? "write"
	       : strstr(title, "Read") ? "read"
	       : strstr(title, "Send") ? "send"
	                               : NULL;
}

static enum status add(struct import *in, const struct perftest *t, struct error *err)
{
	const char *node;
	struct reading *r;
	enum status st;

	if (!t->verb) {
		import_left(in, "a perftest table without its title");
		return ST_OK;
	}
	st = import_node(in, NULL, &node, err);
	if (st != ST_OK)
		return st;
	if (!in->peer)
		return error_set(err, ST_USAGE, MSG_import_peer, in->name);
	if (!t->latency && t->factor <= 0)
		return error_set(err, ST_USAGE, MSG_import_unit, in->name);
	r = import_add(in, tmpf(t->latency ? "rdma_%s_latency_us" : "rdma_nic_%s_gbps", t->verb),
	               err);
	if (!r)
		return ST_INTERNAL;
	r->node = node;
	r->subject.id = arena_strf(in->arena, "%s|%s", node, in->peer);
	r->subject.n_ends = 2;
	r->subject.ends[0] =
		(struct subject_end){.node = node, .nic = arena_str(in->arena, t->device)};
	r->subject.ends[1] = (struct subject_end){.node = in->peer};
	import_value(r, t->latency ? t->value : t->value * t->factor);
	r->stats[STAT_N] = t->iterations;
	if (t->latency) {
		r->stats[STAT_MIN] = t->min;
		r->stats[STAT_MAX] = t->max;
		r->stats[STAT_P99] = t->p99;
		r->stats[STAT_P99_9] = t->p999;
	}
	r->params = arena_strf(in->arena, "{\"bytes\":%.0f}", t->size);
	return ST_OK;
}

/* --- text --------------------------------------------------------------------- */

static bool read_row(struct import *in, const char *line, struct perftest *t)
{
	const char *words[12];
	int n = import_split(in, line, words, 12);
	double f[9] = {0};

	if (n < (t->latency ? 5 : 4))
		return false;
	for (int i = 0; i < n && i < 9; i++)
		if (!import_number(words[i], &f[i]))
			return false;
	if (t->rows++ && (t->latency ? f[0] >= t->size : f[0] <= t->size))
		return true;
	t->size = f[0];
	t->iterations = f[1];
	t->value = t->latency ? f[4] : f[3];
	t->min = t->latency ? f[2] : NAN;
	t->max = t->latency ? f[3] : NAN;
	t->p99 = n > 7 ? f[7] : NAN;
	t->p999 = n > 8 ? f[8] : NAN;
	return true;
}

enum status import_perftest_text(struct import *in, const char *text, size_t len, struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	struct perftest t = {0};
	bool table = false;
	enum status st = ST_OK;
	char *line;

	while (st == ST_OK && (line = import_line(in, &lines))) {
		const char *device = strstr(line, "Device "), *colon;

		if (strstr(line, " Test") && verb_of(line)) {
			t.verb = verb_of(line);
		} else if (strstr(line, "#bytes")) {
			t.latency = strstr(line, "t_min[usec]") != NULL;
			t.factor = strstr(line, "[Gb/sec]") ? 1
			           : strstr(line, "[MB/sec]") || strstr(line, "[MiB/sec]")
			                   ? MIB_GBITS
			                   : 0;
			t.rows = 0;
			table = true;
		} else if (table && str_starts(line, "----") && t.rows) {
			st = add(in, &t, err);
			table = false;
		} else if (table) {
			read_row(in, line, &t);
		} else if (device && (colon = strchr(device, ':'))) {
			const char *words[1];

			if (import_split(in, colon + 1, words, 1))
				t.device = words[0];
		}
	}
	if (st == ST_OK && table)
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool, "--------");
	return st;
}

/* --- JSON --------------------------------------------------------------------- */

static size_t word_at(const char *text, size_t len, size_t i)
{
	while (i < len && (isalnum((unsigned char)text[i]) || strchr("_.+-", text[i])))
		i++;
	return i;
}

static bool closes(const char *text, size_t len, size_t i)
{
	while (i < len && isspace((unsigned char)text[i]))
		i++;
	return i < len && (text[i] == '}' || text[i] == ']');
}

void import_perftest_mend(struct str *out, const char *text, size_t len)
{
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		size_t end = quoted ? i : word_at(text, len, i);

		if (text[i] == '"')
			quoted = !quoted;
		if (end > i) { /* a number as it is */
			const char *mark = isalpha((unsigned char)text[i]) ? "\"" : "";

			str_addf(out, "%s%.*s%s", mark, (int)(end - i), text + i, mark);
			i = end - 1;
		} else if (quoted || text[i] != ',' || !closes(text, len, i + 1)) {
			str_addc(out, text[i]);
		}
	}
}

enum status import_perftest_json(struct import *in, const struct json_doc *doc, struct error *err)
{
	const cJSON *info = json_get(doc->root, "test_info"),
		    *results = json_get(doc->root, "results");
	const char *title = json_string(info, "test", "");
	struct perftest t = {.verb = verb_of(title),
	                     .device = json_string(info, "Device", NULL),
	                     .latency = json_get(results, "t_typical") != NULL,
	                     .size = json_number(results, "MsgSize", NAN),
	                     .iterations = json_number(results, "n_iterations", NAN)};

	t.factor = !in->unit ? 0 : strcmp(in->unit, "Gb/s") == 0 ? 1 : MIB_GBITS;
	t.value = json_number(results, t.latency ? "t_typical" : "BW_average", NAN);
	t.min = json_number(results, "t_min", NAN);
	t.max = json_number(results, "t_max", NAN);
	t.p99 = json_number(results, "percentile_99", NAN);
	t.p999 = json_number(results, "percentile_99.9", NAN);
	if (isnan(t.value) || isnan(t.size))
		return error_set(err, ST_PARSE, MSG_import_member, json_place(doc, results),
		                 "MsgSize, BW_average | t_typical");
	return add(in, &t, err);
}
