/* Looking for caches and bursts by speed. */
#include "storage_signs.h"

#include <math.h>

#include "base/json.h"
#include "stats/samples.h"

#define DEPTH        16
#define STREAM_DEPTH 4
#define STREAM_BLOCK (1 << 20)
#define LEAST_PAIRS  3

/* --- arithmetic --------------------------------------------- */

struct storage_sign storage_sign_of(const char *name, const struct sign_pairs *pairs, double limit,
                                    bool above)
{
	struct storage_sign s = {.name = name, .pairs = *pairs, .ratio = {NAN, NAN, NAN}};

	s.known = pairs->n >= LEAST_PAIRS &&
	          paired_ratio(pairs->a, pairs->b, (size_t)pairs->n, SIGN_ALPHA, &s.ratio) == ST_OK;
	s.shows = s.known && (above ? s.ratio.lo > limit : s.ratio.hi < limit);
	return s;
}

struct sign_pairs storage_blocks(const double *a, size_t n, const double *b, size_t m)
{
	struct sign_pairs p = {.n = 0};
	size_t least = n < m ? n : m, blocks = least / 2;

	blocks = blocks < LEAST_PAIRS ? LEAST_PAIRS : blocks > SIGN_PAIRS ? SIGN_PAIRS : blocks;
	if (least < blocks)
		return p;
	for (size_t i = 0; i < blocks; i++) {
		size_t from = i * n / blocks, to = (i + 1) * n / blocks;

		/* A stall is less than one I/O a second, and has a logarithm. */
		p.a[p.n] = fmax(mean(a + from, to - from), 1);
		from = i * m / blocks, to = (i + 1) * m / blocks;
		p.b[p.n++] = fmax(mean(b + from, to - from), 1);
	}
	return p;
}

/* --- runs --------------------------------------------- */

static int pairs_wanted(struct probe_ctx *ctx)
{
	return storage_is_brief(ctx) ? 0 : (int)ctx->param_int(ctx, "pairs");
}

static struct fio_job short_job(struct storage_work *w)
{
	struct fio_job job = w->job;

	job.depth = DEPTH;
	job.jobs = storage_jobs(w, DEPTH);
	job.runtime_s = w->ctx->param_real(w->ctx, "pair_s");
	job.ramp_s = job.runtime_s / 4;
	return job;
}

double storage_signs_seconds(struct probe_ctx *ctx)
{
	double run = ctx->param_real(ctx, "pair_s") + 0.4;

	return pairs_wanted(ctx) * (2 * run + 3 * run * 1.25);
}

/* The same blocks twice, in the same order. The first reading ends after its
 * time, the second after as many reads. */
static bool reread_once(struct storage_work *w, int i, int n, struct sign_pairs *pairs)
{
	struct fio_job job = short_job(w);
	struct fio_result first, second;
	int64_t part = w->data.bytes / 4 * 3 / n / STORAGE_BLOCK * STORAGE_BLOCK;

	job.same_order = true;
	job.most_s = job.runtime_s;
	job.runtime_s = job.ramp_s = 0;
	job.offset = w->data.bytes - part * (i + 1);
	job.bytes = part;
	job.seed = w->ctx->seed * 37 + (uint64_t)i;
	if (!storage_run(w, &job, tmpf("fio-first%d.json", i + 1), &first, NULL))
		return false;
	job.most_ios = (int64_t)(first.total_ios / fio_threads(&job));
	if (!storage_run(w, &job, tmpf("fio-second%d.json", i + 1), &second, NULL))
		return false;
	pairs->a[pairs->n] = second.iops;
	pairs->b[pairs->n++] = first.iops;
	return true;
}

void storage_look_rereading(struct storage_work *w, struct storage_signs *s)
{
	struct sign_pairs pairs = {.n = 0};
	int n = pairs_wanted(w->ctx);

	if (n < LEAST_PAIRS)
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_left_out, "pairs");
	for (int i = 0; i < n && reread_once(w, i, n, &pairs); i++)
		;
	if (pairs.n < n || n < LEAST_PAIRS)
		s->cache_why = w->why;
	s->cache[SIGN_REREAD] = storage_sign_of("reread", &pairs, REREAD_LIMIT, true);
}

