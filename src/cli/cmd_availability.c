/* assay availability: what the logs of a watch are worth against 99.9 %, and the
 * tickets against half an hour. 0 met, 1 missed, 2 too little to say. */
#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "cli/cli.h"
#include "cli/service_text.h"
#include "service/moment.h"

static const struct option_row rows[] = {
	{"tickets", OPTION_TEXT, "CSV", 0, 0, NULL, MSG_opt_tickets},
	{"causes", OPTION_TEXT, "CSV", 0, 0, NULL, MSG_opt_causes},
	{"target", OPTION_TEXT, "PERCENT", 0, 0, NULL, MSG_opt_target},
	{"days", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_days},
	{"repair-min", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_repair},
	{"response-min", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_response},
	{"zone", OPTION_TEXT, "+HH:MM", 0, 0, NULL, MSG_opt_zone},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json_figures},
	{0},
};

enum status option_real(const struct options *o, const char *name, double min, double max,
                        double *value, struct error *err)
{
	const char *text = option_text(o, name, NULL);

	if (!text)
		return ST_OK;
	if (!parse_double(text, value))
		return error_set(err, ST_USAGE, MSG_option_real, name, text);
	if (!(*value >= min && *value <= max))
		return error_set(err, ST_USAGE, MSG_option_range, name, text, tmpf("%.7g", min),
		                 tmpf("%.7g", max));
	return ST_OK;
}

static enum status parse(const struct options *o, struct availability_options *a,
                         struct ticket_options *t, struct error *err)
{
	const char *zone = option_text(o, "zone", "+00:00");
	double percent = AVAILABILITY_TARGET * 100;
	enum status st;

	*a = (struct availability_options){.days = AVAILABILITY_DAYS,
	                                   .repair_min = AVAILABILITY_REPAIR_MIN,
	                                   .causes = option_text(o, "causes", NULL)};
	*t = (struct ticket_options){.limit_min = TICKETS_LIMIT_MIN};
	st = option_real(o, "target", 50, 99.99999, &percent, err);
	a->target = option_given(o, "target") ? percent / 100 : AVAILABILITY_TARGET;
	if (st == ST_OK)
		st = option_real(o, "days", 1, 3660, &a->days, err);
	if (st == ST_OK)
		st = option_real(o, "repair-min", 1, 100000, &a->repair_min, err);
	if (st == ST_OK)
		st = option_real(o, "response-min", 1, 100000, &t->limit_min, err);
	if (st == ST_OK && !offset_parse(zone, &t->zone_min))
		st = error_set(err, ST_USAGE, MSG_option_zone, zone);
	return st;
}

static enum status say_it(const struct options *o, const struct availability *a,
                          const struct tickets *t, struct error *err)
{
	const char *json = option_text(o, "json", NULL);
	struct report_options shown = cli_report_options();
	struct str out = {0};
	enum status st = ST_OK;

	if (json)
		availability_json(&out, a, t);
	if (json)
		st = cli_write_text(json, &out, err);
	str_clear(&out);
	if (st == ST_OK && (!json || strcmp(json, "-") != 0)) {
		if (!availability_text(&out, a, t, &shown))
			st = error_set(err, ST_NOMEM, MSG_errno_memory);
		else
			st = cli_write_text("-", &out, err);
	}
	str_release(&out);
	return st;
}

/* The worse of the two: missed before too little, too little before met. */
static int code_of(const struct availability *a, const struct tickets *t)
{
	if (a->verdict == SERVICE_MISSED || (t && t->verdict == SERVICE_MISSED))
		return EXIT_REJECT;
	if (a->verdict == SERVICE_TOO_SHORT || (t && t->verdict == SERVICE_TOO_SHORT))
		return EXIT_INCOMPLETE;
	return EXIT_ACCEPT;
}

static int availability(const struct options *o, struct error *err)
{
	const char *file = option_text(o, "tickets", NULL);
	struct availability_options wanted;
	struct ticket_options response;
	struct availability a = {0};
	struct tickets t = {0};
	enum status st = parse(o, &wanted, &response, err);
	int code;

	if (st == ST_OK)
		st = availability_read(&a, o->operands, o->n_operands, &wanted, err);
	if (st == ST_OK && file)
		st = tickets_read(&t, file, &response, a.last_ns, err);
	if (st == ST_OK && file)
		tickets_join(&t, &a);
	if (st == ST_OK)
		st = say_it(o, &a, file ? &t : NULL, err);
	code = st == ST_OK ? code_of(&a, file ? &t : NULL) : cli_status_code(st);
	tickets_release(&t);
	availability_release(&a);
	return code;
}

const struct command command_availability = {
	.name = "availability",
	.summary = MSG_cmd_availability,
	.operands = "DIR...",
	.min_operands = 1,
	.max_operands = 100000,
	.rows = rows,
	.run = availability,
};
