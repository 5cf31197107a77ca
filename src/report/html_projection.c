/* Days and cost of the buyer's own model: three cases as a range, and what each of them
 * stands on, since a projection is worth what its inputs are. */
#include <math.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/service_facts.h"
#include "report/words.h"

#define WIDTH  720.0
#define ROW    46.0
#define LABELS 130.0
#define RIGHT  30.0

/* --- the range ----------------------------------------------------------------------- */

static void words_at(struct html *h, double x, double y, const char *class, const char *text)
{
	str_addf(h->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	markup_text(h->out, text);
	str_add(h->out, "</text>");
}

/* From zero on, so that a narrow range looks narrow. */
static void range(struct html *h, const char *name, const double of[SERVICE_CASES], double y)
{
	double most = fmax(fmax(of[0], of[1]), of[2]), room = WIDTH - LABELS - RIGHT;
	double x[SERVICE_CASES], middle = y + ROW / 2 + 6;
	const char *title = say(MSG_view_range, name, service_large(of[0]), service_large(of[2]),
	                        service_large(of[1]));

	for (int i = 0; i < SERVICE_CASES; i++)
		x[i] = LABELS + of[i] / most * room;
	words_at(h, LABELS - 10, middle + 4, "word end", name);
	str_addf(h->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", LABELS, middle,
	         WIDTH - RIGHT);
	str_addf(h->out, "<rect class=\"q4\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\">",
	         fmin(x[0], x[2]), middle - 6, fmax(fabs(x[2] - x[0]), 1));
	str_add(h->out, "<title>");
	markup_text(h->out, title);
	str_addf(h->out, "</title></rect><circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>", x[1],
	         middle);
	markup_text(h->out, title);
	str_add(h->out, "</title></circle>");
	words_at(h, x[0], middle - 11, "end", service_large(of[0]));
	words_at(h, fmin(x[2], WIDTH - RIGHT), middle - 11, x[2] > WIDTH - 90 ? "end" : "tick",
	         service_large(of[2]));
	words_at(h, x[1], middle + 20, "mid", service_large(of[1]));
}

static bool drawable(const double of[SERVICE_CASES])
{
	return isfinite(of[0]) && isfinite(of[1]) && isfinite(of[2]) && of[0] > 0;
}

static void draw(struct html *h, const struct service_projection *p)
{
	bool cost = drawable(p->cost);

	if (!drawable(p->days))
		return;
	str_addf(h->out,
	         "<figure><svg class=\"plot\" width=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\" "
	         "aria-label=\"",
	         WIDTH, WIDTH, (cost ? 2 : 1) * ROW + 8);
	markup_text(h->out, msg_format(MSG_view_projection));
	str_add(h->out, "\">");
	range(h, msg_format(MSG_estimate_days), p->days, 0);
	if (cost)
		range(h, say(MSG_estimate_cost, p->currency), p->cost, ROW);
	str_add(h->out, "</svg></figure>\n");
}

/* --- tables -------------------------------------------------------------------------- */

static void case_cells(struct html *h, const char *name, const double of[SERVICE_CASES])
{
	html_row(h);
	html_cell(h, name);
	for (int i = 0; i < SERVICE_CASES; i++)
		html_number(h, of[i], isfinite(of[i]) ? service_large(of[i]) : "-");
}

static void results(struct html *h, const struct service_projection *p)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_estimate_best, MSG_estimate_mid,
	                                   MSG_estimate_worst};
	const struct html_table t = {"projected", MSG_view_projection_case, columns, "tnnn", 4,
	                             false};

	html_table_begin(h, &t);
	case_cells(h, msg_format(MSG_estimate_days), p->days);
	case_cells(h, msg_format(MSG_estimate_card_hours), p->hours);
	if (isfinite(p->cost[1]))
		case_cells(h, say(MSG_estimate_cost, p->currency), p->cost);
	case_cells(h, msg_format(MSG_estimate_mfu), p->mfu);
	case_cells(h, msg_format(MSG_estimate_ettr), p->ettr);
	html_table_end(h);
}

static void inputs(struct html *h, const struct service_projection *p)
{
	static const enum msg columns[] = {MSG_view_input, MSG_estimate_best, MSG_estimate_mid,
	                                   MSG_estimate_worst, MSG_html_origin};
	const struct html_table t = {
		"projected-from", MSG_view_projection_inputs, columns, "tnnnt", 5, false};

	html_table_begin(h, &t);
	for (int i = 0; i < p->n_inputs; i++) {
		case_cells(h, msg_format(p->inputs[i].name), p->inputs[i].of);
		html_cell(h, service_origin_name(p->inputs[i].origin));
	}
	html_table_end(h);
}

void html_view_projection(struct html *h)
{
	struct service_projection p;

	if (!service_projection_read(&p, &h->arena, h->card))
		return;
	html_section(h, "projection", MSG_view_projection);
	if (p.open) {
		struct str why = {0};

		words_said(&why, p.open);
		html_note(h, str_text(&why));
		str_release(&why);
		html_section_end(h);
		return;
	}
	str_add(h->out, "<p>");
	markup_text(h->out, service_projection_words(&p));
	str_add(h->out, "</p>\n");
	if (p.simulated)
		html_note(h, msg_format(MSG_estimate_simulated));
	draw(h, &p);
	html_note(h, msg_format(MSG_view_projection_note));
	html_note(h, service_price_words(&p));
	results(h, &p);
	inputs(h, &p);
	html_section_end(h);
}
