/* Orders and answers as texts. A port, a rank or a size that cannot be is no order, and
 * an answer without its reason is none. */
#include <string.h>

#include "base/json.h"
#include "base/msg.h"
#include "frameworks_nodes.h"
#include "talk.h"

#define RANKS_MOST   (1 << 24)
#define WORKERS_MOST 4096

static const char *const step_names[FWN_STEPS] = {"ready", "reach", "run", "stop", "over"};

/* --- orders ------------------------------------------------------------------------------ */

enum status fwn_send_order(struct probe_ctx *ctx, int to, const struct fwn_order *o)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", step_names[o->step]);
	if (o->step == FWN_REACH) {
		json_object_begin(&j, "offer");
		net_offer_put(&j, &o->offer);
		json_object_end(&j);
	}
	if (o->step == FWN_RUN) {
		json_put_string(&j, "address", o->address);
		json_put_int(&j, "port", o->port);
		json_put_int(&j, "size", o->size);
		json_put_int(&j, "first", o->first);
		json_put_bool(&j, "brief", o->brief);
		json_put_bool(&j, "sums", o->sums);
		json_put_bool(&j, "off", o->off);
		json_put_number(&j, "seconds", o->seconds);
	}
	return talk_send(ctx, to, &j);
}

static bool read_run(struct arena *arena, const cJSON *root, struct fwn_order *o)
{
	struct net_address at;

	o->address = arena_str(arena, json_string(root, "address", ""));
	o->port = talk_whole(root, "port", 1, 65535);
	o->size = talk_whole(root, "size", 2, RANKS_MOST);
	o->first = talk_whole(root, "first", 1, RANKS_MOST);
	o->brief = json_bool(root, "brief", false);
	o->sums = json_bool(root, "sums", false);
	o->off = json_bool(root, "off", false);
	o->seconds = json_number(root, "seconds", 0);
	return o->port > 0 && o->size > 0 && o->first > 0 && o->first < o->size && o->seconds > 0 &&
	       o->seconds <= 86400 && net_address_parse(&at, o->address);
}

static bool read_order(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct fwn_order *o = out;
	const char *step = json_string(root, "step", "");

	*o = (struct fwn_order){.step = FWN_STEPS};
	for (int i = 0; i < FWN_STEPS; i++)
		if (strcmp(step_names[i], step) == 0)
			o->step = (enum fwn_step)i;
	if (o->step == FWN_REACH)
		return net_offer_read(&o->offer, arena, json_get(root, "offer"));
	if (o->step == FWN_RUN)
		return read_run(arena, root, o);
	return o->step != FWN_STEPS;
}

enum status fwn_recv_order(struct probe_ctx *ctx, double seconds, struct fwn_order *o)
{
	return talk_receive(ctx, 0, seconds, read_order, o);
}

/* --- answers ------------------------------------------------------------------------------ */

enum status fwn_send_answer(struct probe_ctx *ctx, const struct fwn_answer *a)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "outcome", outcome_name(a->outcome));
	json_put_string(&j, "why", a->why);
	json_put_bool(&j, "waited", a->waited);
	json_put_bool(&j, "cuda", a->cuda);
	json_put_int(&j, "workers", a->workers);
	json_put_string(&j, "version", a->version);
	json_put_string(&j, "python", a->python);
	json_put_string(&j, "engine", a->engine);
	json_put_string(&j, "engine_found", a->engine_found);
	json_put_bool(&j, "engine_on", a->engine_on);
	json_array_begin(&j, "reached");
	for (int i = 0; i < a->n_reached; i++)
		json_put_string(&j, NULL, a->reached[i]);
	json_array_end(&j);
	return talk_send(ctx, 0, &j);
}

static bool read_reached(struct arena *arena, const cJSON *list, struct fwn_answer *a)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item) || a->n_reached == FWN_REACHED_MOST)
			return false;
		a->reached[a->n_reached++] = arena_str(arena, item->valuestring);
	}
	return true;
}

static bool read_answer(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct fwn_answer *a = out;

	*a = (struct fwn_answer){.why = talk_text(arena, root, "why"),
	                         .waited = json_bool(root, "waited", false),
	                         .cuda = json_bool(root, "cuda", false),
	                         .workers = talk_whole(root, "workers", 0, WORKERS_MOST),
	                         .version = talk_text(arena, root, "version"),
	                         .python = talk_text(arena, root, "python"),
	                         .engine = talk_text(arena, root, "engine"),
	                         .engine_found = talk_text(arena, root, "engine_found"),
	                         .engine_on = json_bool(root, "engine_on", false)};
	return outcome_parse(json_string(root, "outcome", ""), &a->outcome) &&
	       (a->outcome == OUTCOME_MEASURED || a->why) && a->workers >= 0 &&
	       read_reached(arena, json_get(root, "reached"), a);
}

bool fwn_recv_answer(struct probe_ctx *ctx, int from, double seconds, struct fwn_answer *a)
{
	enum status st = talk_receive(ctx, from, seconds, read_answer, a);

	if (st == ST_TIMEOUT)
		return false;
	if (st != ST_OK)
		*a = (struct fwn_answer){
			.outcome = OUTCOME_NOT_MEASURED,
			.why = arena_str(ctx->arena, say(st == ST_PARSE ? MSG_training_garbled
		                                                        : MSG_training_silent))};
	return true;
}
