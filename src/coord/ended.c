/* Crashes, hangs and what ended them, in words. */
#include "coord/ended.h"

#include <string.h>

#include "assay/probe.h"

static void make_reason(struct arena *arena, struct reason *reason, enum msg id,
                        const char *const *args)
{
	struct probe_ctx ctx = {.arena = arena};

	reason_set_list(&ctx, reason, id, args);
}
#define because(id, ...) make_reason(arena, reason, id, (const char *const[]){__VA_ARGS__, NULL})

/* Last line of what the child wrote to stderr: usually the cause. */
static const char *last_words(const struct proc_end *end)
{
	const char *text = str_text(&end->err), *line = text;
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == '\n')
		len--;
	for (const char *p = text; p < text + len; p++)
		if (*p == '\n')
			line = p + 1;
	return len ? tmpf("%.*s", (int)(text + len - line), line) : say(MSG_no_output);
}

enum outcome child_outcome(const struct ended *e, struct arena *arena, struct reason *reason)
{
	const struct proc_end *end = e->end;
	const char *seconds = tmpf("%.0f", end->seconds);

	if (end->unkillable && !end->stopped) {
		because(MSG_child_stuck, e->name, seconds);
		return OUTCOME_TIMED_OUT;
	}
	if (end->guard_lost) {
		because(MSG_guard_lost, e->name);
		return OUTCOME_FAILED;
	}
	if (end->stopped) {
		because(MSG_interrupted, e->name);
		return OUTCOME_NOT_MEASURED;
	}
	if (end->timed_out && !e->at_work) {
		because(MSG_slow_load, e->name, seconds);
		return OUTCOME_NOT_MEASURED;
	}
	if (end->timed_out) {
		because(MSG_child_deadline, e->name, seconds);
		return OUTCOME_TIMED_OUT;
	}
	/* Its own node is well as far as it can tell. */
	if (!end->signal && e->broke && e->waited_for) {
		because(MSG_child_waited, e->name, e->waited_for);
		return OUTCOME_NOT_MEASURED;
	}
	if (end->signal)
		because(MSG_child_signal, e->name, strsignal(end->signal), last_words(end));
	else if (e->broke)
		because(MSG_child_broke, e->name, last_words(end));
	else
		because(MSG_child_exit, e->name, tmpf("%d", end->exit_code), last_words(end));
	return OUTCOME_FAILED;
}
