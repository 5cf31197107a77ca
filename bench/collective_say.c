/* Readings of the collective probe: rates with everything that explains them, what
 * came out wrong and on which card, and what is owed where nothing was measured. */
#include "collective_say.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/unit.h"
#include "stats/summary.h"

static const char small_metric[] = "collective_allreduce_node_us";
static const char of_ring_metric[] = "collective_allreduce_of_ring";
static const char wrong_metric[] = "collective_wrong_elements";

/* --- readings ---------------------------------------- */

static int place_of(const struct probe_ctx *ctx, const char *metric)
{
	int i = 0;

	while (strcmp(ctx->probe->metrics[i].name, metric) != 0)
		i++;
	return i;
}

struct reading collective_reading(const struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = ctx->probe->metrics[place_of(ctx, metric)].subject;
	r.subject.id = r.subject.kind == SUBJECT_NODE ? ctx->node : CARDS_ALL;
	return r;
}

enum status collective_say(struct collective_bench *b, const struct reading *r)
{
	b->said |= 1 << place_of(b->ctx, r->metric);
	return b->ctx->emit(b->ctx, r);
}

/* All figures that have no reading yet share outcome and reason of `like`. */
enum status collective_owe(struct collective_bench *b, const struct reading *like)
{
	const struct metric *m = b->ctx->probe->metrics;
	enum status st = ST_OK;

	for (int i = 0; m[i].name && st == ST_OK; i++) {
		struct reading r = collective_reading(b->ctx, m[i].name);

		if (b->said & 1 << i)
			continue;
		r.outcome = like->outcome;
		r.reason = like->reason;
		st = collective_say(b, &r);
	}
	return st;
}

/* Address and UUID, as far as they are known. */
const char *collective_card_name(const struct collective *c, int card)
{
	return c->team.cards[card].known ? collective_name(c, card) : c->team.cards[card].id;
}

/* The outcome of what a step could not do. */
void collective_refuse(struct collective_bench *b, struct reading *r, const struct error *err)
{
	struct collective *c = b->c;
	const struct gpu_cause *fault = c->nccl.fault ? c->nccl.fault : c->team.cuda.fault;
	int at = c->team.at;

	r->outcome = err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT
	             : fault                   ? fault->outcome
	                                       : OUTCOME_NOT_MEASURED;
	if (c->cut) {
		r->outcome = OUTCOME_NOT_MEASURED;
		reason_set(b->ctx, &r->reason, MSG_collective_no_time);
	} else if (c->absent) {
		reason_set(b->ctx, &r->reason, MSG_collective_absent, c->what,
		           fmt_duration((double)c->timeout_ns / 1e9), c->absent);
	} else {
		reason_set(b->ctx, &r->reason, MSG_card_refused,
		           at >= 0 && at < c->n ? collective_card_name(c, at) : b->ctx->node,
		           str_text(&err->text));
	}
}

static const char *hex(uint64_t value)
{
	return tmpf("0x%llx", (unsigned long long)value);
}

/* --- what came out wrong ---------------------------------------- */

void collective_blame(struct collective_bench *b, struct reading *r)
{
	const struct collective *c = b->c;
	const struct collective_wrong *w = &c->first;

	r->outcome = OUTCOME_FAILED;
	reason_set(b->ctx, &r->reason, MSG_collective_wrong,
	           tmpf("%llu", (unsigned long long)c->wrong),
	           tmpf("%llu", (unsigned long long)c->words_checked),
	           collective_op_name(w->job.op), fmt_bytes((int64_t)w->job.bytes),
	           tmpf("%llu", (unsigned long long)w->index), collective_name(c, w->rank),
	           hex(w->got), hex(w->expected));
}

static void put_first_wrong(const struct collective *c, struct json_out *j)
{
	const struct collective_wrong *w = &c->first;
	bool parts = w->job.op == OP_ALL_GATHER || w->job.op == OP_ALL_TO_ALL;

	json_object_begin(j, "first_wrong");
	json_put_string(j, "operation", collective_op_name(w->job.op));
	json_put_int(j, "bytes", (int64_t)w->job.bytes);
	json_put_bool(j, "in_place", w->job.in_place);
	json_put_string(j, "card", c->team.cards[w->rank].id);
	json_put_string(j, "pci", c->team.cards[w->rank].unit.card.pci);
	json_put_string(j, "from_card", parts ? c->team.cards[w->segment].id : NULL);
	json_put_int(j, "element", (int64_t)w->index);
	json_put_string(j, "got", hex(w->got));
	json_put_string(j, "expected", hex(w->expected));
	json_put_string(j, "bits", hex(w->bits));
	json_object_end(j);
}

static const char *kept_text(struct probe_ctx *ctx, struct str *text)
{
	const char *kept = arena_str(ctx->arena, str_text(text));

	str_release(text);
	return kept;
}

