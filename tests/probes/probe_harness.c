/* A probe context in memory. It stands in for the worker (coord/worker.c), so
 * that a test can look at readings as structs instead of parsing a channel. */
#include "probe_harness.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/sha256.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* --- parameters ----------------------------------------------------------- */

static const char *value_of(struct probe_ctx *ctx, const char *name, const struct param **row)
{
	struct harness *h = ctx->self;

	*row = param_find(ctx->probe, name);
	if (!*row)
		fail_msg("probe %s asked for parameter %s, which has no row", ctx->probe->name,
		         name);
	return param_value(ctx->probe, *row, ctx->budget, h->settings, h->n_settings);
}

static int64_t get_int(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = value_of(ctx, name, &row);

	assert_true(row->kind == PARAM_INT || row->kind == PARAM_SIZE);
	return (int64_t)param_number(row, value);
}

static double get_real(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = value_of(ctx, name, &row);

	assert_int_equal(row->kind, PARAM_REAL);
	return param_number(row, value);
}

static const char *get_word(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = value_of(ctx, name, &row);

	assert_true(row->kind == PARAM_WORD || row->kind == PARAM_INTS);
	return value;
}

/* --- readings -------------------------------------------------------------- */

static const struct metric *listed_metric(const struct probe *probe, const char *name)
{
	for (const struct metric *m = probe->metrics; name && m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

static void check_reading(const struct probe_ctx *ctx, const struct reading *r)
{
	const struct metric *metric = listed_metric(ctx->probe, r->metric);
	struct json_doc doc;

	if (!metric)
		fail_msg("%s: metric %s is not listed", ctx->probe->name,
		         r->metric ? r->metric : "?");
	if (r->subject.kind != metric->subject)
		fail_msg("%s: subject kind differs from the metric's", r->metric);
	if (!r->subject.id)
		fail_msg("%s: no subject id", r->metric);
	if (r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NONE)
		fail_msg("%s: measured without a value", r->metric);
	if (r->outcome == OUTCOME_MEASURED && r->reason.code)
		fail_msg("%s: measured, yet has a reason", r->metric);
	if (r->outcome != OUTCOME_MEASURED && (!r->reason.code || !r->reason.text))
		fail_msg("%s: %s without a reason", r->metric, outcome_name(r->outcome));
	if (r->value_kind == VALUE_NUMBER && !isfinite(r->value))
		fail_msg("%s: value is not finite", r->metric);
	if (r->value_kind == VALUE_TEXT && (!r->text || strcmp(metric->unit, "text") != 0))
		fail_msg("%s: text value missing, or the unit is not \"text\"", r->metric);
	if (r->value_kind == VALUE_NUMBER && strcmp(metric->unit, "text") == 0)
		fail_msg("%s: a number where the unit is \"text\"", r->metric);
	for (int i = 0; i < STATS; i++)
		if (isinf(r->stats[i]))
			fail_msg("%s: stat %s is infinite", r->metric, stat_name((enum stat_id)i));
	if (!r->params)
		return;
	if (json_parse(&doc, "params", r->params, strlen(r->params), JSON_STRICT, NULL) != ST_OK ||
	    !cJSON_IsObject(doc.root))
		fail_msg("%s: params are not a JSON object: %s", r->metric, r->params);
	json_release(&doc);
}

static void keep_reading(struct harness *h, struct reading r)
{
	const char **args = arena_array(&h->arena, (size_t)r.reason.n_args + 1, sizeof(*args));

	for (int i = 0; i < r.reason.n_args; i++)
		args[i] = arena_str(&h->arena, r.reason.args[i]);
	r.reason.args = args;
	r.reason.code = arena_str(&h->arena, r.reason.code);
	r.reason.text = arena_str(&h->arena, r.reason.text);
	r.metric = arena_str(&h->arena, r.metric);
	r.subject.id = arena_str(&h->arena, r.subject.id);
	r.subject.pci = arena_str(&h->arena, r.subject.pci);
	r.text = arena_str(&h->arena, r.text);
	r.point = arena_str(&h->arena, r.point);
	r.params = arena_str(&h->arena, r.params);
	r.raw.file = arena_str(&h->arena, r.raw.file);
	r.raw.sha256 = arena_str(&h->arena, r.raw.sha256);
	h->readings[h->n_readings++] = r;
}

static enum status emit(struct probe_ctx *ctx, const struct reading *reading)
{
	struct harness *h = ctx->self;

	check_reading(ctx, reading);
	assert_true((size_t)h->n_readings < COUNT(h->readings));
	keep_reading(h, *reading);
	return ST_OK;
}

static void progress(struct probe_ctx *ctx, enum stage stage, double done, enum msg what)
{
	struct harness *h = ctx->self;

	assert_true(done <= 1);
	assert_true((int)what >= 0 && what < MSG_COUNT);
	h->stage = stage;
	h->done = done;
	h->n_progress++;
}

static enum status save_raw(struct probe_ctx *ctx, const char *name, const char *data, size_t len,
                            struct raw_file *raw)
{
	struct harness *h = ctx->self;
	char hex[SHA256_HEX];

	*raw = (struct raw_file){0};
	if (h->raw_status != ST_OK)
		return h->raw_status;
	assert_true((size_t)h->n_raws < COUNT(h->raws));
	h->raws[h->n_raws++] = (struct harness_raw){
		.name = arena_str(&h->arena, name),
		.data = arena_strn(&h->arena, data, len),
		.len = len,
	};
	sha256_text(data, len, hex);
	raw->file = arena_strf(&h->arena, "raw/%s/%s", ctx->node, name);
	raw->sha256 = arena_str(&h->arena, hex);
	raw->bytes = (int64_t)len;
	return ST_OK;
}

/* --- for tests ---------------------------------------------------------------- */

void harness_init(struct harness *h, const struct probe *probe)
{
	*h = (struct harness){0};
	h->ctx = (struct probe_ctx){
		.probe = probe,
		.arena = &h->arena,
		.clock = &clock_system,
		.node = "n001",
		.budget = BUDGET_QUICK,
		.seed = 1,
		.deadline_ns = clock_now(&clock_system) + 60 * NS_PER_S,
		.sys_root = "",
		.param_int = get_int,
		.param_real = get_real,
		.param_word = get_word,
		.emit = emit,
		.progress = progress,
		.save_raw = save_raw,
		.self = h,
	};
}

void harness_set(struct harness *h, const char *key, const char *value)
{
	const struct param *row = param_find(h->ctx.probe, key);
	struct error err = {0};

	if (!row)
		fail_msg("%s has no parameter %s", h->ctx.probe->name, key);
	if (param_check(h->ctx.probe, row, value, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	assert_true((size_t)h->n_settings < COUNT(h->settings));
	h->settings[h->n_settings++] =
		(struct setting){.probe = h->ctx.probe->name, .key = row->name, .value = value};
}

void harness_run(struct harness *h, enum status expected)
{
	assert_string_equal(status_name(h->ctx.probe->run(&h->ctx)), status_name(expected));
}

void harness_clear(struct harness *h)
{
	h->n_readings = 0;
	h->n_raws = 0;
	h->n_progress = 0;
}

void harness_release(struct harness *h)
{
	arena_release(&h->arena);
}

static const struct reading *find_reading(const struct harness *h, const char *metric,
                                          const char *point)
{
	const struct reading *found = NULL;

	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];

		if (strcmp(r->metric, metric) != 0)
			continue;
		if (point && (!r->point || strcmp(r->point, point) != 0))
			continue;
		if (found)
			fail_msg("%s: more than one reading", metric);
		found = r;
	}
	if (!found)
		fail_msg("%s: no reading", metric);
	return found;
}

const struct reading *harness_reading(const struct harness *h, const char *metric)
{
	return find_reading(h, metric, NULL);
}

const struct reading *harness_reading_at(const struct harness *h, const char *metric,
                                         const char *point)
{
	return find_reading(h, metric, point);
}

int harness_count(const struct harness *h, const char *metric)
{
	int n = 0;

	for (int i = 0; i < h->n_readings; i++)
		n += strcmp(h->readings[i].metric, metric) == 0;
	return n;
}

const struct reading *harness_expect(const struct harness *h, const char *metric,
                                     enum outcome outcome, const char *code)
{
	const struct reading *r = harness_reading(h, metric);

	assert_string_equal(outcome_name(r->outcome), outcome_name(outcome));
	if (code)
		assert_string_equal(r->reason.code, code);
	else
		assert_null(r->reason.code);
	return r;
}

const struct harness_raw *harness_raw(const struct harness *h, const char *name)
{
	for (int i = 0; i < h->n_raws; i++)
		if (strcmp(h->raws[i].name, name) == 0)
			return &h->raws[i];
	return NULL;
}

static void parse_params(struct json_doc *doc, const struct reading *r, const char *key)
{
	if (!r->params)
		fail_msg("%s: no params", r->metric);
	assert_int_equal(json_parse(doc, "params", r->params, strlen(r->params), JSON_STRICT, NULL),
	                 ST_OK);
	if (!json_get(doc->root, key))
		fail_msg("%s: params have no %s: %s", r->metric, key, r->params);
}

double harness_param(const struct reading *r, const char *key)
{
	struct json_doc doc;
	double value;

	parse_params(&doc, r, key);
	value = json_number(doc.root, key, NAN);
	json_release(&doc);
	if (isnan(value))
		fail_msg("%s: params.%s is not a number", r->metric, key);
	return value;
}

const char *harness_param_text(struct harness *h, const struct reading *r, const char *key)
{
	struct json_doc doc;
	const char *value;

	parse_params(&doc, r, key);
	value = arena_str(&h->arena, json_string(doc.root, key, NULL));
	json_release(&doc);
	if (!value)
		fail_msg("%s: params.%s is not a text", r->metric, key);
	return value;
}

/* --- a clock by hand ---------------------------------------------------------- */

static int64_t fake_now(void *self)
{
	struct fake_clock *c = self;

	c->now_ns += c->step_ns;
	return c->now_ns;
}

static int64_t fake_wall(void *self)
{
	struct fake_clock *c = self;

	return 1764633600LL * NS_PER_S + c->now_ns;
}

static void fake_sleep(void *self, int64_t ns)
{
	struct fake_clock *c = self;

	c->now_ns += ns;
}

void fake_clock_init(struct fake_clock *c, int64_t now_ns, int64_t step_ns)
{
	*c = (struct fake_clock){
		.source = {fake_now, fake_wall, fake_sleep, c},
		.now_ns = now_ns,
		.step_ns = step_ns,
	};
}
