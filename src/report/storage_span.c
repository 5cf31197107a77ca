/* Sorted once, so that every path and every node of it is one stretch, however
 * many nodes wrote their readings in whatever order. */
#include "report/storage_span.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

#define LOCAL "local_"

/* Figures the blocks show; those of local disks have the prefix. */
static const char *const shown[] = {
	"storage_read_iops",       "storage_read_lat_mean_ms",
	"storage_read_lat_p99_ms", "storage_read_lat_p999_ms",
	"storage_read_cv",         "storage_read_worst_second",
	"storage_read_thirds",     "storage_lat_depth1_us",
	"storage_read_iops_max",   "storage_knee_depth",
	"storage_depth_below_1ms", "storage_offered_iops",
	"storage_limit",           "checkpoint_write_gbs",
	"checkpoint_read_gbs",     "checkpoint_write_buffered_gbs",
	"checkpoint_70b_s",        "checkpoint_read_buffered_gbs",
	"checkpoint_405b_s",       "dataset_stream_gbs",
	"dataset_small_iops",      "dataset_stream_buffered_gbs",
};

static const char *less_prefix(const char *metric)
{
	return str_starts(metric, LOCAL) ? metric + strlen(LOCAL) : metric;
}

bool span_shows(const struct reading *r)
{
	const char *name = less_prefix(r->metric);

	if (r->subject.kind != SUBJECT_PATH || !r->subject.id || strcmp(r->subject.id, "*") == 0)
		return false;
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (strcmp(shown[i], name) == 0)
			return true;
	return false;
}

static const char *node_of(const struct item *i)
{
	return i->r->node ? i->r->node : "";
}

const char *span_node(struct span s)
{
	return node_of(s.items);
}

/* Named paths before local disks; of each the nodes, of those the order taken. */
static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = strcmp(x->r->subject.id, y->r->subject.id);

	if (x->local != y->local)
		return x->local ? 1 : -1;
	if (order == 0)
		order = strcmp(node_of(x), node_of(y));
	if (order == 0)
		order = x->at < y->at ? -1 : x->at > y->at;
	return order;
}

struct span span_gather(const struct scorecard *card)
{
	struct item *items = malloc(((size_t)card->n_readings + 1) * sizeof(*items));
	int64_t n = 0;

	if (!items)
		die_nomem();
	for (int64_t i = 0; i < card->n_readings; i++) {
		const struct reading *r = card->readings[i];

		if (span_shows(r))
			items[n++] = (struct item){r, less_prefix(r->metric),
			                           str_starts(r->metric, LOCAL), i};
	}
	qsort(items, (size_t)n, sizeof(*items), by_place);
	return (struct span){items, n};
}

struct span span_first(struct span all, bool same_node)
{
	const struct item *first = all.items;
	int64_t n = 0;

	while (n < all.n && all.items[n].local == first->local &&
	       strcmp(all.items[n].r->subject.id, first->r->subject.id) == 0 &&
	       (!same_node || strcmp(node_of(&all.items[n]), node_of(first)) == 0))
		n++;
	return (struct span){first, n};
}

struct span span_rest(struct span all, struct span first)
{
	return (struct span){all.items + first.n, all.n - first.n};
}

const struct reading *span_find(struct span s, const char *name, const char *point)
{
	for (int64_t i = 0; i < s.n; i++) {
		const struct reading *r = s.items[i].r;

		if (r->outcome == OUTCOME_MEASURED && strcmp(s.items[i].name, name) == 0 &&
		    (!point || (r->point && strcmp(r->point, point) == 0)))
			return r;
	}
	return NULL;
}

double span_number(struct span s, const char *name, const char *point)
{
	const struct reading *r = span_find(s, name, point);

	return r && r->value_kind == VALUE_NUMBER ? r->value : NAN;
}

double span_highest(struct span s, const char *name)
{
	double high = NAN;

	for (int64_t i = 0; i < s.n; i++) {
		const struct reading *r = s.items[i].r;

		if (r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER &&
		    strcmp(s.items[i].name, name) == 0)
			high = fmax(high, r->value);
	}
	return high;
}

struct span span_slowest(struct span path, const char *name, int64_t *nodes)
{
	struct span found = {path.items, 0};
	double least = INFINITY;

	*nodes = 0;
	while (path.n) {
		struct span node = span_first(path, true);
		double high = span_highest(node, name);

		path = span_rest(path, node);
		if (!isfinite(high))
			continue;
		++*nodes;
		if (high < least) {
			least = high;
			found = node;
		}
	}
	return found;
}

struct span span_of_node(struct span path, const char *node)
{
	while (path.n) {
		struct span s = span_first(path, true);

		if (strcmp(node_of(s.items), node) == 0)
			return s;
		path = span_rest(path, s);
	}
	return path;
}

bool span_params(const struct reading *r, struct json_doc *doc)
{
	struct error err = {0};
	bool ok = r->params && json_parse(doc, "params", r->params, strlen(r->params),
	                                  JSON_DUPLICATES, &err) == ST_OK;

	error_release(&err);
	return ok;
}
