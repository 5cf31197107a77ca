/* A reading as its line, members in the order of the contract. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "run/journal.h"
#include "run/scan.h"

static void put_end(struct json_out *j, const struct subject_end *end)
{
	json_object_begin(j, NULL);
	json_put_string(j, "node", end->node);
	if (end->card)
		json_put_string(j, "card", end->card);
	if (end->nic)
		json_put_string(j, "nic", end->nic);
	if (end->port)
		json_put_int(j, "port", end->port);
	json_object_end(j);
}

static void put_subject(struct json_out *j, const struct subject *s)
{
	json_object_begin(j, "subject");
	json_put_string(j, "kind", subject_kind_name(s->kind));
	if (s->id)
		json_put_string(j, "id", s->id);
	if (s->pci)
		json_put_string(j, "pci", s->pci);
	if (s->index >= 0)
		json_put_int(j, "index", s->index);
	if (s->n_ends == 2) {
		json_array_begin(j, "ends");
		put_end(j, &s->ends[0]);
		put_end(j, &s->ends[1]);
		json_array_end(j);
	}
	json_object_end(j);
}

static void put_value(struct json_out *j, const struct reading *r)
{
	switch (r->value_kind) {
	case VALUE_NUMBER:
		json_put_number(j, "value", r->value);
		break;
	case VALUE_TEXT:
		json_put_string(j, "value", r->text);
		break;
	case VALUE_NONE:
		json_put_null(j, "value");
		break;
	}
}

static void put_reason(struct json_out *j, const struct reason *reason)
{
	if (!reason->code) {
		json_put_null(j, "reason");
		return;
	}
	json_object_begin(j, "reason");
	json_put_string(j, "code", reason->code);
	json_array_begin(j, "args");
	for (int i = 0; i < reason->n_args; i++)
		json_put_string(j, NULL, reason->args[i] ? reason->args[i] : "?");
	json_array_end(j);
	json_put_string(j, "text", reason->text);
	json_object_end(j);
}

static void put_stats(struct json_out *j, const double stats[STATS])
{
	bool any = false;

	for (int i = 0; i < STATS; i++)
		any = any || isfinite(stats[i]);
	if (!any)
		return;
	json_object_begin(j, "stats");
	for (int i = 0; i < STAT_CI_LO; i++)
		if (isfinite(stats[i]))
			json_put_number(j, stat_name((enum stat_id)i), stats[i]);
	if (isfinite(stats[STAT_CI_LO]) && isfinite(stats[STAT_CI_HI])) {
		json_array_begin(j, "ci");
		json_put_number(j, NULL, stats[STAT_CI_LO]);
		json_put_number(j, NULL, stats[STAT_CI_HI]);
		json_array_end(j);
	}
	json_object_end(j);
}

/* --- params -------------------------------------------------------------------- */

static bool find_point(void *found, struct scan *s, const struct scan_text *key)
{
	if (key->len == 5 && memcmp(key->at, "point", 5) == 0)
		*(bool *)found = true;
	return scan_skip(s);
}

/* The operating point is a parameter, but a reading has it apart: it is part of
 * what the reading is about. */
static void put_params(struct json_out *j, const struct reading *r)
{
	struct str text = {0};
	struct scan s = scan_begin(r->params ? r->params : "", r->params ? strlen(r->params) : 0);
	bool found = false, valid = r->params && scan_object(&s, find_point, &found);

	if (!r->point || found || (r->params && !valid)) {
		if (r->params)
			json_put_raw(j, "params", r->params);
		return;
	}
	str_add(&text, "{\"point\":");
	json_quote(&text, r->point, strlen(r->point));
	if (valid) {
		const char *rest = strchr(r->params, '{') + 1;

		rest += strspn(rest, " \t\r\n");
		if (*rest != '}')
			str_addc(&text, ',');
		str_add(&text, rest);
	} else {
		str_addc(&text, '}');
	}
	json_put_raw(j, "params", text.data);
	str_release(&text);
}

static void put_raw_file(struct json_out *j, const struct raw_file *raw)
{
	if (!raw->file)
		return;
	json_object_begin(j, "raw");
	json_put_string(j, "file", raw->file);
	json_put_string(j, "sha256", raw->sha256);
	json_put_int(j, "bytes", raw->bytes);
	json_object_end(j);
}

void reading_format(struct str *out, const struct reading *r)
{
	struct json_out j = json_writer(out, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", READING_VERSION);
	json_put_string(&j, "time", r->time);
	json_put_string(&j, "node", r->node);
	json_put_int(&j, "writer", r->writer);
	json_put_string(&j, "phase", r->phase);
	json_put_int(&j, "attempt", r->attempt);
	json_put_string(&j, "work", r->work);
	json_put_string(&j, "probe", r->probe);
	put_subject(&j, &r->subject);
	json_put_string(&j, "metric", r->metric);
	json_put_string(&j, "unit", r->unit);
	put_value(&j, r);
	json_put_string(&j, "better", better_name(r->better));
	json_put_string(&j, "outcome", outcome_name(r->outcome));
	put_reason(&j, &r->reason);
	json_put_string(&j, "origin", origin_name(r->origin));
	put_stats(&j, r->stats);
	put_params(&j, r);
	put_raw_file(&j, &r->raw);
	json_object_end(&j);
}
