/* assay gate: a run beside its baselines, for CI; assay baseline: accepting one. Both
 * work on saved runs and need no card. */
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/language.h"
#include "gate/gate.h"
#include "report/markup.h"
#include "run/gated.h"

#define SHOWN 20 /* lines of a kind on the terminal */

static const struct option_row rows[] = {
	{"baseline", OPTION_EACH, "DIR", 0, 0, NULL, MSG_opt_baseline},
	{"tolerance", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_tolerance},
	{"junit", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_junit},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{0},
};

static const enum msg titles[GATE_KINDS] = {
	MSG_gate_title_failures, MSG_gate_title_slower,   MSG_gate_title_lost,
	MSG_gate_title_unclear,  MSG_gate_title_software, MSG_gate_title_faster,
	MSG_gate_title_notes,
};
static const enum msg classes[GATE_CLASSES] = {MSG_gate_class_harmless, MSG_gate_class_watch,
                                               MSG_gate_class_breaking};
static const enum msg verdicts[] = {MSG_gate_same, MSG_gate_worse, MSG_gate_open};

static enum status load_rules(struct gate_rules *rules, struct arena *arena,
                              const struct options *o, struct error *err)
{
	const char *file = option_text(o, "tolerance", NULL);
	struct str text = {0}, where = {0};
	enum status st;

	if (file) {
		st = file_read(&text, file, 16 << 20, err);
		str_add(&where, file);
	} else {
		st = config_read(&text, &where, option_text(o, "config-dir", NULL),
		                 "gate/default.json", err);
	}
	if (st == ST_OK)
		st = gate_rules_read(rules, arena, str_text(&where), str_text(&text), text.len,
		                     err);
	str_release(&text);
	str_release(&where);
	return st;
}

/* --- output ---------------------------------------------------------------------------- */

static void add_lines(struct str *out, const struct gate *g, enum gate_kind kind)
{
	int n = 0;

	for (int i = 0; i < g->n_lines; i++) {
		const struct gate_line *l = &g->lines[i];

		if (l->kind != kind || n++ >= SHOWN)
			continue;
		if (n == 1)
			str_addf(out, "\n  %s\n", msg_format(titles[kind]));
		str_add(out, "    ");
		if (kind == GATE_SOFTWARE)
			str_addf(out, "%s: ", msg_format(classes[l->class]));
		str_add_printable(out, l->text, strlen(l->text));
		str_addc(out, '\n');
	}
	if (n > SHOWN)
		str_addf(out, "    %s\n", say(MSG_gate_more, tmpf("%d", n - SHOWN)));
}

static void gate_text(struct str *out, const struct gate *g)
{
	msg_add(out, MSG_gate_head, g->now->path, tmpf("%d", g->n_base), tmpf("%d", g->compared));
	str_addf(out, "\n\n  %s\n", msg_format(verdicts[g->verdict]));
	for (int kind = 0; kind < GATE_KINDS; kind++)
		add_lines(out, g, (enum gate_kind)kind);
}

static bool fails(const struct gate_line *l)
{
	return l->kind == GATE_FAILURE || l->kind == GATE_SLOWER ||
	       (l->kind == GATE_SOFTWARE && l->class == GATE_BREAKING);
}

static bool is_open(const struct gate_line *l)
{
	return l->kind == GATE_LOST || l->kind == GATE_UNCLEAR;
}

static void add_case(struct str *out, const struct gate_line *l)
{
	const char *word = fails(l) ? "failure" : is_open(l) ? "skipped" : NULL;

	str_addf(out, "    <testcase classname=\"%s\" name=\"", "gate");
	markup_text(out, l->name);
	str_add(out, "\">\n      ");
	if (word)
		str_addf(out, "<%s message=\"", word);
	else
		str_add(out, "<system-out>");
	markup_text(out, l->text);
	str_add(out, word ? "\"/>" : "</system-out>");
	str_add(out, "\n    </testcase>\n");
}

/* One more case for the figures that are the same: a suite without cases reads as if
 * nothing was compared. */
static void gate_junit(struct str *out, const struct gate *g)
{
	int failed = 0, open = 0;

	for (int i = 0; i < g->n_lines; i++) {
		failed += fails(&g->lines[i]);
		open += is_open(&g->lines[i]);
	}
	str_add(out,
	        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay gate\">\n");
	str_addf(out,
	         "  <testsuite name=\"gate\" tests=\"%d\" failures=\"%d\" errors=\"0\" "
	         "skipped=\"%d\">\n",
	         g->n_lines + 1, failed, open);
	str_add(out, "    <testcase classname=\"gate\" name=\"compared\"><system-out>");
	markup_text(out, say(MSG_gate_head, g->now->path, tmpf("%d", g->n_base),
	                     tmpf("%d", g->compared)));
	str_add(out, "</system-out></testcase>\n");
	for (int i = 0; i < g->n_lines; i++)
		add_case(out, &g->lines[i]);
	str_add(out, "  </testsuite>\n</testsuites>\n");
}

/* Programs read English, whatever the person at the terminal speaks. */
static enum status write_gate(const struct gate *spoken, const struct gate *plain,
                              const char *junit, struct error *err)
{
	struct str out = {0};
	enum status st = ST_OK;

	if (junit) {
		enum language before = msg_speak(language_of_report("junit"));

		gate_junit(&out, plain);
		msg_speak(before);
		st = cli_write_text(junit, &out, err);
		str_clear(&out);
	}
	if (st == ST_OK && (!junit || strcmp(junit, "-") != 0)) {
		gate_text(&out, spoken);
		st = cli_write_text("-", &out, err);
	}
	str_release(&out);
	return st;
}

