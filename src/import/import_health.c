/* Health tests of others: dcgmi diag and gpu-burn. Both say pass or fail a card; what
 * they call a failure stays one, with the test's name, and is judged by no limit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

#define MAX_CARDS 64

/* --- dcgmi diag ----------------------------------------------------------------- */

struct diag {
	int failed[MAX_CARDS], run[MAX_CARDS];
	struct str names[MAX_CARDS]; /* of the failed tests, a JSON list without brackets */
};

static void take_result(struct diag *d, const char *test, const cJSON *result)
{
	const char *status = json_string(result, "status", "");
	const char *ids = json_string(result, "gpu_id", json_string(result, "gpu_ids", NULL));
	int64_t entity = json_int64(result, "entity_id", -1);
	char *text, *word, *rest;

	if (!*status || strcmp(status, "Skip") == 0 || strcmp(status, "Not Run") == 0)
		return;
	text = strdup(ids ? ids : entity >= 0 ? tmpf("%lld", (long long)entity) : "");
	if (!text)
		die_nomem();
	for (word = strtok_r(text, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
		double card;

		if (!import_number(word, &card) || card < 0 || card >= MAX_CARDS)
			continue;
		d->run[(int)card]++;
		if (strcmp(status, "Fail") != 0)
			continue;
		d->failed[(int)card]++;
		str_add(&d->names[(int)card], d->names[(int)card].len ? "," : "");
		json_quote(&d->names[(int)card], test, strlen(test));
	}
	free(text);
}

static enum status add_diag(struct import *in, struct diag *d, const char *node, struct error *err)
{
	for (int i = 0; i < MAX_CARDS; i++) {
		struct reading *r;

		if (!d->run[i])
			continue;
		r = import_add(in, "dcgm_failed_tests", err);
		if (!r)
			return ST_INTERNAL;
		import_card(in, r, node, NULL, NULL, i);
		import_value(r, d->failed[i]);
		r->params = arena_strf(in->arena, "{\"tests\":%d,\"failed\":[%s]}", d->run[i],
		                       str_text(&d->names[i]));
	}
	return ST_OK;
}

enum status import_dcgm(struct import *in, const struct json_doc *doc, struct error *err)
{
	const cJSON *root = json_get(doc->root, "DCGM Diagnostic"), *category, *test, *result;
	struct diag *d = arena_alloc(in->arena, sizeof(*d));
	const char *node;
	enum status st = import_node(in, NULL, &node, err);

	if (st != ST_OK)
		return st;
	memset(d, 0, sizeof(*d));
	root = root ? root : json_get(doc->root, "DCGM GPU Diagnostic");
	cJSON_ArrayForEach(category, json_get(root, "test_categories"))
	{
		cJSON_ArrayForEach(test, json_get(category, "tests"))
		{
			cJSON_ArrayForEach(result, json_get(test, "results"))
			{
				take_result(d, json_string(test, "name", "?"), result);
			}
		}
	}
	st = add_diag(in, d, node, err);
	for (int i = 0; i < MAX_CARDS; i++)
		str_release(&d->names[i]);
	return st;
}

/* --- gpu-burn ------------------------------------------------------------------- */

struct burn {
	double *rates[MAX_CARDS];
	int n_rates[MAX_CARDS], cap[MAX_CARDS];
	double errors[MAX_CARDS];
	int cards;
	bool faulty[MAX_CARDS], told[MAX_CARDS];
	const char *uuid[MAX_CARDS];
};

static void add_rate(struct import *in, struct burn *b, int card, double rate)
{
	if (b->n_rates[card] == b->cap[card]) {
		int cap = b->cap[card] ? 2 * b->cap[card] : 64;
		double *more = arena_array(in->arena, (size_t)cap, sizeof(*more));

		if (b->n_rates[card])
			memcpy(more, b->rates[card], (size_t)b->n_rates[card] * sizeof(*more));
		b->rates[card] = more;
		b->cap[card] = cap;
	}
	b->rates[card][b->n_rates[card]++] = rate;
}

/* "100.0%  proc'd: 3760 (4837 Gflop/s) - 3750 (4800 Gflop/s)   errors: 0 - 2 (WARNING!)
 * temps: 62 C - 60 C". Rates are of the time since the line before: the first of a card
 * holds its start-up and is 0 until the card has answered. */
static void take_progress(struct import *in, const char *line, struct burn *b)
{
	const char *errors = strstr(line, "errors:"), *p = strstr(line, "proc'd:");
	int card = 0;

	for (p = p ? strchr(p, '(') : NULL; p && (!errors || p < errors); p = strchr(p + 1, '(')) {
		double rate;

		if (card == MAX_CARDS || sscanf(p, "(%lf Gflop/s)", &rate) != 1)
			break;
		if (rate > 0)
			add_rate(in, b, card, rate);
		card++;
	}
	b->cards = card > b->cards ? card : b->cards;
	p = errors ? errors + strlen("errors:") : NULL;
	for (card = 0; p && card < b->cards; card++) {
		char *end;
		double count = strtod(p, &end);

		if (end == p)
			break;
		b->errors[card] = fmax(b->errors[card], count);
		p = strstr(end, " - ");
		p = p ? p + 3 : NULL;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum status add_burn(struct import *in, struct burn *b, const char *node, struct error *err)
{
	for (int i = 0; i < b->cards; i++) {
		struct reading *r;

		if (b->n_rates[i]) {
			int n = b->n_rates[i];

			qsort(b->rates[i], (size_t)n, sizeof(double), by_value);
			r = import_add(in, "gpuburn_gflops", err);
			if (!r)
				return ST_INTERNAL;
			import_card(in, r, node, b->uuid[i], NULL, i);
			import_value(r, n % 2 ? b->rates[i][n / 2]
			                      : (b->rates[i][n / 2 - 1] + b->rates[i][n / 2]) / 2);
			r->stats[STAT_N] = n;
			r->stats[STAT_MIN] = b->rates[i][0];
			r->stats[STAT_MAX] = b->rates[i][n - 1];
		}
		r = import_add(in, "gpuburn_errors", err);
		if (!r)
			return ST_INTERNAL;
		import_card(in, r, node, b->uuid[i], NULL, i);
		import_value(r, b->errors[i]);
		if (b->faulty[i]) {
			r->outcome = OUTCOME_FAILED;
			r->reason = (struct reason){
				.code = msg_name(MSG_import_faulty),
				.text = arena_str(in->arena, msg_format(MSG_import_faulty))};
		}
	}
	return ST_OK;
}

/* "GPU 0: NVIDIA A100 (UUID: GPU-1b2c)" at the start, "GPU 0: OK" or "GPU 0: FAULTY" at
 * the end. True for the latter. */
static bool take_card(struct import *in, const char *line, struct burn *b)
{
	const char *uuid = strstr(line, "(UUID: ");
	int card, at = 0;

	if (sscanf(line, " GPU %d: %n", &card, &at) != 1 || !at || card < 0 || card >= MAX_CARDS)
		return false;
	if (uuid) {
		uuid += strlen("(UUID: ");
		b->uuid[card] = arena_strn(in->arena, uuid, strcspn(uuid, ")"));
		return false;
	}
	if ((strcmp(line + at, "OK") != 0 && strcmp(line + at, "FAULTY") != 0) || b->told[card])
		return false;
	b->told[card] = true;
	b->faulty[card] = strcmp(line + at, "OK") != 0;
	return true;
}

enum status import_burn(struct import *in, const char *text, size_t len, struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	struct burn *b = arena_alloc(in->arena, sizeof(*b));
	const char *node;
	char *line;
	int told = 0;
	enum status st = import_node(in, NULL, &node, err);

	if (st != ST_OK)
		return st;
	memset(b, 0, sizeof(*b));
	while ((line = import_line(in, &lines))) {
		if (strstr(line, "proc'd:"))
			take_progress(in, line, b);
		else
			told += take_card(in, line, b);
	}
	if (told < b->cards)
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool, "GPU 0: OK");
	return add_burn(in, b, node, err);
}
