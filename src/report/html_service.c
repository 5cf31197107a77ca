/* Availability over the month: a strip for each node, thin where it was up and as tall
 * as its trouble elsewhere, so that it reads without colours too. From the readings
 * that a watch becomes (availability_share); pages without one have no such section. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/storage_span.h"

#define MOST  24
#define WIDTH 720.0
#define TALL  18.0

static const struct {
	const char *state;
	double height;
	enum msg name;
} states[] = {{"degraded", 0.6, MSG_html_service_degraded},
              {"down", 1, MSG_html_service_down},
              {"unknown", 0.45, MSG_html_service_unknown}};

static void bar(struct str *out, double x, double width, double height, const char *class,
                const char *title)
{
	/* An outage of minutes in a month is a fraction of a point. */
	width = fmax(width, 1);
	str_addf(out,
	         "<rect class=\"strip-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
	         class, fmin(x, WIDTH - width), (TALL - height) / 2, width, height);
	str_add(out, "<title>");
	markup_text(out, title);
	str_add(out, "</title></rect>");
}

static void stretch(struct str *out, const cJSON *item, double seconds)
{
	double begin = cJSON_GetNumberValue(cJSON_GetArrayItem(item, 0));
	double length = cJSON_GetNumberValue(cJSON_GetArrayItem(item, 1));
	const char *state = cJSON_GetStringValue(cJSON_GetArrayItem(item, 2));

	if (!(begin >= 0 && length > 0 && begin + length <= seconds + 1) || !state)
		return;
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (strcmp(states[i].state, state) == 0)
			bar(out, begin / seconds * WIDTH, length / seconds * WIDTH,
			    states[i].height * TALL, state,
			    say(MSG_html_service_stretch, msg_format(states[i].name),
			        fmt_duration(begin), fmt_duration(length)));
}

static void strip(struct html *h, const struct finding *f, const cJSON *params)
{
	double seconds = json_number(params, "seconds", NAN);
	const char *node = html_who(h, &f->subject, f->node);
	const cJSON *item;
	struct str words = {0};

	if (!(seconds > 0))
		return;
	msg_add(&words, MSG_html_service_node, tmpf("%.1f", json_number(params, "up_min", NAN)),
	        tmpf("%.1f", json_number(params, "degraded_min", NAN)),
	        tmpf("%.1f", json_number(params, "down_min", NAN)),
	        tmpf("%.1f", json_number(params, "unknown_min", NAN)));
	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, node);
	str_add(h->out, "</b> ");
	html_verdict(h->out, f->verdict);
	str_addc(h->out, ' ');
	markup_text(h->out, str_text(&words));
	str_addf(h->out, "</figcaption><svg class=\"plot\" width=\"%g\" viewBox=\"0 0 %g %g\" ",
	         WIDTH, WIDTH, TALL);
	str_add(h->out, "role=\"img\" aria-label=\"");
	markup_text(h->out, tmpf("%s: %s", node, str_text(&words)));
	str_add(h->out, "\">");
	bar(h->out, 0, WIDTH, TALL / 3, "up", node);
	cJSON_ArrayForEach(item, json_get(params, "not_up")) stretch(h->out, item, seconds);
	str_add(h->out, "</svg></figure>\n");
	str_release(&words);
}

static bool is_strip(const struct finding *f)
{
	return f->evidence && f->evidence->params &&
	       strcmp(f->evidence->metric, "availability_share") == 0;
}

void html_view_service(struct html *h)
{
	const char *from = NULL;
	int shown = 0, left = 0;
	struct json_doc doc;

	for (int64_t i = 0; i < h->card->n_findings; i++) {
		const struct finding *f = &h->card->findings[i];

		if (!is_strip(f) || !span_params(f->evidence, &doc))
			continue;
		if (shown == 0) {
			html_section(h, "service", MSG_html_service);
			from = arena_str(&h->arena, json_string(doc.root, "from_utc", "?"));
			html_note(h, say(MSG_html_service_note, from,
			                 fmt_duration(json_number(doc.root, "seconds", NAN))));
		}
		if (shown < MOST)
			strip(h, f, doc.root);
		left += shown >= MOST;
		shown++;
		json_release(&doc);
	}
	if (left)
		html_note(h, say(MSG_html_service_more, tmpf("%d", left)));
	if (shown)
		html_section_end(h);
}
