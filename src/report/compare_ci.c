/* The comparison for tickets and for CI systems. */
#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "report/compare.h"
#include "report/markup.h"
#include "report/words.h"

/* --- Markdown ------------------------------------------------------------------------- */

static void cell(struct str *out, const char *text)
{
	str_add(out, "| ");
	markdown_text(out, text);
	str_addc(out, ' ');
}

static void rule_line(struct str *out, int columns)
{
	str_add(out, "|\n");
	for (int i = 0; i < columns; i++)
		str_add(out, "| --- ");
	str_add(out, "|\n");
}

static void heading(struct str *out, enum msg title)
{
	str_add(out, "\n## ");
	markdown_text(out, msg_format(title));
	str_add(out, "\n\n");
}

static void order_table(struct str *out, const struct comparison *c)
{
	heading(out, MSG_compare_order);
	cell(out, msg_format(MSG_html_criterion));
	for (int k = 0; k < c->n_columns; k++)
		cell(out, c->columns[k].name);
	rule_line(out, c->n_columns + 1);
	for (int i = 0; i < c->n_orders; i++) {
		const struct compare_order *o = &c->orders[i];

		cell(out, tmpf("%s %s", o->criterion, o->title));
		for (int k = 0; k < c->n_columns; k++) {
			const char *why = o->why[k] ? o->why[k] : "";

			cell(out,
			     o->place[k]
			             ? tmpf("%s %s",
			                    say(MSG_compare_place, tmpf("%d", o->place[k])), why)
			             : why);
		}
		str_add(out, "|\n");
	}
}

static void figure_table(struct str *out, const struct comparison *c)
{
	heading(out, MSG_compare_figures);
	cell(out, msg_format(MSG_html_figure));
	for (int k = 0; k < c->n_columns; k++)
		cell(out, c->columns[k].name);
	rule_line(out, c->n_columns + 1);
	for (int i = 0; i < c->n_rows; i++) {
		if (!compare_row_tells(c, &c->rows[i]))
			continue;
		cell(out, compare_row_title(&c->rows[i]));
		for (int k = 0; k < c->n_columns; k++) {
			struct str words = {0};

			compare_stand_words(&words, &c->rows[i], k);
			cell(out, str_text(&words));
			str_release(&words);
		}
		str_add(out, "|\n");
	}
}

static void part_lists(struct str *out, const struct comparison *c)
{
	for (int i = 0; i < c->n_parts; i++) {
		const struct compare_part *part = &c->parts[i];

		str_add(out, "\n## ");
		markdown_text(out, part->title);
		str_add(out, "\n\n");
		for (int k = 0; k < part->n_lines; k++) {
			str_add(out, "- ");
			if (part->lines[k].name)
				markdown_text(out, tmpf("%s: ", part->lines[k].name));
			markdown_text(out, part->lines[k].text);
			str_addc(out, '\n');
		}
	}
}

void compare_markdown(struct str *out, const struct comparison *c)
{
	struct str s = {0};

	str_add(out, "# ");
	markdown_text(out, compare_title(c));
	str_add(out, "\n\n");
	for (int i = 0; i < c->n_columns; i++) {
		const struct compare_column *x = &c->columns[i];

		str_add(out, "- **");
		markdown_text(out, x->name);
		str_add(out, "** ");
		str_clear(&s);
		compare_column_words(&s, x);
		if (x->card)
			str_addf(&s, ", %s", words_shown(x->card));
		if (x->nodes > 0)
			str_addf(&s, ", %s", words_subjects(SUBJECT_NODE, x->nodes));
		markdown_text(out, str_text(&s));
		str_addc(out, '\n');
	}
	for (const char *const *w = c->warnings; *w; w++) {
		str_add(out, "\n> ");
		markdown_text(out, *w);
		str_addc(out, '\n');
	}
	order_table(out, c);
	part_lists(out, c);
	figure_table(out, c);
	compare_software_markdown(out, c);
	str_clear(&s);
	compare_same_words(&s, c);
	str_addc(out, '\n');
	markdown_text(out, str_text(&s));
	str_add(out, "\n\n");
	markdown_text(out, msg_format(MSG_compare_how));
	str_addc(out, '\n');
	str_release(&s);
}

/* --- JUnit ---------------------------------------------------------------------------- */

static bool is_failure(const struct compare_cell *x)
{
	return x->there && x->origin != ORIGIN_DECLARED && x->verdict == VERDICT_FAIL;
}

/* Nothing of it was judged: no figure, or one that is only declared. */
static bool is_skip(const struct compare_cell *x)
{
	return !x->there || x->origin == ORIGIN_DECLARED;
}

static void attribute(struct str *out, const char *name, const char *text)
{
	str_addf(out, " %s=\"", name);
	markup_text(out, text);
	str_addc(out, '"');
}

static void counts(struct str *out, const struct comparison *c, int from, int to)
{
	int failures = 0, skipped = 0, software = 0;

	for (int k = from; k < to; k++)
		software += compare_software_count(c, k);
	for (int k = from; k < to; k++)
		for (int i = 0; i < c->n_rows; i++) {
			failures += is_failure(&c->rows[i].cells[k]);
			skipped += is_skip(&c->rows[i].cells[k]);
		}
	str_addf(out, " tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">\n",
	         (to - from) * c->n_rows + software, failures, skipped);
}

static void test_case(struct str *out, const struct compare_row *row, int column)
{
	const struct compare_cell *x = &row->cells[column];
	struct str words = {0};

	compare_stand_words(&words, row, column);
	str_add(out, "    <testcase");
	attribute(out, "classname", row->criterion);
	attribute(out, "name", tmpf("%s %s", row->metric, row->stat));
	str_add(out, ">\n      ");
	if (is_skip(x) || is_failure(x)) {
		str_add(out, is_skip(x) ? "<skipped" : "<failure");
		attribute(out, "message", str_text(&words));
		str_add(out, "/>\n");
	} else {
		str_add(out, "<system-out>");
		markup_text(out, str_text(&words));
		str_add(out, "</system-out>\n");
	}
	str_add(out, "    </testcase>\n");
	str_release(&words);
}

void compare_junit(struct str *out, const struct comparison *c)
{
	str_add(out,
	        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay compare\"");
	counts(out, c, 0, c->n_columns);
	for (int k = 0; k < c->n_columns; k++) {
		str_add(out, "  <testsuite");
		attribute(out, "name", c->columns[k].name);
		counts(out, c, k, k + 1);
		for (int i = 0; i < c->n_rows; i++)
			test_case(out, &c->rows[i], k);
		compare_software_junit(out, c, k);
		str_add(out, "  </testsuite>\n");
	}
	str_add(out, "</testsuites>\n");
}
