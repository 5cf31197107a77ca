/* Orders and answers as texts. They come from other processes on other machines:
 * nothing in them is believed that cannot be. */
#include "storage_all.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "talk.h"

#define LOOK_S 0.001 /* to see whether something has come */

static const char *const step_names[] = {
#define X(name, text) text,
	ALL_STEP_LIST(X)
#undef X
};

/* --- orders ----------------------------------------------------------------------- */

enum status all_send_order(struct probe_ctx *ctx, int to, const struct all_order *o)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", step_names[o->step]);
	json_put_number(&j, "sent_s", o->sent_s);
	json_put_number(&j, "at_s", o->at_s);
	json_put_int(&j, "depth", o->depth);
	json_put_string(&j, "engine", o->engine);
	json_put_int(&j, "bytes", o->bytes);
	return talk_send(ctx, to, &j);
}

static bool read_order(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct all_order *o = out;
	const char *step = json_string(root, "step", "");

	*o = (struct all_order){.step = ALL_STEPS};
	for (int i = 0; i < ALL_STEPS; i++)
		if (strcmp(step_names[i], step) == 0)
			o->step = (enum all_step)i;
	o->sent_s = json_number(root, "sent_s", NAN);
	o->at_s = json_number(root, "at_s", NAN);
	o->depth = talk_whole(root, "depth", 0, ALL_MOST_DEPTH);
	o->engine = arena_str(arena, json_string(root, "engine", NULL));
	o->bytes = json_int64(root, "bytes", -1);
	return o->step != ALL_STEPS && isfinite(o->sent_s) && isfinite(o->at_s) && o->depth >= 0 &&
	       o->bytes >= 0;
}

enum status all_recv_order(struct probe_ctx *ctx, double seconds, struct all_order *order)
{
	return talk_receive(ctx, 0, seconds, read_order, order);
}

/* --- answers ------------------------------------------------------------------------ */

/* Whole numbers: the rate of a window is not better known, and they are many. */
static void put_windows(struct json_out *j, const struct share *s)
{
	json_array_begin(j, "windows");
	for (size_t i = 0; i < s->n_windows; i++)
		json_put_int(j, NULL, (int64_t)llround(s->windows[i]));
	json_array_end(j);
}

enum status all_send_answer(struct probe_ctx *ctx, const struct all_answer *a)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "outcome", outcome_name(a->outcome));
	json_put_string(&j, "why", a->why);
	json_put_string(&j, "seen", a->seen);
	json_put_int(&j, "cards", a->cards);
	json_put_int(&j, "room", a->room);
	json_put_string(&j, "engine", a->engine);
	json_put_string(&j, "fs", a->fs);
	json_put_string(&j, "kind", a->kind);
	json_put_int(&j, "bytes", a->bytes);
	json_put_number(&j, "ios", a->share.ios);
	json_put_number(&j, "start_s", a->share.start_s);
	json_put_number(&j, "end_s", a->share.end_s);
	json_put_number(&j, "window_s", a->share.window_s);
	put_windows(&j, &a->share);
	json_put_number(&j, "mean_s", a->mean_s);
	json_put_number(&j, "p99_s", a->p99_s);
	json_put_bool(&j, "client_bound", a->client_bound);
	return talk_send(ctx, 0, &j);
}

/* False: one of them is no rate. */
static bool read_windows(struct arena *arena, const cJSON *root, struct share *s)
{
	const cJSON *list = json_get(root, "windows"), *w;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	double *windows;

	if (n == 0)
		return true;
	windows = arena_array(arena, (size_t)n, sizeof(*windows));
	s->windows = windows;
	cJSON_ArrayForEach(w, list)
	{
		if (!cJSON_IsNumber(w) || !(w->valuedouble >= 0))
			return false;
		windows[s->n_windows++] = w->valuedouble;
	}
	return s->window_s > 0;
}

static bool read_answer(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct all_answer *a = out;
	struct share *s = &a->share;

	*a = (struct all_answer){.why = arena_str(arena, json_string(root, "why", NULL))};
	if (!outcome_parse(json_string(root, "outcome", ""), &a->outcome))
		return false;
	if (a->outcome != OUTCOME_MEASURED)
		return a->why != NULL;
	a->seen = arena_str(arena, json_string(root, "seen", NULL));
	a->cards = talk_whole(root, "cards", 0, 1 << 20);
	if (a->cards < 0 && json_number(root, "cards", 0) != -1) /* -1 is said: unknown */
		return false;
	a->room = talk_whole(root, "room", 0, ALL_MOST_DEPTH);
	a->engine = arena_str(arena, json_string(root, "engine", NULL));
	a->fs = arena_str(arena, json_string(root, "fs", NULL));
	a->kind = arena_str(arena, json_string(root, "kind", NULL));
	a->bytes = json_int64(root, "bytes", 0);
	s->ios = json_number(root, "ios", 0);
	s->start_s = json_number(root, "start_s", 0);
	s->end_s = json_number(root, "end_s", 0);
	s->window_s = json_number(root, "window_s", 0);
	a->mean_s = json_number(root, "mean_s", 0);
	a->p99_s = json_number(root, "p99_s", 0);
	a->client_bound = json_bool(root, "client_bound", false);
	return a->room >= 0 && s->ios >= 0 && s->end_s >= s->start_s && a->mean_s >= 0 &&
	       a->p99_s >= 0 && a->bytes >= 0 && read_windows(arena, root, s);
}

void all_recv_answer(struct probe_ctx *ctx, int from, double seconds, struct all_answer *answer)
{
	enum status st = talk_receive(ctx, from, seconds, read_answer, answer);

	if (st == ST_OK)
		return;
	*answer = (struct all_answer){.outcome = OUTCOME_NOT_MEASURED};
	answer->why = arena_str(ctx->arena, st == ST_PARSE ? say(MSG_storage_all_garbled)
	                                                   : say(MSG_storage_all_silent));
}

void all_take_in(struct probe_ctx *ctx)
{
	const char *text;

	/* Nobody writes to himself: so this only reads what is there. */
	ctx->recv_text(ctx, ctx->self_index, LOOK_S, &text);
}
