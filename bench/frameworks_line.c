/* Reading a job's JSON line. Whatever a job prints or fails to print ends as an
 * outcome with a reason, and only sound numbers become figures: parameters equal on
 * all workers, a loss that is finite and falls, a step time above zero. */
#include "frameworks.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/msg.h"

#define TEXT_LIMIT 300

static const char *const mode_names[FW_PARTS] = {"data", "tensor", "pipeline"};
static const char *const precision_names[FW_PARTS] = {"bf16", "fp16", "fp8"};

static void say_why(struct fw_line *l, enum outcome outcome, enum msg reason, const char *a,
                    const char *b, const char *c, const char *d)
{
	l->outcome = outcome;
	l->reason = reason;
	l->args[0] = a;
	l->args[1] = b;
	l->args[2] = c;
	l->args[3] = d;
}

/* Foreign words fit for a report. */
static const char *calm(struct arena *arena, const char *text, size_t len)
{
	struct str s = {0};
	const char *kept;

	for (len = len > TEXT_LIMIT ? TEXT_LIMIT : len;
	     len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	str_add_printable(&s, text, len);
	kept = arena_str(arena, str_text(&s));
	str_release(&s);
	return kept;
}

static const char *calm_line(struct arena *arena, const char *text)
{
	text += strspn(text, " \t\r\n");
	return calm(arena, text, strcspn(text, "\r\n"));
}

/* --- what the job says went wrong ------------------------------------------------ */

/* An interpreter that just happens to be on the PATH may not be the one that jobs
 * are meant to use: that it lacks something is no failure of the platform. */
static enum outcome blame(const struct fw_asked *asked)
{
	return asked->named ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED;
}

static void take_error(struct fw_line *l, struct arena *arena, const struct fw_asked *a,
                       const char *kind, const char *detail)
{
	detail = *detail ? calm_line(arena, detail) : "-";
	if (strcmp(kind, "import") == 0) {
		say_why(l, blame(a), MSG_fw_import, a->title, a->version, a->python, detail);
	} else if (strcmp(kind, "cards") == 0) {
		say_why(l, blame(a), MSG_fw_cards_unseen, a->title, a->version, a->python, detail);
	} else if (strcmp(kind, "launcher") == 0) {
		l->reached = FW_COMPATIBLE;
		say_why(l, OUTCOME_NOT_MEASURED, MSG_fw_launcher,
		        arena_strf(arena, "%s %s", a->title, a->version), a->python_version, detail,
		        NULL);
	} else if (strcmp(kind, "time") == 0) {
		say_why(l, OUTCOME_TIMED_OUT, MSG_fw_time, a->title,
		        arena_strf(arena, "%.3g", a->seconds), NULL, NULL);
	} else if (strcmp(kind, "silent") == 0) {
		say_why(l, OUTCOME_NOT_MEASURED, MSG_fw_silent, a->title, detail, NULL, NULL);
	} else if (strcmp(kind, "job") == 0) {
		l->reached = FW_COMPATIBLE;
		say_why(l, OUTCOME_FAILED, MSG_fw_job, a->title, detail, NULL, NULL);
	} else {
		l->reached = FW_COMPATIBLE;
		say_why(l, blame(a), MSG_fw_worker, a->title, a->version, a->python, detail);
	}
}

/* --- figures ----------------------------------------------------------------------- */

static void take_parts(struct fw_part *parts, const char *const *names, struct arena *arena,
                       const cJSON *object)
{
	for (int i = 0; i < FW_PARTS; i++) {
		const char *said = object ? json_string(object, names[i], NULL) : NULL;

		parts[i] = (struct fw_part){names[i], said ? calm_line(arena, said) : NULL};
	}
}

static void lacks(struct fw_line *l, const struct fw_asked *a, const char *what)
{
	say_why(l, OUTCOME_NOT_MEASURED, MSG_fw_bad_line, a->title, what, NULL, NULL);
}

static void judge_losses(struct fw_line *l, struct arena *arena, const struct fw_asked *a)
{
	if (isnan(l->loss_first) || isnan(l->loss_last))
		lacks(l, a, "loss");
	else if (l->loss_last >= l->loss_first)
		say_why(l, OUTCOME_FAILED, MSG_fw_loss_rises, a->title,
		        arena_strf(arena, "%.6g", l->loss_first),
		        arena_strf(arena, "%.6g", l->loss_last), NULL);
	else
		l->outcome = OUTCOME_MEASURED;
}

static void judge_figures(struct fw_line *l, struct arena *arena, const cJSON *root,
                          const struct fw_asked *a)
{
	const cJSON *equal = json_get(root, "params_equal");

	judge_losses(l, arena, a);
	if (l->outcome != OUTCOME_MEASURED)
		return;
	if (a->elastic) {
		/* From the state that was saved, and not from the beginning. */
		if (!(l->resume_s >= 0) || !(l->resumed_at > 0))
			say_why(l, OUTCOME_FAILED, MSG_fw_not_resumed, a->title, NULL, NULL, NULL);
	} else if (!cJSON_IsBool(equal)) {
		lacks(l, a, "params_equal");
	} else if (!cJSON_IsTrue(equal)) {
		say_why(l, OUTCOME_FAILED, MSG_fw_params_differ, a->title, NULL, NULL, NULL);
	} else if (!(l->step_ms > 0)) {
		lacks(l, a, "step_ms");
	} else if (l->workers < 1) {
		lacks(l, a, "workers");
	}
}

static void take_sums(struct fw_line *l, const cJSON *root, const struct fw_asked *a)
{
	const cJSON *sums = json_get(root, "sums_ms");

	for (int i = 0; i < FW_SUMS; i++) {
		double ms = sums ? json_number(sums, tmpf("%lld", (long long)fw_sums_bytes[i]), NAN)
		                 : NAN;

		l->sums_ms[i] = ms > 0 ? ms : NAN;
		if (a->sums && l->outcome == OUTCOME_MEASURED && !(ms > 0))
			lacks(l, a, "sums_ms");
	}
}

/* Answers that are no result of a job: how many cards, or that our part is done. */
static bool take_short(struct fw_line *l, const cJSON *root, const struct fw_asked *a)
{
	double cards = json_number(root, "cards", -1);

	if (!a->counts && !a->follows)
		return false;
	l->reached = FW_COMPATIBLE;
	l->outcome = OUTCOME_MEASURED;
	if (a->counts && cards >= 1 && cards <= 4096)
		l->cards = (int)cards;
	else if (a->counts)
		lacks(l, a, "cards");
	else if (!json_bool(root, "ended", false))
		lacks(l, a, "ended");
	return true;
}

static void take_line(struct fw_line *l, struct arena *arena, const cJSON *root,
                      const struct fw_asked *a)
{
	const char *kind = json_string(root, "error", NULL);
	double workers = json_number(root, "workers", 0);

	l->workers = workers >= 1 && workers <= 1e6 ? (int)workers : 0;
	if (kind) {
		take_error(l, arena, a, kind, json_string(root, "detail", ""));
		return;
	}
	if (take_short(l, root, a))
		return;
	l->reached = FW_COMPATIBLE;
	l->version = calm_line(arena, json_string(root, "version", a->version));
	l->backend = calm_line(arena, json_string(root, "backend", "?"));
	l->step_ms = json_number(root, "step_ms", NAN);
	l->alone_ms = json_number(root, "alone_ms", NAN);
	l->loss_first = json_number(root, "loss_first", NAN);
	l->loss_last = json_number(root, "loss_last", NAN);
	l->resume_s = json_number(root, "resume_s", NAN);
	l->resumed_at = json_number(root, "resumed_at", NAN);
	take_parts(l->modes, mode_names, arena, json_get(root, "modes"));
	take_parts(l->precisions, precision_names, arena, json_get(root, "precision"));
	judge_figures(l, arena, root, a);
	take_sums(l, root, a);
	if (l->outcome == OUTCOME_MEASURED)
		l->reached = FW_RUNS;
}

/* --- the line ------------------------------------------------------------------------ */

/* The last line with anything in it. */
static const char *last_line(const char *text, size_t len, size_t *line_len)
{
	size_t begin;

	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	for (begin = len; begin && text[begin - 1] != '\n';)
		begin--;
	*line_len = len - begin;
	return text + begin;
}

/* Bare NaN and Infinity are what Python prints for them, and no JSON. */
static bool has_bare_word(const char *line, size_t len)
{
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		if (string && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			string = !string;
		else if (!string && len - i >= 3 &&
		         (memcmp(line + i, "NaN", 3) == 0 || memcmp(line + i, "Inf", 3) == 0))
			return true;
	}
	return false;
}

struct fw_line fw_line_none(enum outcome outcome, enum msg reason, const char *a, const char *b)
{
	return (struct fw_line){.outcome = outcome, .reason = reason, .args = {a, b}};
}

void fw_line_read(struct fw_line *l, struct arena *arena, const char *text, size_t len,
                  const struct fw_asked *asked)
{
	struct json_doc doc;
	size_t n;
	const char *line = last_line(text, len, &n);
	bool object = n && *line == '{';

	*l = (struct fw_line){.outcome = OUTCOME_NOT_MEASURED,
	                      .version = asked->version,
	                      .step_ms = NAN,
	                      .alone_ms = NAN,
	                      .loss_first = NAN,
	                      .loss_last = NAN,
	                      .resume_s = NAN,
	                      .resumed_at = NAN,
	                      .sums_ms = {NAN, NAN, NAN},
	                      .cards = -1};
	if (asked->stopped) {
		say_why(l, OUTCOME_NOT_MEASURED, MSG_fwn_stopped, asked->title, NULL, NULL, NULL);
	} else if (asked->timed_out) {
		take_error(l, arena, asked, "time", "");
	} else if (asked->signal) {
		say_why(l, OUTCOME_NOT_MEASURED, MSG_fw_killed, asked->title,
		        arena_strf(arena, "%d", asked->signal), NULL, NULL);
	} else if (object && json_parse(&doc, "job", line, n, JSON_STRICT, NULL) == ST_OK) {
		take_line(l, arena, doc.root, asked);
		json_release(&doc);
	} else if (object && has_bare_word(line, n)) {
		l->reached = FW_COMPATIBLE;
		say_why(l, OUTCOME_FAILED, MSG_fw_not_finite, asked->title, NULL, NULL, NULL);
	} else {
		const char *said =
			n ? calm(arena, line, n) : calm_line(arena, asked->err ? asked->err : "");

		take_error(l, arena, asked, "silent",
		           arena_strf(arena, "exit %d: %s", asked->exit_code, *said ? said : "-"));
	}
}

/* --- what follows from it ------------------------------------------------------------ */

struct fw_line fw_line_of_cards(const struct fw_line *l, enum framework f)
{
	struct fw_line only = *l;

	if (l->outcome == OUTCOME_MEASURED)
		return fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_cpu_only, framework_titles[f],
		                    l->backend);
	if (l->outcome == OUTCOME_FAILED || l->outcome == OUTCOME_TIMED_OUT)
		only.outcome = OUTCOME_NOT_MEASURED;
	return only;
}

int fw_parts_right(struct probe_ctx *ctx, const struct fw_part *parts, struct fw_line *l)
{
	int right = 0;

	for (int i = 0; i < FW_PARTS && l->outcome == OUTCOME_MEASURED; i++) {
		const char *said = parts[i].said;

		if (said && strcmp(said, "ok") == 0)
			right++;
		else if (!said)
			*l = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_bad_line, "PyTorch",
			                  parts[i].name);
		else if (strcmp(said, "absent") != 0)
			*l = fw_line_none(OUTCOME_FAILED, MSG_fw_job, "PyTorch",
			                  arena_strf(ctx->arena, "%s: %s", parts[i].name, said));
	}
	return right;
}