/* --- keeping ----------------------------------------------------------------------------- */

/* The lists are the same but for their language: same runs, same order. */
static void keep_lines(struct gated *kept, struct arena *arena, const struct gate *g)
{
	_Static_assert((int)GATED_KINDS == (int)GATE_KINDS && (int)GATED_NOTE == (int)GATE_NOTE,
	               "kinds of lines are those of the gate");
	kept->n_lines = g->n_lines < GATED_MOST ? g->n_lines : GATED_MOST;
	kept->left_out = g->n_lines - kept->n_lines;
	kept->lines = arena_array(arena, (size_t)kept->n_lines + 1, sizeof(*kept->lines));
	for (int i = 0; i < kept->n_lines; i++) {
		const struct gate_line *l = &g->lines[i];
		struct gated_line *line = &kept->lines[i];

		*line = (struct gated_line){.kind = (enum gated_kind)l->kind,
		                            .breaks = l->class == GATE_BREAKING,
		                            .name = l->name};
		for (int k = 0; k < LANGUAGES; k++)
			line->text[k] = (g + k)->lines[i].text;
	}
}

/* Beside the run, so that every report of it shows what the gate said. That it cannot be
 * kept changes no verdict. */
static void keep(const struct gate g[LANGUAGES], const char *const *baselines)
{
	static const enum gated_verdict words[] = {GATED_SAME, GATED_REGRESSED, GATED_OPEN};
	struct str time = {0};
	struct error why = {0};
	struct gated kept = {.verdict = words[g->verdict],
	                     .baselines = baselines,
	                     .n_baselines = g->n_base,
	                     .compared = g->compared};

	time_add_utc(&time, clock_wall(&clock_system));
	kept.time = time.data;
	keep_lines(&kept, g->arena, g);
	if (gated_save(&kept, g->now->path, g->now->digest, &why) != ST_OK)
		log_note(MSG_gated_unsaved, str_text(&why.text));
	error_release(&why);
	str_release(&time);
}

/* --- running ---------------------------------------------------------------------------- */

static enum status open_all(struct gate *g, struct rundir *runs, int *opened,
                            const struct options *o, struct error *err)
{
	const char *const *dirs = option_list(o, "baseline", &g->n_base);
	enum status st;

	if (!g->n_base)
		return error_set(err, ST_USAGE, MSG_gate_no_baseline);
	if (g->n_base > GATE_BASELINES)
		return error_set(err, ST_USAGE, MSG_option_many, "baseline");
	st = rundir_open(&runs[0], o->operands[0], RUNDIR_CHAIN, err);
	for (int i = 0; i < g->n_base && st == ST_OK; i++) {
		++*opened;
		st = rundir_open(&runs[i + 1], dirs[i], RUNDIR_CHAIN, err);
	}
	*opened += st == ST_OK;
	g->now = &runs[0];
	g->base = &runs[1];
	return st;
}

static int gate(const struct options *o, struct error *err)
{
	static const int codes[] = {EXIT_ACCEPT, EXIT_REJECT, EXIT_INCOMPLETE};
	struct rundir runs[GATE_BASELINES + 1];
	struct arena arena = {0};
	struct gate_rules rules;
	struct gate opening = {.arena = &arena, .rules = &rules}, g[LANGUAGES];
	enum language spoken = msg_spoken();
	int opened = 0, n;
	enum status st = load_rules(&rules, &arena, o, err);

	if (st == ST_OK)
		st = open_all(&opening, runs, &opened, o, err);
	for (int k = 0; k < LANGUAGES && st == ST_OK; k++) {
		g[k] = opening;
		msg_speak((enum language)k);
		st = gate_compare(&g[k], err);
	}
	msg_speak(spoken);
	if (st == ST_OK) {
		keep(g, option_list(o, "baseline", &n));
		st = write_gate(&g[spoken], &g[language_of_report("junit")],
		                option_text(o, "junit", NULL), err);
	}
	for (int i = 0; i < opened; i++)
		rundir_close(&runs[i]);
	arena_release(&arena);
	return st == ST_OK ? codes[g->verdict] : cli_status_code(st);
}

const struct command command_gate = {
	.name = "gate",
	.summary = MSG_cmd_gate,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.run = gate,
};

static int baseline(const struct options *o, struct error *err)
{
	struct str time = {0}, line = {0};
	struct rundir run;
	enum status st;

	if (strcmp(o->operands[0], "accept") != 0)
		return cli_status_code(error_set(err, ST_USAGE, MSG_baseline_verb, o->operands[0]));
	st = rundir_open(&run, o->operands[1], RUNDIR_CHAIN, err);
	if (st != ST_OK)
		return cli_status_code(st);
	time_add_utc(&time, clock_wall(&clock_system));
	st = baseline_accept(&run, time.data, err);
	if (st == ST_OK) {
		msg_add(&line, MSG_baseline_accepted, run.path,
		        tmpf("%lld", (long long)gate_measured(&run)), run.digest);
		str_addc(&line, '\n');
		st = cli_write_text("-", &line, err);
	}
	str_release(&time);
	str_release(&line);
	rundir_close(&run);
	return cli_status_code(st);
}

static const struct option_row no_rows[] = {{0}};

const struct command command_baseline = {
	.name = "baseline",
	.summary = MSG_cmd_baseline,
	.operands = "accept DIR",
	.min_operands = 2,
	.max_operands = 2,
	.rows = no_rows,
	.run = baseline,
};
