/* Orders, pledges and answers as texts. They come from other processes on other
 * machines: nothing in them is believed that cannot be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "gemm_rows.h"
#include "talk.h"

static const char *const step_names[ROWS_STEPS] = {"multiply", "show", "over"};
static const char digits[] = "0123456789abcdef";

/* --- orders ------------------------------------------------------------------------ */

enum status rows_send_order(struct probe_ctx *ctx, int to, const struct rows_order *o)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "step", step_names[o->step]);
	json_put_string(&j, "seed", tmpf("%016llx", (unsigned long long)o->seed));
	json_array_begin(&j, "rows");
	for (int i = 0; i < o->n_rows; i++)
		json_put_int(&j, NULL, o->rows[i]);
	json_array_end(&j);
	return talk_send(ctx, to, &j);
}

static bool read_order(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct rows_order *o = out;
	const char *step = json_string(root, "step", "");
	const cJSON *list = json_get(root, "rows"), *row;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	int *rows = arena_array(arena, (size_t)n + 1, sizeof(*rows));

	*o = (struct rows_order){.step = ROWS_STEPS, .rows = rows};
	for (int i = 0; i < ROWS_STEPS; i++)
		if (strcmp(step_names[i], step) == 0)
			o->step = (enum rows_step)i;
	o->seed = strtoull(json_string(root, "seed", "0"), NULL, 16);
	cJSON_ArrayForEach(row, list) rows[o->n_rows++] = cJSON_IsNumber(row) ? row->valueint : -1;
	return o->step != ROWS_STEPS;
}

enum status rows_recv_order(struct probe_ctx *ctx, double seconds, struct rows_order *order)
{
	return talk_receive(ctx, 0, seconds, read_order, order);
}

/* --- pledges ------------------------------------------------------------------------ */

static void put_card(struct json_out *j, const struct rows_card *c)
{
	json_object_begin(j, NULL);
	json_put_string(j, "id", c->id);
	json_put_string(j, "pci", c->pci);
	json_put_int(j, "index", c->index);
	json_put_bool(j, "gpu", c->gpu);
	json_put_string(j, "outcome", outcome_name(c->outcome));
	json_put_string(j, "why", c->why);
	json_put_string(j, "root", c->root);
	json_put_string(j, "device", c->device);
	json_put_string(j, "library", c->library);
	json_object_end(j);
}

enum status rows_send_pledge(struct probe_ctx *ctx, const struct rows_pledge *p)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_bool(&j, "driver", p->driver);
	json_put_bool(&j, "simulated", p->simulated);
	json_array_begin(&j, "cards");
	for (int i = 0; i < p->n_cards; i++)
		put_card(&j, &p->cards[i]);
	json_array_end(&j);
	return talk_send(ctx, 0, &j);
}

static bool read_card(struct arena *arena, const cJSON *o, struct rows_card *c)
{
	*c = (struct rows_card){
		.id = talk_text(arena, o, "id"),
		.pci = talk_text(arena, o, "pci"),
		.index = talk_whole(o, "index", 0, 1 << 20),
		.gpu = json_bool(o, "gpu", false),
		.why = talk_text(arena, o, "why"),
		.root = talk_text(arena, o, "root"),
		.device = talk_text(arena, o, "device"),
		.library = talk_text(arena, o, "library"),
	};
	if (!c->id || !*c->id || !outcome_parse(json_string(o, "outcome", ""), &c->outcome))
		return false;
	return c->outcome == OUTCOME_MEASURED ? rows_digest_valid(c->root) : c->why != NULL;
}

static bool read_pledge(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct rows_pledge *p = out;
	const cJSON *list = json_get(root, "cards"), *card;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

	*p = (struct rows_pledge){.driver = json_bool(root, "driver", false),
	                          .simulated = json_bool(root, "simulated", false)};
	if (n < 1 || n > ROWS_CARDS_MOST)
		return false;
	p->cards = arena_array(arena, (size_t)n, sizeof(*p->cards));
	cJSON_ArrayForEach(card,
	                   list) if (!read_card(arena, card, &p->cards[p->n_cards++])) return false;
	return true;
}

enum status rows_recv_pledge(struct probe_ctx *ctx, int from, double seconds,
                             struct rows_pledge *pledge)
{
	return talk_receive(ctx, from, seconds, read_pledge, pledge);
}

/* --- answers ------------------------------------------------------------------------ */

static void put_hex(struct json_out *j, const char *key, const unsigned char *data, size_t len)
{
	struct str hex = {0};

	for (size_t i = 0; i < len; i++) {
		str_addc(&hex, digits[data[i] >> 4]);
		str_addc(&hex, digits[data[i] & 15]);
	}
	json_put_string(j, key, str_text(&hex));
	str_release(&hex);
}

/* NULL: not hexadecimal. */
static const void *read_hex(struct arena *arena, const char *text, size_t *bytes)
{
	unsigned char *data;

	*bytes = strlen(text) / 2;
	if (*bytes == 0 || strlen(text) % 2 || strspn(text, digits) != strlen(text))
		return NULL;
	data = arena_alloc(arena, *bytes);
	for (size_t i = 0; i < 2 * *bytes; i++)
		data[i / 2] =
			(unsigned char)(data[i / 2] << 4 | (strchr(digits, text[i]) - digits));
	return data;
}

enum status rows_send_answer(struct probe_ctx *ctx, const struct rows_answer *a)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "card", a->card);
	put_hex(&j, "row", a->row, a->bytes);
	json_array_begin(&j, "proof");
	for (int i = 0; i < a->depth; i++)
		json_put_string(&j, NULL, a->proof[i]);
	json_array_end(&j);
	return talk_send(ctx, 0, &j);
}

static bool read_answer(struct probe_ctx *ctx, const cJSON *root, void *out)
{
	struct arena *arena = ctx->arena;
	struct rows_answer *a = out;
	const cJSON *list = json_get(root, "proof"), *one;

	*a = (struct rows_answer){.card = talk_whole(root, "card", 0, ROWS_CARDS_MOST)};
	a->row = read_hex(arena, json_string(root, "row", ""), &a->bytes);
	if (!a->row || !cJSON_IsArray(list) || cJSON_GetArraySize(list) > ROWS_DEPTH_MOST)
		return false;
	cJSON_ArrayForEach(one, list)
	{
		if (!cJSON_IsString(one) || !rows_digest_valid(one->valuestring))
			return false;
		a->proof[a->depth++] = arena_str(arena, one->valuestring);
	}
	return true;
}

enum status rows_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                             struct rows_answer *answer)
{
	return talk_receive(ctx, from, seconds, read_answer, answer);
}
