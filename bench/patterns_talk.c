/* Texts between the children of the patterns, by way of the coordinator and not over
 * what is measured. Each has its kind and the number of its step, so that a late one is
 * not taken for an answer; what is in them comes from other machines and is believed
 * only as far as it can be. */
#include "patterns.h"

#include <string.h>

#include "talk.h"

void patterns_text_begin(struct patterns_text *t, const char *kind, int step)
{
	*t = (struct patterns_text){0};
	t->j = json_writer(&t->text, 0);
	json_object_begin(&t->j, NULL);
	json_put_string(&t->j, "kind", kind);
	json_put_int(&t->j, "step", step);
}

enum status patterns_text_send(struct probe_ctx *ctx, int to, struct patterns_text *t)
{
	return talk_send(ctx, to, &t->j);
}

enum status patterns_text_recv(struct probe_ctx *ctx, int from, const char *kind, int step,
                               double seconds, struct json_doc *doc)
{
	enum status st = talk_document(ctx, from, seconds, doc);

	if (st != ST_OK)
		return st;
	/* Without a kind: any. */
	if ((!kind || strcmp(json_string(doc->root, "kind", ""), kind) == 0) &&
	    (step < 0 || json_number(doc->root, "step", -1) == step))
		return ST_OK;
	json_release(doc);
	return ST_PARSE;
}

void patterns_read_fault(struct probe_ctx *ctx, const cJSON *o, struct net_fault *fault)
{
	const char *const *args;
	enum outcome outcome;
	enum msg id;

	if (net_fault_read(ctx, o, &outcome, &id, &args))
		net_fault_list(ctx, fault, outcome, id, args);
}