enum status collective_emit_wrong(struct collective_bench *b)
{
	struct collective *c = b->c;
	struct reading r = collective_reading(b->ctx, wrong_metric);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "results_checked", c->checks);
	json_put_int(&j, "elements_checked", (int64_t)c->words_checked);
	json_put_string(&j, "element", "uint64");
	if (c->wrong) {
		put_first_wrong(c, &j);
		json_array_begin(&j, "wrong_by_card");
		for (int i = 0; i < c->n; i++) {
			json_object_begin(&j, NULL);
			json_put_string(&j, "card", c->team.cards[i].id);
			json_put_int(&j, "elements", (int64_t)c->wrong_of[i]);
			json_object_end(&j);
		}
		json_array_end(&j);
		collective_blame(b, &r);
	}
	json_object_end(&j);
	r.value_kind = VALUE_NUMBER;
	r.value = (double)c->wrong;
	r.params = kept_text(b->ctx, &text);
	b->wrong_said = true;
	return collective_say(b, &r);
}

double collective_busbw(const struct collective *c, const struct collective_point *p,
                        double seconds)
{
	return (double)p->job.bytes / seconds / 1e9 * collective_bus_factor(p->job.op, c->n);
}

double collective_seconds(const struct collective_point *p)
{
	return median(p->seconds.value, p->seconds.n);
}

/* --- a reading of an operation ---------------------------------------- */

static void put_point(const struct collective *c, const struct collective_point *p,
                      struct json_out *j)
{
	double seconds = collective_seconds(p);

	json_put_int(j, "bytes", (int64_t)p->job.bytes);
	json_put_number(j, "us", seconds * 1e6);
	json_put_number(j, "algbw_gbs", (double)p->job.bytes / seconds / 1e9);
	json_put_number(j, "busbw_gbs", collective_busbw(c, p, seconds));
	json_put_number(j, "in_place_busbw_gbs",
	                p->in_place_s > 0 ? collective_busbw(c, p, p->in_place_s) : NAN);
	json_put_int(j, "calls", p->calls);
	json_put_string(j, "algorithm", p->algorithm);
}

static const char *params_of(struct collective_bench *b, const struct collective_sweep *s)
{
	struct collective *c = b->c;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "cards", c->n);
	put_point(c, s->points[0], &j);
	json_put_string(&j, "element", "uint64");
	json_put_string(&j, "library", tmpf("nccl %s", c->nccl.lib.version));
	json_put_string(&j, "library_path", c->nccl.lib.path);
	json_put_raw(&j, "environment", collective_log_environment(c->log));
	json_put_string(&j, "transports", collective_log_transports(c->log, b->ctx->arena));
	json_array_begin(&j, "sizes");
	for (int i = 0; i < s->n; i++) {
		json_object_begin(&j, NULL);
		put_point(c, s->points[i], &j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_put_bool(&j, "cut", s->cut);
	json_object_end(&j);
	return kept_text(b->ctx, &text);
}

static enum status emit_samples(struct collective_bench *b, struct reading *r,
                                const struct samples *values)
{
	samples_to_stats(values, NULL, r->stats);
	r->value_kind = VALUE_NUMBER;
	r->value = median(values->value, values->n);
	return collective_say(b, r);
}

enum status collective_emit_busbw(struct collective_bench *b, const char *metric,
                                  const struct collective_sweep *s)
{
	const struct collective_point *p = s->points[0];
	struct reading r = collective_reading(b->ctx, metric);
	struct samples rates = {0};
	enum status st =
		b->ctx->save_raw(b->ctx, tmpf("%s.csv", metric), b->raw.data, b->raw.len, &r.raw);

	for (size_t i = 0; i < p->seconds.n; i++)
		samples_add(&rates, collective_busbw(b->c, p, p->seconds.value[i]));
	r.params = params_of(b, s);
	for (int i = 0; i < s->n; i++)
		if (s->points[i]->wrong)
			collective_blame(b, &r);
	if (st == ST_OK)
		st = emit_samples(b, &r, &rates);
	samples_release(&rates);
	return st;
}

enum status collective_emit_of_ring(struct collective_bench *b, const struct collective_sweep *s)
{
	const struct collective_point *p = s->points[0];
	struct reading r = collective_reading(b->ctx, of_ring_metric);
	struct samples shares = {0};
	enum status st;

	for (size_t i = 0; i < p->seconds.n; i++)
		samples_add(&shares, collective_busbw(b->c, p, p->seconds.value[i]) / b->ring_gbs);
	r.params = params_of(
		b, &(struct collective_sweep){.points = {(struct collective_point *)p}, .n = 1});
	if (p->wrong)
		collective_blame(b, &r);
	st = emit_samples(b, &r, &shares);
	samples_release(&shares);
	return st;
}

enum status collective_emit_small(struct collective_bench *b, const struct collective_sweep *s)
{
	const struct collective_point *p = s->points[s->n - 1];
	struct reading r = collective_reading(b->ctx, small_metric);
	struct samples us = {0};
	enum status st;

	for (size_t i = 0; i < p->seconds.n; i++)
		samples_add(&us, p->seconds.value[i] * 1e6);
	r.params = params_of(
		b, &(struct collective_sweep){.points = {(struct collective_point *)p}, .n = 1});
	if (p->wrong)
		collective_blame(b, &r);
	st = emit_samples(b, &r, &us);
	samples_release(&us);
	return st;
}

enum status collective_say_no_time(struct collective_bench *b, const char *metric)
{
	struct reading r = collective_reading(b->ctx, metric);

	r.outcome = OUTCOME_NOT_MEASURED;
	reason_set(b->ctx, &r.reason, MSG_collective_no_time);
	return collective_say(b, &r);
}
