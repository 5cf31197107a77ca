/* Reasons: a message id with its arguments, kept beside the English text. */
#include "assay/probe.h"
#include "base/arena.h"
#include "base/msg.h"

void reason_set_list(struct probe_ctx *ctx, struct reason *reason, enum msg id,
                     const char *const *args)
{
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
}
