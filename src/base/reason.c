/* Reasons: a message id with its arguments, kept beside the English text, which
 * is what a run stores: it must not depend on the language of who started it. */
#include "assay/probe.h"
#include "base/arena.h"
#include "base/msg.h"

void reason_set_list(struct probe_ctx *ctx, struct reason *reason, enum msg id,
                     const char *const *args)
{
	enum language before = msg_speak(LANGUAGE_EN);
	int n = 0;
	const char **kept;

	while (args[n])
		n++;
	kept = arena_array(ctx->arena, (size_t)n + 1, sizeof(*kept));
	for (int i = 0; i < n; i++)
		kept[i] = arena_str(ctx->arena, args[i]);
	*reason = (struct reason){
		.code = msg_name(id),
		.args = kept,
		.n_args = n,
		.text = arena_str(ctx->arena, say_list(id, kept)),
	};
	msg_speak(before);
}

void reason_say(struct str *out, const struct reason *reason)
{
	const char *args[10] = {0};
	enum msg id;

	if (msg_spoken() == LANGUAGE_EN || !reason->code || !msg_parse(reason->code, &id) ||
	    msg_arity(msg_format(id)) > reason->n_args) {
		msg_again(out, reason->text ? reason->text : "");
		return;
	}
	for (int i = 0; i < reason->n_args && i < 9; i++)
		args[i] = reason->args[i];
	msg_add_again(out, id, args);
}
