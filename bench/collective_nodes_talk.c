/* Hellos, orders and answers of collective_nodes as texts. They come from other
 * processes on other machines: nothing in them is believed that cannot be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "collective_nodes.h"
#include "talk.h"

#define ID_HEX (2 * sizeof(nccl_id))

static const char *const step_names[NODES_STEPS] = {"begin", "join",  "try",
                                                    "time",  "leave", "over"};

/* Not a positive number: NaN. */
static double positive(const cJSON *o, const char *key)
{
	double x = json_number(o, key, NAN);

	return x > 0 ? x : NAN;
}

/* --- hellos ------------------------------------------------------------------------- */

enum status nodes_send_hello(struct probe_ctx *ctx, const struct nodes_hello *h)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_bool(&j, "driver", h->driver);
	json_array_begin(&j, "cards");
	for (int i = 0; i < h->n_cards; i++)
		json_put_string(&j, NULL, h->cards[i]);
	json_array_end(&j);
	json_put_int(&j, "room", (int64_t)h->room);
	json_put_int(&j, "nics", h->nics);
	json_put_number(&j, "nic_gbs", h->nic_gbs);
	json_put_bool(&j, "simulated", h->simulated);
	json_put_number(&j, "memory_scale", h->memory_scale);
	json_put_string(&j, "outcome", outcome_name(h->outcome));
	json_put_string(&j, "why", h->why);
	json_put_string(&j, "environment", h->environment);
	json_put_string(&j, "library", h->library);
	json_put_string(&j, "path", h->path);
	return talk_send(ctx, 0, &j);
}

static bool read_hello(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct nodes_hello *h = out;
	const cJSON *cards = json_get(root, "cards"), *card;

	*h = (struct nodes_hello){
		.driver = json_bool(root, "driver", false),
		.room = (uint64_t)fmax(0, (double)json_int64(root, "room", 0)),
		.nics = talk_whole(root, "nics", 0, 1024),
		.nic_gbs = positive(root, "nic_gbs"),
		.simulated = json_bool(root, "simulated", false),
		.memory_scale = json_number(root, "memory_scale", 1),
		.why = talk_text(arena, root, "why"),
		.environment = talk_text(arena, root, "environment"),
		.library = talk_text(arena, root, "library"),
		.path = talk_text(arena, root, "path"),
	};
	if (!outcome_parse(json_string(root, "outcome", ""), &h->outcome) || h->nics < 0 ||
	    !(h->memory_scale >= 1) || (h->outcome != OUTCOME_MEASURED && !h->why) ||
	    !cJSON_IsArray(cards) || cJSON_GetArraySize(cards) > NODES_CARDS_MOST)
		return false;
	cJSON_ArrayForEach(card, cards)
	{
		if (!cJSON_IsString(card))
			return false;
		h->cards[h->n_cards++] = arena_str(arena, card->valuestring);
	}
	/* Who is ready has something to be ready with. */
	return h->outcome != OUTCOME_MEASURED || !h->driver ||
	       (h->n_cards > 0 && h->room >= NODES_SMALLEST);
}

enum status nodes_recv_hello(struct probe_ctx *ctx, int from, double seconds,
                             struct nodes_hello *hello)
{
	return talk_receive(ctx, from, seconds, read_hello, hello);
}

/* --- orders --------------------------------------------------------------------------- */

static void put_id(struct json_out *j, const nccl_id *id)
{
	static const char digits[] = "0123456789abcdef";
	char hex[ID_HEX + 1] = "";

	for (size_t i = 0; i < sizeof(*id); i++) {
		unsigned char byte = (unsigned char)id->bytes[i];

		hex[2 * i] = digits[byte >> 4];
		hex[2 * i + 1] = digits[byte & 15];
	}
	json_put_string(j, NULL, hex);
}

static bool read_id(const cJSON *item, nccl_id *id)
{
	const char *hex = cJSON_IsString(item) ? item->valuestring : "";

	if (strlen(hex) != ID_HEX || strspn(hex, "0123456789abcdef") != ID_HEX)
		return false;
	for (size_t i = 0; i < sizeof(*id); i++) {
		const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};

		id->bytes[i] = (char)strtol(pair, NULL, 16);
	}
	return true;
}

enum status nodes_send_order(struct probe_ctx *ctx, int to, const struct nodes_order *o)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", step_names[o->step]);
	json_put_bool(&j, "ring", o->ring);
	json_array_begin(&j, "members");
	for (int i = 0; i < o->n_members; i++)
		json_put_int(&j, NULL, o->members[i]);
	json_array_end(&j);
	json_put_int(&j, "turn", o->turn);
	json_put_int(&j, "first_rank", o->first_rank);
	json_put_int(&j, "ranks", o->ranks);
	json_put_bool(&j, "rails", o->rails);
	json_put_string(&j, "algorithm", o->algorithm);
	json_array_begin(&j, "ids");
	for (int i = 0; i < o->n_ids; i++)
		put_id(&j, &o->ids[i]);
	json_array_end(&j);
	json_put_int(&j, "bytes", (int64_t)o->bytes);
	json_put_int(&j, "checks", o->checks);
	json_put_int(&j, "calls", o->calls);
	json_put_int(&j, "windows", o->windows);
	return talk_send(ctx, to, &j);
}

