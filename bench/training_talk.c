/* Orders and answers as texts. They come from other processes on other machines:
 * nothing in them is believed that cannot be. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "talk.h"
#include "training.h"

static const char *const step_names[TRAINING_STEPS] = {
	[TRAINING_READY] = "ready", [TRAINING_ID] = "id",   [TRAINING_JOIN] = "join",
	[TRAINING_CHECK] = "check", [TRAINING_RUN] = "run", [TRAINING_LEAVE] = "leave",
	[TRAINING_OVER] = "over",
};

/* --- orders ------------------------------------------------------------------------------ */

enum status training_send_order(struct probe_ctx *ctx, int to, const struct training_order *o)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", step_names[o->step]);
	json_put_int(&j, "nodes", o->nodes);
	json_put_int(&j, "first", o->first);
	json_put_int(&j, "ranks", o->ranks);
	json_put_string(&j, "id", o->id);
	json_put_int(&j, "mode", o->mode);
	json_put_int(&j, "tokens", o->tokens);
	json_put_int(&j, "warm", o->warm);
	json_put_int(&j, "steps", o->steps);
	json_put_bool(&j, "together", o->together);
	json_put_int(&j, "turn", o->turn);
	json_put_number(&j, "clock_s", o->clock_s);
	return talk_send(ctx, to, &j);
}

static bool read_order(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct training_order *o = out;
	const char *step = json_string(root, "step", "");
	int mode = talk_whole(root, "mode", 0, TRAINING_MODES - 1);

	*o = (struct training_order){
		.step = TRAINING_STEPS,
		.nodes = talk_whole(root, "nodes", 0, 1 << 20),
		.first = talk_whole(root, "first", 0, 1 << 26),
		.ranks = talk_whole(root, "ranks", 0, 1 << 26),
		.id = arena_str(arena, json_string(root, "id", NULL)),
		.tokens = talk_whole(root, "tokens", 0, 1 << 20),
		.warm = talk_whole(root, "warm", 0, TRAINING_STEPS_MOST),
		.steps = talk_whole(root, "steps", 0, TRAINING_STEPS_MOST),
		.together = json_bool(root, "together", false),
		.turn = talk_whole(root, "turn", 0, 1 << 20),
		.clock_s = json_number(root, "clock_s", 0),
	};
	for (int i = 0; i < TRAINING_STEPS; i++)
		if (strcmp(step_names[i], step) == 0)
			o->step = (enum training_step)i;
	o->mode = mode < 0 ? TRAINING_MODES : (enum training_mode)mode;
	return o->step != TRAINING_STEPS && mode >= 0 && o->nodes >= 0 && o->first >= 0 &&
	       o->ranks >= 0 && o->turn >= 0 && o->tokens >= 0 && o->warm >= 0 && o->steps >= 0 &&
	       (o->step != TRAINING_RUN || (o->tokens > 0 && o->steps > 0));
}

enum status training_recv_order(struct probe_ctx *ctx, double seconds, struct training_order *o)
{
	return talk_receive(ctx, 0, seconds, read_order, o);
}

/* --- answers ------------------------------------------------------------------------------ */

static void put_cards(struct json_out *j, const struct training_answer *a)
{
	json_array_begin(j, "cards");
	for (int i = 0; i < a->n_cards; i++) {
		const struct training_card *c = &a->cards[i];

		json_object_begin(j, NULL);
		json_put_string(j, "id", c->id);
		json_put_string(j, "pci", c->pci);
		json_put_string(j, "name", c->name);
		json_put_int(j, "index", c->index);
		json_put_number(j, "step_s", c->step_s);
		json_put_number(j, "wrong", c->wrong);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Six digits are finer than any two steps are alike, and they are many. */
static void put_steps(struct json_out *j, const struct training_answer *a)
{
	json_array_begin(j, "steps");
	for (int i = 0; i < a->n_steps; i++)
		json_put_raw(j, NULL, tmpf("%.6g", a->steps[i]));
	json_array_end(j);
}

enum status training_send_answer(struct probe_ctx *ctx, const struct training_answer *a)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "outcome", outcome_name(a->outcome));
	json_put_string(&j, "why", a->why);
	json_put_bool(&j, "waited", a->waited);
	json_put_bool(&j, "gpus", a->gpus);
	json_put_bool(&j, "simulated", a->simulated);
	json_put_string(&j, "library", a->library);
	json_put_string(&j, "format", a->format);
	json_put_string(&j, "id", a->id);
	json_put_number(&j, "work_s", a->work_s);
	json_put_number(&j, "checked", a->checked);
	json_put_number(&j, "clock_s", a->clock_s);
	put_cards(&j, a);
	put_steps(&j, a);
	return talk_send(ctx, 0, &j);
}

static bool read_cards(struct arena *arena, const cJSON *root, struct training_answer *a)
{
	const cJSON *list = json_get(root, "cards"), *item;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

	if (n > TRAINING_CARDS_MOST)
		return false;
	a->cards = arena_array(arena, (size_t)n + 1, sizeof(*a->cards));
	cJSON_ArrayForEach(item, list)
	{
		struct training_card *c = &a->cards[a->n_cards++];

		c->id = arena_str(arena, json_string(item, "id", NULL));
		c->pci = arena_str(arena, json_string(item, "pci", NULL));
		c->name = arena_str(arena, json_string(item, "name", NULL));
		c->index = talk_whole(item, "index", 0, 1 << 20);
		c->step_s = json_number(item, "step_s", NAN);
		c->wrong = json_number(item, "wrong", NAN);
		if (!c->id || !(c->step_s >= 0) || !(c->wrong >= 0))
			return false;
	}
	return true;
}

static bool read_steps(struct arena *arena, const cJSON *root, struct training_answer *a)
{
	const cJSON *list = json_get(root, "steps"), *item;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

	if (n > TRAINING_STEPS_MOST)
		return false;
	a->steps = arena_array(arena, (size_t)n + 1, sizeof(*a->steps));
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNumber(item) || !(item->valuedouble > 0))
			return false;
		a->steps[a->n_steps++] = item->valuedouble;
	}
	return true;
}

static bool read_answer(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct training_answer *a = out;

	*a = (struct training_answer){
		.why = arena_str(arena, json_string(root, "why", NULL)),
		.waited = json_bool(root, "waited", false),
		.gpus = json_bool(root, "gpus", false),
		.simulated = json_bool(root, "simulated", false),
		.library = arena_str(arena, json_string(root, "library", NULL)),
		.format = arena_str(arena, json_string(root, "format", NULL)),
		.id = arena_str(arena, json_string(root, "id", NULL)),
		.work_s = json_number(root, "work_s", 0),
		.checked = json_number(root, "checked", 0),
		.clock_s = json_number(root, "clock_s", 0),
	};
	if (!outcome_parse(json_string(root, "outcome", ""), &a->outcome))
		return false;
	if (a->outcome != OUTCOME_MEASURED)
		return a->why != NULL;
	return a->work_s >= 0 && a->checked >= 0 && read_cards(arena, root, a) &&
	       read_steps(arena, root, a);
}

void training_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                          struct training_answer *a)
{
	enum status st = talk_receive(ctx, from, seconds, read_answer, a);

	if (st == ST_OK)
		return;
	*a = (struct training_answer){.outcome = OUTCOME_NOT_MEASURED};
	a->why = arena_str(ctx->arena,
	                   st == ST_PARSE ? say(MSG_training_garbled) : say(MSG_training_silent));
}
