/* nccl-tests. Its table gives every size twice, out of place and in place; taken is the
 * bus bandwidth of the largest, out of place, as its own average would hide a slow one.
 * Which collective a table is about stands in its head since version 2.15; before that
 * only an all-reduce can be told, by bus over algorithm bandwidth, 2 (n-1)/n. */
#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

#define MAX_COLUMNS 24

static const struct {
	const char *program, *metric;
} programs[] = {
	{"all_reduce_perf", "collective_allreduce_busbw_gbs"},
	{"all_gather_perf", "collective_allgather_busbw_gbs"},
	{"reduce_scatter_perf", "collective_reducescatter_busbw_gbs"},
	{"alltoall_perf", "collective_alltoall_busbw_gbs"},
	{"broadcast_perf", "collective_broadcast_busbw_gbs"},
	{"sendrecv_perf", "collective_sendrecv_busbw_gbs"},
};

struct test {
	const char *program; /* NULL: not said */
	const char *host;    /* of the first rank */
	bool one_host;
	int ranks;
	int64_t first; /* readings of it begin here */
	/* of the largest size */
	double size, us, algbw, busbw, in_place;
	double small_us; /* of 8 bytes, or NaN */
	double wrong;    /* NaN: not checked */
	int rows;
};

static struct test test_begin(const struct import *in)
{
	return (struct test){.one_host = true,
	                     .first = in->n,
	                     .size = -1,
	                     .in_place = NAN,
	                     .small_us = NAN,
	                     .wrong = NAN};
}

static bool is_all_reduce(const struct test *t)
{
	double factor = 2.0 * (t->ranks - 1) / t->ranks;

	if (t->program)
		return strcmp(t->program, "all_reduce_perf") == 0;
	return t->ranks > 2 && t->algbw > 0 && fabs(t->busbw / t->algbw - factor) < 0.02 * factor;
}

static const char *metric_of(const struct test *t)
{
	if (is_all_reduce(t))
		return programs[0].metric;
	for (size_t i = 0; t->program && i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(t->program, programs[i].program) == 0)
			return programs[i].metric;
	return NULL;
}

static struct reading *add(struct import *in, const char *metric, const char *node, double value,
                           struct error *err)
{
	struct reading *r = import_add(in, metric, err);

	if (!r)
		return NULL;
	r->node = r->subject.id = node;
	import_value(r, value);
	return r;
}

static const char *params_of(struct import *in, const struct test *t)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_string(&j, "program", t->program ? t->program : "told by its factor");
	json_put_int(&j, "cards", t->ranks);
	json_put_number(&j, "bytes", t->size);
	json_put_number(&j, "algbw_gbs", t->algbw);
	json_put_number(&j, "in_place_busbw_gbs", t->in_place);
	json_object_end(&j);
	kept = arena_str(in->arena, str_text(&text));
	str_release(&text);
	return kept;
}

static enum status test_end(struct import *in, const struct test *t, struct error *err)
{
	const char *metric = metric_of(t), *node;
	struct reading *r;
	enum status st;

	if (!t->rows)
		return ST_OK;
	if (!t->one_host) {
		import_left(in, tmpf("%s over several nodes", t->program ? t->program : "a test"));
		return ST_OK;
	}
	if (!metric) {
		import_left(in, t->program ? t->program : "a collective without a name");
		return ST_OK;
	}
	st = import_node(in, t->host, &node, err);
	if (st != ST_OK)
		return st;
	r = add(in, metric, node, t->busbw, err);
	if (!r)
		return ST_INTERNAL;
	r->params = params_of(in, t);
	if (isfinite(t->wrong) && !add(in, "collective_wrong_elements", node, t->wrong, err))
		return ST_INTERNAL;
	if (is_all_reduce(t) && isfinite(t->small_us) &&
	    !add(in, "collective_allreduce_node_us", node, t->small_us, err))
		return ST_INTERNAL;
	return ST_OK;
}

/* --- text --------------------------------------------------------------------- */

struct columns {
	int size, time, algbw, busbw, wrong; /* out of place */
	int busbw2, wrong2;                  /* in place, -1: none */
	int n;
};

/* "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time …" */
static bool read_head(struct import *in, const char *line, struct columns *head)
{
	const char *words[MAX_COLUMNS];
	struct columns c = {-1, -1, -1, -1, -1, -1, -1, 0};
	int n = import_split(in, line, words, MAX_COLUMNS), at = 0;

	if (n < 6 || strcmp(words[0], "#") != 0 || strcmp(words[1], "size") != 0)
		return false;
	c.n = n - 1;
	for (int i = 1; i < n; i++, at++) {
		bool wrong = strcmp(words[i], "#wrong") == 0 || strcmp(words[i], "error") == 0;
		int *to = strcmp(words[i], "size") == 0    ? &c.size
		          : strcmp(words[i], "time") == 0  ? &c.time
		          : strcmp(words[i], "algbw") == 0 ? &c.algbw
		          : strcmp(words[i], "busbw") == 0 ? (c.busbw < 0 ? &c.busbw : &c.busbw2)
		          : wrong                          ? (c.wrong < 0 ? &c.wrong : &c.wrong2)
		                                           : NULL;

		if (to && *to < 0)
			*to = at;
	}
	if (c.time < 0 || c.algbw < 0 || c.busbw < 0)
		return false;
	*head = c;
	return true;
}

static void add_wrong(struct test *t, const char *word)
{
	double wrong;

	if (import_number(word, &wrong))
		t->wrong = (isnan(t->wrong) ? 0 : t->wrong) + wrong;
}

