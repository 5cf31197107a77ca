/* Readings of storage_all. Each is of all nodes; the file of raw figures beside it
 * has every node's part. */
#include "storage_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/unit.h"

/* clang-format off */
#define PATH_METRIC(name, unit, better, formula) \
	{name, unit, BETTER_##better, SUBJECT_PATH, BACKEND_ANY, formula}
/* In the order of enum all_figure. */
const struct metric storage_all_metrics[] = {
	PATH_METRIC("storage_all_read_iops", "IOPS", HIGHER,
		"4 KiB random reads of all nodes / (last end - first start); each reads another's data"),
	PATH_METRIC("storage_read_iops_per_card", "IOPS", HIGHER,
		"reads of all nodes / (last end - first start) / cards of the cluster, on storage shown "
		"to be shared"),
	PATH_METRIC("storage_all_lat_mean_ms", "ms", LOWER,
		"mean time of those reads, over all of them"),
	PATH_METRIC("storage_all_lat_p99_ms", "ms", LOWER,
		"99th percentile of their time on the node where it is highest"),
	PATH_METRIC("storage_all_overlap", "1", HIGHER,
		"(first end - last start) / (last end - first start): how much of the time all ran"),
	PATH_METRIC("storage_all_slowest_node", "1", HIGHER,
		"reads a second of the slowest node / of the median node"),
	PATH_METRIC("storage_all_shared", "text", NEITHER,
		"yes when every node sees the files of every other one, no when none does, else "
		"partly, with those apart from the most"),
	PATH_METRIC("storage_all_write_gbs", "GB/s", HIGHER,
		"bytes of new files of all nodes / (last end, fsync included - first start)"),
	PATH_METRIC("storage_all_read_gbs", "GB/s", HIGHER,
		"bytes of those files, each read by another node / (last end - first start)"),
	{0}};
/* clang-format on */

static struct reading blank(struct all_lead *l, enum all_figure f)
{
	struct reading r = reading_init();

	r.metric = storage_all_metrics[f].name;
	r.subject.kind = SUBJECT_PATH;
	r.subject.id = l->ctx->subject_id;
	l->said[f] = true;
	return r;
}

static void say_missing(struct all_lead *l, enum all_figure f, const char *point)
{
	struct reading r = blank(l, f);

	r.outcome = l->outcome;
	r.reason = l->reason;
	r.point = point;
	l->ctx->emit(l->ctx, &r);
}

void all_say_rest(struct all_lead *l)
{
	for (int f = 0; f < ALL_FIGURES; f++)
		if (!l->said[f])
			say_missing(l, (enum all_figure)f, NULL);
}

static const char *finish_params(struct all_lead *l, struct json_out *j)
{
	const char *kept;

	json_object_end(j);
	kept = arena_str(l->ctx->arena, j->out->data);
	str_release(j->out);
	return kept;
}

void all_say_shared(struct all_lead *l, const char *text, const char *apart)
{
	struct reading r = blank(l, ALL_SHARED);
	struct str params = {0};
	struct json_out j = json_writer(&params, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "nodes", l->ctx->n_peers);
	if (apart)
		json_put_string(&j, "apart", apart);
	r.params = finish_params(l, &j);
	r.value_kind = VALUE_TEXT;
	r.text = text;
	l->ctx->emit(l->ctx, &r);
}

/* --- what a run was ---------------------------------------------------------------------- */

static double own_rate(const struct share *s)
{
	return s->ios / (s->end_s - s->start_s);
}

struct summary {
	double ios, busy_s; /* of all I/Os; busy_s: the time of all of them */
	double outstanding; /* of all nodes, by Little */
	double mean_s, p99_s;
	int slowest, worst, bound; /* nodes: least rate, highest p99; how many lacked CPU */
	double start_s, end_s;     /* first and last */
	double all_s;              /* while all ran */
};

static struct summary summarise(const struct all_lead *l, const struct all_run *run)
{
	struct summary s = {.start_s = INFINITY, .end_s = -INFINITY};
	double last_start = -INFINITY, first_end = INFINITY;

	for (int i = 0; i < l->ctx->n_peers; i++) {
		const struct all_answer *a = &run->answers[i];

		s.ios += a->share.ios;
		s.busy_s += a->share.ios * a->mean_s;
		s.outstanding += own_rate(&a->share) * a->mean_s;
		s.bound += a->client_bound;
		if (own_rate(&a->share) < own_rate(&run->answers[s.slowest].share))
			s.slowest = i;
		if (a->p99_s > run->answers[s.worst].p99_s)
			s.worst = i;
		s.start_s = fmin(s.start_s, a->share.start_s);
		s.end_s = fmax(s.end_s, a->share.end_s);
		last_start = fmax(last_start, a->share.start_s);
		first_end = fmin(first_end, a->share.end_s);
	}
	s.mean_s = s.ios > 0 ? s.busy_s / s.ios : NAN;
	s.p99_s = run->answers[s.worst].p99_s;
	s.all_s = fmax(first_end - last_start, 0);
	return s;
}

static void put_slow(struct json_out *j, const struct all_lead *l, const struct all_run *run)
{
	int named = 0;

	json_put_int(j, "slow_nodes", (int64_t)run->together.slow);
	json_array_begin(j, "slow");
	for (int i = 0; i < l->ctx->n_peers && named < ALL_NAMED_MOST; i++) {
		if (!run->slow[i])
			continue;
		json_put_string(j, NULL, l->ctx->peers[i]);
		named++;
	}
	json_array_end(j);
}

/* scale: from units of the share to those of the reading. */
static void put_run(struct json_out *j, const struct all_lead *l, const struct all_run *run,
                    const struct summary *s, double scale)
{
	const struct together *t = &run->together;

	json_put_int(j, "nodes", l->ctx->n_peers);
	json_put_string(j, "engine", run->engine);
	json_put_number(j, "seconds", s->end_s - s->start_s);
	json_put_number(j, "sum", t->sum * scale);
	json_put_number(j, "overlap", t->overlap * scale);
	json_put_number(j, "skew", t->skew);
	json_put_bool(j, "at_once", t->skew <= TOGETHER_SKEW);
	json_put_int(j, "tries", run->tries);
	json_put_number(j, "least", t->least * scale);
	json_put_number(j, "median", t->median * scale);
	json_put_number(j, "most", t->most * scale);
	json_put_string(j, "slowest", l->ctx->peers[s->slowest]);
	put_slow(j, l, run);
	json_put_int(j, "client_bound", s->bound);
	json_put_string(j, "fs", l->ready[0].fs);
	json_put_string(j, "kind", l->ready[0].kind);
}

static const char *point_params(struct all_lead *l, const struct all_run *run,
                                const struct summary *s)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	double asked = (double)run->depth * l->ctx->n_peers;

	json_object_begin(&j, NULL);
	json_put_int(&j, "depth", run->depth);
	json_put_int(&j, "block_bytes", STORAGE_BLOCK);
	json_put_string(&j, "read_of", "next");
	json_put_number(&j, "reads", s->ios);
	put_run(&j, l, run, s, 1);
	json_put_string(&j, "worst_p99", l->ctx->peers[s->worst]);
	json_put_int(&j, "cards", l->cards);
	json_put_number(&j, "target_iops", l->target_iops);
	/* Little, both ways: what this depth can ask for, and what was outstanding. */
	json_put_number(&j, "offered_iops", run->offered_iops);
	json_put_number(&j, "outstanding", s->outstanding);
	json_put_number(&j, "outstanding_asked", asked);
	return finish_params(l, &j);
}

