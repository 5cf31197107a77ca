/* What a watch and tickets become as readings: a figure only where the time or the
 * number of tickets allows one, else what is missing. A broken promise shows before
 * the month is over, a kept one does not. */
#include "cli/evidence_service.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "cli/evidence_detail.h"
#include "service/tickets.h"

static void unmeasured(struct evidence *e, struct reading *r, enum msg id, const char *const *args,
                       int n_args)
{
	const char **kept = arena_array(e->arena, (size_t)n_args + 1, sizeof(*kept));
	struct str text = {0};

	for (int i = 0; i < n_args; i++)
		kept[i] = arena_str(e->arena, args[i]);
	msg_add_list(&text, id, kept);
	r->outcome = OUTCOME_NOT_MEASURED;
	r->reason =
		(struct reason){msg_name(id), kept, n_args, arena_str(e->arena, str_text(&text))};
	str_release(&text);
}

/* --- availability --------------------------------------------------------------------- */

/* So many stretches at most: a strip of 720 points shows no more. */
#define STRETCHES 400

/* Minutes, and every stretch that was not up as [begin, length, state], seconds since
 * the beginning. */
static const char *node_params(struct evidence *e, const struct availability *a,
                               const struct node_time *n)
{
	int64_t begin = n->spans.count ? n->spans.list[0].from_ns : a->first_ns;
	struct str text = {0}, from = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;
	int told = 0;

	time_add_utc(&from, begin);
	json_object_begin(&j, NULL);
	json_put_string(&j, "from_utc", str_text(&from));
	json_put_number(&j, "seconds", (double)(a->last_ns - begin) / NS_PER_S);
	json_put_number(&j, "up_min", n->up_s / 60);
	json_put_number(&j, "degraded_min", n->degraded_s / 60);
	json_put_number(&j, "down_min", n->down_s / 60);
	json_put_number(&j, "unknown_min", n->unknown_s / 60);
	json_put_number(&j, "planned_min", n->planned_s / 60);
	json_put_number(&j, "customer_min", n->customer_s / 60);
	json_array_begin(&j, "not_up");
	for (int i = 0; i < n->spans.count && told < STRETCHES; i++) {
		const struct span *s = &n->spans.list[i];

		if (s->state == NODE_UP)
			continue;
		told++;
		json_array_begin(&j, NULL);
		json_put_number(&j, NULL, (double)(s->from_ns - begin) / NS_PER_S);
		json_put_number(&j, NULL, (double)(s->to_ns - s->from_ns) / NS_PER_S);
		json_put_string(&j, NULL, node_state_name(s->state));
		json_array_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	kept = arena_str(e->arena, str_text(&text));
	str_release(&text);
	str_release(&from);
	return kept;
}

static void add_node(struct evidence *e, const struct availability *a, const struct node_time *n)
{
	struct reading r = evidence_reading(e, "watch", "availability_share");
	double known = n->up_s + n->degraded_s + n->down_s;
	double watched = known + n->unknown_s + n->planned_s + n->customer_s;
	const char *days = tmpf("%.1f", watched / 86400);
	const char *unknown = tmpf("%.2f %%", watched > 0 ? 100 * n->unknown_s / watched : 100);

	r.node = arena_str(e->arena, n->name);
	r.subject.id = r.node;
	r.params = node_params(e, a, n);
	if (availability_of_node(a, n) == SERVICE_TOO_SHORT) {
		unmeasured(e, &r, MSG_availability_too_short,
		           (const char *const[]){days, fmt_value(a->options.days), unknown}, 3);
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = n->up_s / known;
		r.stats[STAT_N] = n->outages;
	}
	evidence_add(e, &r);
}

static int is_log(const struct dirent *entry)
{
	return str_ends(entry->d_name, HEARTBEAT_ENDING);
}

/* Each log of a directory, as availability reads them. */
static enum status note_logs(struct evidence *e, const char *path, struct error *err)
{
	struct dirent **names;
	enum status st = ST_OK;
	struct stat at;
	int n;

	if (stat(path, &at) == 0 && !S_ISDIR(at.st_mode))
		return evidence_note_file(e, "watch", path, err);
	n = scandir(path, &names, is_log, alphasort);
	if (n < 0)
		return error_errno(err, path, errno);
	for (int i = 0; i < n; i++) {
		if (st == ST_OK)
			st = evidence_note_file(
				e, "watch", arena_strf(e->arena, "%s/%s", path, names[i]->d_name),
				err);
		free(names[i]);
	}
	free(names);
	return st;
}

static enum status read_watch(struct evidence *e, struct availability *a, struct error *err)
{
	const struct availability_options wanted = {
		.target = AVAILABILITY_TARGET,
		.days = AVAILABILITY_DAYS,
		.repair_min = AVAILABILITY_REPAIR_MIN,
		.causes = option_text(e->options, "causes", NULL),
	};
	int n;
	const char *const *paths = option_list(e->options, "availability", &n);

	return availability_read(a, paths, n, &wanted, err);
}

enum status evidence_availability(struct evidence *e, struct error *err)
{
	const char *causes = option_text(e->options, "causes", NULL);
	struct availability a = {0};
	int n;
	const char *const *paths = option_list(e->options, "availability", &n);
	enum status st = read_watch(e, &a, err);

	for (int i = 0; i < n && st == ST_OK; i++)
		st = note_logs(e, paths[i], err);
	if (st == ST_OK && causes)
		st = evidence_note_file(e, "causes", causes, err);
	for (int i = 0; i < a.n_nodes && st == ST_OK; i++)
		add_node(e, &a, &a.nodes[i]);
	availability_release(&a);
	return st;
}

/* Read with the logs. */
enum status evidence_causes(struct evidence *e, struct error *err)
{
	return option_given(e->options, "availability")
	               ? ST_OK
	               : error_set(err, ST_USAGE, MSG_causes_need_watch);
}

/* --- tickets ---------------------------------------------------------------------------- */

/* The slowest; a late one that nobody answered has waited so long at least. */
static double slowest(const struct tickets *t)
{
	double most = NAN;

	for (int i = 0; i < t->count; i++)
		if (!t->list[i].pending)
			most = fmax(most, isnan(t->list[i].response_min) ? t->list[i].waiting_min
			                                                 : t->list[i].response_min);
	return most;
}

static void add_tickets(struct evidence *e, const struct tickets *t)
{
	struct reading r = evidence_reading(e, "tickets", "ticket_response_min");

	r.params = evidence_tickets_params(e, t);
	if (t->stated)
		r.origin = ORIGIN_DECLARED;
	if (t->verdict == SERVICE_TOO_SHORT && t->judged < TICKETS_ENOUGH) {
		unmeasured(e, &r, MSG_tickets_too_few,
		           (const char *const[]){tmpf("%d", t->judged), tmpf("%d", t->in_time),
		                                 tmpf("%d", TICKETS_ENOUGH)},
		           3);
	} else {
		double most = slowest(t);

		r.value_kind = VALUE_NUMBER;
		r.value = isnan(t->median_min) ? most : t->median_min;
		r.stats[STAT_N] = t->judged;
		r.stats[STAT_MEDIAN] = r.value;
		r.stats[STAT_MAX] = most;
	}
	evidence_add(e, &r);
}

enum status evidence_tickets(struct evidence *e, struct error *err)
{
	const char *path = option_text(e->options, "tickets", NULL);
	const struct ticket_options options = {.limit_min = TICKETS_LIMIT_MIN};
	struct tickets t = {0};
	enum status st = tickets_read(&t, path, &options, TICKET_NO_TIME, err);

	if (st == ST_OK)
		st = evidence_note_file(e, "tickets", path, err);
	if (st == ST_OK)
		add_tickets(e, &t);
	tickets_release(&t);
	return st;
}