static bool read_row(struct import *in, const char *line, const struct columns *c, struct test *t)
{
	const char *words[MAX_COLUMNS];
	int n = import_split(in, line, words, MAX_COLUMNS);
	double size, us, algbw, busbw;

	if (n != c->n || !import_number(words[c->size], &size) ||
	    !import_number(words[c->time], &us) || !import_number(words[c->algbw], &algbw) ||
	    !import_number(words[c->busbw], &busbw))
		return false;
	t->rows++;
	if (c->wrong >= 0)
		add_wrong(t, words[c->wrong]);
	if (c->wrong2 >= 0)
		add_wrong(t, words[c->wrong2]);
	if (size == 8)
		t->small_us = us;
	if (size <= t->size)
		return true;
	t->size = size;
	t->us = us;
	t->algbw = algbw;
	t->busbw = busbw;
	if (c->busbw2 < 0 || !import_number(words[c->busbw2], &t->in_place))
		t->in_place = NAN;
	return true;
}

/* "#  Rank  0 Group  0 Pid 490 on host device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB" */
static enum status read_rank(struct import *in, const char *line, struct test *t, struct error *err)
{
	const char *words[MAX_COLUMNS], *device = strstr(line, "device"), *open, *close;
	int n = import_split(in, line, words, MAX_COLUMNS), on = 0;
	struct reading *r;
	double index;

	while (on < n && strcmp(words[on], "on") != 0)
		on++;
	if (!device || on + 3 >= n || !import_number(words[on + 3], &index))
		return ST_OK;
	if (!t->ranks++)
		t->host = words[on + 1];
	else if (strcmp(t->host, words[on + 1]) != 0)
		t->one_host = false;
	open = strchr(device, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close || !close[1] || !close[2])
		return ST_OK;
	r = import_add(in, "card_name", err);
	if (!r)
		return ST_INTERNAL;
	import_card(in, r, words[on + 1], NULL,
	            arena_strn(in->arena, open + 1, (size_t)(close - open - 1)), (int)index);
	import_words(in, r, close + 2);
	return ST_OK;
}

enum status import_nccl_text(struct import *in, const char *text, size_t len, struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	struct test t = test_begin(in);
	struct columns c = {.n = 0};
	enum status st = ST_OK;
	char *line;

	while (st == ST_OK && (line = import_line(in, &lines))) {
		const char *start = strstr(line, "Collective test starting: ");

		if (start) {
			t.program = start + strlen("Collective test starting: ");
		} else if (strstr(line, "Rank ") && strstr(line, " Pid ")) {
			st = read_rank(in, line, &t, err);
		} else if (strstr(line, "Avg bus bandwidth")) {
			st = test_end(in, &t, err);
			t = test_begin(in);
			c.n = 0;
		} else if (!read_head(in, line, &c) && c.n) {
			read_row(in, line, &c, &t);
		}
	}
	if (st == ST_OK && (t.rows || c.n))
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool,
		                 "# Avg bus bandwidth");
	return st;
}

/* --- JSON --------------------------------------------------------------------- */

static enum status read_devices(struct import *in, const cJSON *devices, struct test *t,
                                struct error *err)
{
	const cJSON *d;

	cJSON_ArrayForEach(d, devices)
	{
		const char *host = json_string(d, "hostname", ""),
			   *card = json_string(d, "device_info", NULL);
		struct reading *r;

		if (!t->ranks++)
			t->host = host;
		else if (strcmp(t->host, host) != 0)
			t->one_host = false;
		if (!card || !*host)
			continue;
		r = import_add(in, "card_name", err);
		if (!r)
			return ST_INTERNAL;
		import_card(in, r, arena_str(in->arena, host), NULL, NULL,
		            (int)json_int64(d, "device", t->ranks - 1));
		import_words(in, r, card);
	}
	return ST_OK;
}

static void read_result(const cJSON *row, struct test *t)
{
	const cJSON *out = json_get(row, "out_of_place"), *in_place = json_get(row, "in_place");
	double size = json_number(row, "size", -1), wrong = json_number(out, "nwrong", NAN);

	if (isnan(json_number(out, "bus_bw", NAN)))
		return;
	t->rows++;
	if (isfinite(wrong))
		t->wrong = (isnan(t->wrong) ? 0 : t->wrong) + wrong +
		           fmax(0, json_number(in_place, "nwrong", 0));
	if (size == 8)
		t->small_us = json_number(out, "time", NAN);
	if (size <= t->size)
		return;
	t->size = size;
	t->busbw = json_number(out, "bus_bw", NAN);
	t->algbw = json_number(out, "alg_bw", NAN);
	t->in_place = json_number(in_place, "bus_bw", NAN);
}

/* Its JSON has no name of the program but the command line, where there is one. */
static const char *program_of(struct import *in, const cJSON *root)
{
	const cJSON *args = json_get(root, "args"), *arg;

	cJSON_ArrayForEach(arg, args)
	{
		const char *text = cJSON_GetStringValue(arg), *base;

		base = text ? strrchr(text, '/') : NULL;
		base = base ? base + 1 : text;
		if (base && str_ends(base, "_perf"))
			return arena_str(in->arena, base);
	}
	return NULL;
}

enum status import_nccl_json(struct import *in, const struct json_doc *doc, struct error *err)
{
	struct test t = test_begin(in);
	const cJSON *row, *bounds = json_get(doc->root, "out_of_bounds");
	enum status st;

	t.program = program_of(in, doc->root);
	st = read_devices(in, json_get(doc->root, "devices"), &t, err);
	if (st != ST_OK)
		return st;
	cJSON_ArrayForEach(row, json_get(doc->root, "results"))
	{
		read_result(row, &t);
	}
	if (isnan(t.wrong))
		t.wrong = json_number(bounds, "count", NAN);
	return test_end(in, &t, err);
}