static bool read_members(struct probe_ctx *ctx, const cJSON *root, struct nodes_order *o)
{
	const cJSON *list = json_get(root, "members"), *item;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	int *members = arena_array(ctx->arena, (size_t)n + 1, sizeof(*members));

	o->members = members;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
		    !(item->valuedouble < ctx->n_peers))
			return false;
		members[o->n_members++] = item->valueint;
	}
	return true;
}

static bool read_ids(struct arena *arena, const cJSON *root, struct nodes_order *o)
{
	const cJSON *list = json_get(root, "ids"), *item;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	nccl_id *ids;

	if (n > NODES_CARDS_MOST)
		return false;
	ids = arena_array(arena, (size_t)n + 1, sizeof(*ids));
	o->ids = ids;
	cJSON_ArrayForEach(item, list) if (!read_id(item, &ids[o->n_ids++])) return false;
	return true;
}

static bool read_order(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct nodes_order *o = out;
	const char *step = json_string(root, "step", "");

	*o = (struct nodes_order){
		.step = NODES_STEPS,
		.ring = json_bool(root, "ring", false),
		.turn = talk_whole(root, "turn", 0, 1 << 15),
		.first_rank = talk_whole(root, "first_rank", 0, 1 << 24),
		.ranks = talk_whole(root, "ranks", 0, 1 << 24),
		.rails = json_bool(root, "rails", false),
		.algorithm = talk_text(ctx->arena, root, "algorithm"),
		.bytes = (uint64_t)fmax(0, (double)json_int64(root, "bytes", 0)),
		.checks = talk_whole(root, "checks", 0, 1 << 20),
		.calls = talk_whole(root, "calls", 0, 1 << 20),
		.windows = talk_whole(root, "windows", 0, 1 << 20),
	};
	for (int i = 0; i < NODES_STEPS; i++)
		if (strcmp(step_names[i], step) == 0)
			o->step = (enum nodes_step)i;
	if (o->turn < 0 || o->first_rank < 0 || o->ranks < 0 || o->checks < 0 || o->calls < 0 ||
	    o->windows < 0)
		return false;
	if ((o->step == NODES_TRY && o->checks == 0) ||
	    (o->step == NODES_TIME && (o->calls == 0 || o->windows == 0)) ||
	    ((o->step == NODES_TRY || o->step == NODES_TIME) && o->bytes < NODES_SMALLEST))
		return false;
	return o->step != NODES_STEPS && read_members(ctx, root, o) &&
	       read_ids(ctx->arena, root, o) && (o->step != NODES_JOIN || o->n_members > 0);
}

enum status nodes_recv_order(struct probe_ctx *ctx, double seconds, struct nodes_order *order)
{
	return talk_receive(ctx, 0, seconds, read_order, order);
}

/* --- answers ---------------------------------------------------------------------------- */

enum status nodes_send_answer(struct probe_ctx *ctx, const struct nodes_answer *a)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "outcome", outcome_name(a->outcome));
	json_put_string(&j, "why", a->why);
	json_put_bool(&j, "gave_up", a->gave_up);
	json_put_int(&j, "blamed", a->blamed);
	json_put_string(&j, "missing", a->missing);
	json_put_string(&j, "late", a->late);
	json_put_number(&j, "seconds", a->seconds);
	json_array_begin(&j, "windows");
	for (int i = 0; i < a->n_windows; i++)
		json_put_number(&j, NULL, a->windows[i]);
	json_array_end(&j);
	json_put_string(&j, "slowest", a->slowest);
	json_put_string(&j, "algorithm", a->algorithm);
	json_put_int(&j, "checked", a->checked);
	json_put_int(&j, "wrong", a->wrong);
	json_put_string(&j, "wrong_at", a->wrong_at);
	return talk_send(ctx, 0, &j);
}

static bool read_windows(struct arena *arena, const cJSON *root, struct nodes_answer *a)
{
	const cJSON *list = json_get(root, "windows"), *item;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	double *windows = arena_array(arena, (size_t)n + 1, sizeof(*windows));

	a->windows = windows;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsNull(item) && !(cJSON_IsNumber(item) && item->valuedouble > 0))
			return false;
		windows[a->n_windows++] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
	}
	return true;
}

static bool read_answer(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct nodes_answer *a = out;
	double blamed = json_number(root, "blamed", -1);

	*a = (struct nodes_answer){
		.why = talk_text(ctx->arena, root, "why"),
		.gave_up = json_bool(root, "gave_up", false),
		.blamed = blamed >= 0 && blamed < ctx->n_peers ? (int)blamed : -1,
		.missing = talk_text(ctx->arena, root, "missing"),
		.late = talk_text(ctx->arena, root, "late"),
		.seconds = positive(root, "seconds"),
		.slowest = talk_text(ctx->arena, root, "slowest"),
		.algorithm = talk_text(ctx->arena, root, "algorithm"),
		.checked = json_int64(root, "checked", 0),
		.wrong = json_int64(root, "wrong", 0),
		.wrong_at = talk_text(ctx->arena, root, "wrong_at"),
	};
	return outcome_parse(json_string(root, "outcome", ""), &a->outcome) &&
	       (a->outcome == OUTCOME_MEASURED || a->why) && a->checked >= 0 && a->wrong >= 0 &&
	       read_windows(ctx->arena, root, a);
}

enum status nodes_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                              struct nodes_answer *answer)
{
	return talk_receive(ctx, from, seconds, read_answer, answer);
}