/* --- raw figures --------------------------------------------------------------------------- */

static void add_node(struct str *csv, const struct all_lead *l, const struct all_run *run, int i)
{
	const struct all_answer *a = &run->answers[i];
	const struct share *s = &a->share;

	str_addf(csv, "%s,part,%.3f,%.3f,%.0f,%.6f,%.6f,%d\n", l->ctx->peers[i],
	         s->start_s - run->at_s, s->end_s - run->at_s, s->ios, a->mean_s * 1e3,
	         a->p99_s * 1e3, a->client_bound);
	for (size_t k = 0; k < s->n_windows; k++) {
		double at = s->start_s - run->at_s + (double)k * s->window_s;

		str_addf(csv, "%s,window,%.3f,%.3f,%.0f,,,\n", l->ctx->peers[i], at,
		         at + s->window_s, s->windows[k] * s->window_s);
	}
}

/* Seconds since the common start. */
static struct raw_file save_parts(struct all_lead *l, const struct all_run *run, const char *what,
                                  const char *name)
{
	struct str csv = {0};
	struct raw_file raw = {0};

	str_addf(&csv, "node,of,start_s,end_s,%s,mean_ms,p99_ms,client_bound\n", what);
	for (int i = 0; i < l->ctx->n_peers; i++)
		add_node(&csv, l, run, i);
	l->ctx->save_raw(l->ctx, name, csv.data, csv.len, &raw);
	str_release(&csv);
	return raw;
}

/* --- points ----------------------------------------------------------------------------------- */

