#include "talk.h"

#include <math.h>
#include <string.h>

#define LOOK_S 0.001 /* to see whether something has come */

enum status talk_send(struct probe_ctx *ctx, int to, struct json_out *j)
{
	enum status st;

	json_object_end(j);
	st = ctx->send_text(ctx, to, j->out->data);
	str_release(j->out);
	return st;
}

enum status talk_document(struct probe_ctx *ctx, int from, double seconds, struct json_doc *doc)
{
	const char *text;
	enum status st = ctx->recv_text(ctx, from, fmax(seconds, LOOK_S), &text);

	if (st != ST_OK)
		return st;
	return json_parse(doc, "text", text, strlen(text), JSON_STRICT, NULL) == ST_OK ? ST_OK
	                                                                               : ST_PARSE;
}

enum status talk_receive(struct probe_ctx *ctx, int from, double seconds, talk_reader *read,
                         void *out)
{
	struct json_doc doc;
	enum status st = talk_document(ctx, from, seconds, &doc);

	if (st != ST_OK)
		return st;
	st = read(ctx, doc.root, out) ? ST_OK : ST_PARSE;
	json_release(&doc);
	return st;
}

int talk_whole(const cJSON *o, const char *key, int least, int most)
{
	int value = json_int(o, key, -1);

	return value >= least && value <= most ? value : -1;
}

int64_t talk_count(const cJSON *item, double most)
{
	double value = cJSON_IsNumber(item) ? item->valuedouble : -1;

	return value >= 0 && value <= most && value == floor(value) ? (int64_t)value : -1;
}

const char *talk_text(struct arena *arena, const cJSON *o, const char *key)
{
	return arena_str(arena, json_string(o, key, NULL));
}