enum turn { SMALL, LARGE, STREAM, TURNS };

static bool take_turn(struct storage_work *w, enum turn turn, int round, double *bytes_per_s)
{
	static const char *const names[] = {"small", "large", "stream"};
	struct fio_job job = short_job(w);
	struct fio_result r;

	if (turn == SMALL)
		job.bytes = w->data.bytes / 4 / STORAGE_BLOCK * STORAGE_BLOCK;
	if (turn == STREAM) {
		job.way = FIO_STREAM_READ;
		job.block = STREAM_BLOCK;
		job.depth = STREAM_DEPTH;
		job.jobs = 1;
	}
	job.seed = w->ctx->seed * 41 + (uint64_t)(round * TURNS + (int)turn);
	if (!storage_run(w, &job, tmpf("fio-%s%d.json", names[turn], round + 1), &r, NULL))
		return false;
	bytes_per_s[turn] = r.bandwidth_bs;
	return true;
}

/* Forward, backward, forward …: what drifts meanwhile falls on all alike. */
void storage_look_working_set(struct storage_work *w, struct storage_signs *s)
{
	struct sign_pairs size = {.n = 0}, order = {.n = 0};

	for (int round = 0; round < pairs_wanted(w->ctx); round++) {
		double rate[TURNS];
		bool all = true;

		for (int i = 0; i < TURNS && all; i++)
			all = take_turn(w, (enum turn)(round % 2 ? TURNS - 1 - i : i), round, rate);
		if (!all) {
			s->cache_why = w->why;
			break;
		}
		size.a[size.n] = rate[SMALL];
		size.b[size.n++] = rate[LARGE];
		order.a[order.n] = rate[LARGE];
		order.b[order.n++] = rate[STREAM];
	}
	s->cache[SIGN_WORKING_SET] = storage_sign_of("working_set", &size, WORKING_SET_LIMIT, true);
	s->cache[SIGN_RANDOM] =
		storage_sign_of("random_over_sequential", &order, RANDOM_LIMIT, true);
}

/* --- what the network allows --------------------------------------------- */

static struct storage_sign bound(const char *name, double figure, double limit)
{
	struct storage_sign s = {.name = name, .ratio = {NAN, NAN, NAN}};

	s.known = figure > 0 && limit > 0;
	if (s.known)
		s.ratio = (struct estimate){figure / limit, figure / limit, figure / limit};
	return s;
}

void storage_look_network(struct storage_work *w, struct storage_signs *s)
{
	const struct storage_point *one = &w->points[0], *fastest = storage_fastest(w, false);
	double link =
		w->place.over_network && !w->blind ? storage_link_bytes_per_s(w->ctx->sys_root) : 0;
	double trip_us = 0;
	struct error err = {0};

	if (storage_round_trip(&trip_us, w->ctx->arena, &w->place, w->ctx->clock, &err) != ST_OK)
		trip_us = 0;
	error_release(&err);
	s->cache[SIGN_ROUND_TRIP] =
		bound("round_trip", one->measured ? one->r.lat.p50 : 0, trip_us);
	s->cache[SIGN_ROUND_TRIP].shows = s->cache[SIGN_ROUND_TRIP].ratio.value < 1;
	s->cache[SIGN_LINK] = bound("over_link", fastest ? fastest->r.bandwidth_bs : 0, link);
	s->cache[SIGN_LINK].shows = s->cache[SIGN_LINK].ratio.value > 1;
}

/* --- bursts --------------------------------------------- */

