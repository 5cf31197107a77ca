/* Texts between the two children of the RDMA probe. They go by way of the
 * coordinator and not over the fabric: what is to be found broken must not be what
 * the finding depends on. Every text has the number of its step, so that a late one
 * is not taken for an answer. */
#include "rdma.h"

#include <errno.h>
#include <string.h>

/* Who waits in vain for the other end's hardware says so after silence_s: his text is
 * waited for longer. */
#define SLACK_S 2

int64_t rdma_until(const struct rdma *r, double seconds)
{
	int64_t until = clock_now(r->ctx->clock) + (int64_t)(seconds * 1e9);

	return until < r->ctx->deadline_ns ? until : r->ctx->deadline_ns;
}

static bool lose(struct rdma *r, int errnum)
{
	rdma_blame(r, &r->trouble, OUTCOME_NOT_MEASURED, MSG_rdma_peer_gone, r->ctx->peers[r->self],
	           r->ctx->peers[r->other], strerror(errnum));
	return false;
}

void rdma_text_begin(struct rdma *r, struct rdma_text *t, const struct net_fault *fault)
{
	*t = (struct rdma_text){0};
	t->j = json_writer(&t->text, 0);
	json_object_begin(&t->j, NULL);
	json_put_int(&t->j, "step", r->step);
	if (!fault->reason.code)
		return;
	json_object_begin(&t->j, "fault");
	json_put_string(&t->j, "outcome", outcome_name(fault->outcome));
	json_put_string(&t->j, "code", fault->reason.code);
	json_array_begin(&t->j, "args");
	for (int i = 0; i < fault->reason.n_args; i++)
		json_put_string(&t->j, NULL, fault->reason.args[i]);
	json_array_end(&t->j);
	json_object_end(&t->j);
}

bool rdma_text_send(struct rdma *r, struct rdma_text *t)
{
	enum status st;

	json_object_end(&t->j);
	st = r->ctx->send_text(r->ctx, r->other, str_text(&t->text));
	str_release(&t->text);
	return st == ST_OK || lose(r, EMSGSIZE);
}

static void hear_fault(struct rdma *r, const cJSON *told, struct net_fault *fault)
{
	const cJSON *args = json_get(told, "args"), *arg;
	const char **list = arena_array(
		r->ctx->arena, (size_t)(args ? cJSON_GetArraySize(args) : 0) + 1, sizeof(*list));
	enum outcome outcome;
	enum msg id;
	int n = 0;

	if (!outcome_parse(json_string(told, "outcome", ""), &outcome) ||
	    !msg_parse(json_string(told, "code", ""), &id))
		return;
	cJSON_ArrayForEach(arg, args)
	{
		if (cJSON_IsString(arg))
			list[n++] = arg->valuestring;
	}
	rdma_blame_list(r, fault, outcome, id, list);
}

enum status rdma_text_look(struct rdma *r, struct json_doc *doc, struct net_fault *fault,
                           double seconds)
{
	const char *text;
	enum status st = r->ctx->recv_text(r->ctx, r->other, seconds, &text);

	if (st != ST_OK)
		return st;
	if (json_parse(doc, "text", text, strlen(text), JSON_STRICT, NULL) != ST_OK)
		return ST_PARSE;
	if (json_int64(doc->root, "step", -1) != r->step) {
		json_release(doc);
		return ST_PARSE;
	}
	if (json_get(doc->root, "fault"))
		hear_fault(r, json_get(doc->root, "fault"), fault);
	return ST_OK;
}

bool rdma_text_await(struct rdma *r, struct json_doc *doc, struct net_fault *fault, double seconds)
{
	double left = (double)(r->ctx->deadline_ns - clock_now(r->ctx->clock)) / 1e9;
	enum status st = rdma_text_look(r, doc, fault, left < seconds ? left : seconds);

	if (st == ST_OK)
		return true;
	return lose(r, st == ST_TIMEOUT ? ETIMEDOUT : st == ST_PARSE ? EPROTO : ECONNRESET);
}

bool rdma_agree(struct rdma *r, struct net_fault *fault)
{
	struct rdma_text t;
	struct json_doc doc;

	r->step++;
	rdma_text_begin(r, &t, fault);
	if (!rdma_text_send(r, &t) || !rdma_text_await(r, &doc, fault, 2 * r->silence_s + SLACK_S))
		return false;
	json_release(&doc);
	return !fault->reason.code;
}