/* Sets what is missing of a figure that the others do not lack. */
static bool lacks(struct all_lead *l, struct reading *r, enum outcome outcome, enum msg id,
                  const char *a, const char *b)
{
	r->outcome = outcome;
	reason_set_list(l->ctx, &r->reason, id, (const char *const[]){a, b, NULL});
	return false;
}

static bool per_card(struct all_lead *l, struct reading *r, const struct all_run *run)
{
	double iops = run->together.conservative;

	if (l->cards == 0)
		return lacks(l, r, OUTCOME_UNSUPPORTED, MSG_storage_all_no_card, NULL, NULL);
	if (l->cards < 0)
		return lacks(l, r, OUTCOME_NOT_MEASURED, MSG_storage_all_cards, NULL, NULL);
	/* A load that cannot ask for it says nothing about who would answer. */
	if (iops < l->target_iops && run->offered_iops < l->target_iops)
		return lacks(l, r, OUTCOME_NOT_MEASURED, MSG_storage_all_offered,
		             fmt_measure(run->offered_iops, "IOPS"),
		             fmt_measure(l->target_iops, "IOPS"));
	r->value = iops / l->cards;
	return true;
}

static void set_interval(const struct all_lead *l, const struct all_run *run, struct reading *r)
{
	size_t n = (size_t)l->ctx->n_peers;
	struct share *share = arena_array(l->ctx->arena, n, sizeof(*share));
	double lo, hi;

	for (size_t i = 0; i < n; i++)
		share[i] = run->answers[i].share;
	if (!together_interval(share, n, &lo, &hi))
		return;
	r->stats[STAT_CI_LO] = r->value * lo;
	r->stats[STAT_CI_HI] = r->value * hi;
}

static void say_figure(struct all_lead *l, enum all_figure f, const struct all_run *run,
                       const struct summary *s, struct reading r)
{
	const struct together *t = &run->together;
	bool measured = true;

	r.metric = storage_all_metrics[f].name;
	if (f == ALL_IOPS)
		r.value = t->conservative;
	else if (f == ALL_PER_CARD)
		measured = per_card(l, &r, run);
	else if (f == ALL_LAT_MEAN)
		r.value = s->mean_s * 1e3;
	else if (f == ALL_LAT_P99)
		r.value = s->p99_s * 1e3;
	else if (f == ALL_OVERLAP)
		r.value = s->all_s / (s->end_s - s->start_s);
	else
		r.value = t->median > 0 ? t->least / t->median : NAN;
	if (measured && !isfinite(r.value))
		measured = lacks(l, &r, OUTCOME_NOT_MEASURED, MSG_fio_nothing_done, NULL, NULL);
	r.value_kind = measured ? VALUE_NUMBER : VALUE_NONE;
	if (measured && f == ALL_IOPS)
		set_interval(l, run, &r);
	l->said[f] = true;
	l->ctx->emit(l->ctx, &r);
}

void all_say_point(struct all_lead *l, int depth, const struct all_run *run)
{
	const char *point = arena_strf(l->ctx->arena, "depth=%d", depth);
	struct summary s;
	struct reading r;

	if (!run) {
		for (int f = 0; f < ALL_POINT_FIGURES; f++)
			say_missing(l, (enum all_figure)f, point);
		return;
	}
	s = summarise(l, run);
	r = blank(l, ALL_IOPS);
	r.point = point;
	r.params = point_params(l, run, &s);
	r.raw = save_parts(l, run, "reads",
	                   arena_strf(l->ctx->arena, "storage-all-depth%d.csv", depth));
	for (int f = 0; f < ALL_POINT_FIGURES; f++)
		say_figure(l, (enum all_figure)f, run, &s, r);
}

void all_say_stream(struct all_lead *l, enum all_figure f, const struct all_run *run)
{
	bool writes = f == ALL_WRITE_GBS;
	struct summary s = summarise(l, run);
	struct reading r = blank(l, f);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "block_bytes", ALL_STREAM_BLOCK);
	json_put_int(&j, "streams", l->ctx->param_int(l->ctx, "streams"));
	json_put_number(&j, "bytes", s.ios);
	json_put_string(&j, writes ? "written_to" : "read_of", writes ? "own" : "next");
	put_run(&j, l, run, &s, 1e-9);
	r.params = finish_params(l, &j);
	r.value_kind = VALUE_NUMBER;
	r.value = run->together.conservative / 1e9;
	set_interval(l, run, &r);
	r.raw = save_parts(l, run, "bytes",
	                   writes ? "storage-all-write.csv" : "storage-all-read.csv");
	l->ctx->emit(l->ctx, &r);
}