void storage_look_burst(struct storage_work *w, struct storage_signs *s)
{
	struct storage_point before = {0}, after = {0};
	const struct storage_point *held = NULL;
	struct sign_pairs thirds = {.n = 0}, rest = {.n = 0};

	if (!storage_hold(w, &before, &after))
		s->burst_why = w->why;
	for (int i = 0; i < w->n_points; i++)
		if (w->points[i].held && w->points[i].depth == before.depth)
			held = &w->points[i];
	if (held) {
		size_t n = held->r.n_windows;

		thirds = storage_blocks(held->r.windows + (n - n / 3), n / 3, held->r.windows,
		                        n / 3);
	}
	if (held && after.measured)
		rest = storage_blocks(after.r.windows, after.r.n_windows, before.r.windows,
		                      before.r.n_windows);
	else if (held)
		s->burst_why = w->why;
	s->burst[0] = storage_sign_of("thirds", &thirds, DROP_LIMIT, false);
	s->burst[1] = storage_sign_of("after_hold", &rest, DROP_LIMIT, false);
}

/* --- readings --------------------------------------------- */

static void put_series(struct json_out *j, const char *name, const double *value, int n)
{
	json_array_begin(j, name);
	for (int i = 0; i < n; i++)
		json_put_number(j, NULL, value[i]);
	json_array_end(j);
}

static void put_sign(struct json_out *j, const struct storage_sign *s)
{
	json_object_begin(j, s->name);
	json_put_bool(j, "known", s->known);
	if (s->known) {
		json_put_bool(j, "shows", s->shows);
		json_put_number(j, "ratio", s->ratio.value);
		json_put_number(j, "lo", s->ratio.lo);
		json_put_number(j, "hi", s->ratio.hi);
	}
	if (s->pairs.n) {
		put_series(j, "a", s->pairs.a, s->pairs.n);
		put_series(j, "b", s->pairs.b, s->pairs.n);
	}
	json_object_end(j);
}

static void emit(struct storage_work *w, enum figure f, const struct storage_sign *signs, int n)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	int shown = 0;

	json_object_begin(&j, NULL);
	for (int i = 0; i < n; i++) {
		put_sign(&j, &signs[i]);
		shown += signs[i].shows;
	}
	json_object_end(&j);
	storage_emit_number(w, f, shown, arena_str(w->ctx->arena, str_text(&text)));
	str_release(&text);
}

/* Pairs that were run and tell nothing had a run without a single read. */
static void missing(struct storage_work *w, const struct storage_why *why)
{
	if (!w->job.direct)
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_cached, w->ctx->subject_id);
	else if (why->reason.code)
		w->why = *why;
	else
		because(w, OUTCOME_NOT_MEASURED, MSG_storage_no_windows);
}

static void name_signs(struct str *list, const struct storage_sign *signs, int n)
{
	for (int i = 0; i < n; i++)
		if (signs[i].shows)
			str_addf(list, "%s%s %.2f (%.2f to %.2f)", list->len ? ", " : "",
			         signs[i].name, signs[i].ratio.value, signs[i].ratio.lo,
			         signs[i].ratio.hi);
}

static void emit_names(struct storage_work *w, const struct storage_signs *s, bool cache,
                       bool burst)
{
	struct str list = {0};

	name_signs(&list, s->cache, cache ? CACHE_SIGN_KINDS : 0);
	name_signs(&list, s->burst, burst ? 2 : 0);
	if (cache || burst)
		storage_emit_text(w, SIGNS, list.len ? arena_str(w->ctx->arena, list.data) : "none",
		                  NULL);
	str_release(&list);
}

/* What was not looked for is not known to be absent. */
void storage_emit_signs(struct storage_work *w, const struct storage_signs *s)
{
	bool cache =
		w->job.direct && s->cache[SIGN_REREAD].known && s->cache[SIGN_WORKING_SET].known;
	bool burst = w->job.direct && s->burst[0].known && s->burst[1].known;

	if (cache) {
		emit(w, CACHE_SIGNS, s->cache, CACHE_SIGN_KINDS);
	} else {
		missing(w, &s->cache_why);
		storage_emit_missing(w, CACHE_SIGNS, NULL);
	}
	missing(w, &s->burst_why);
	if (burst)
		emit(w, BURST_SIGNS, s->burst, 2);
	else
		storage_emit_missing(w, BURST_SIGNS, NULL);
	emit_names(w, s, cache, burst);
}
