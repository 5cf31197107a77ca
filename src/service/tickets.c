/* Tickets; see tickets.h. */
#include "service/tickets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/moment.h"
#include "service/table.h"
#include "stats/interval.h"
#include "stats/samples.h"

#define BEFORE_NS  (15 * MIN_NS)
#define DAY_BEGINS 8
#define DAY_ENDS   20
#define FAR_NS     (366 * DAY_NS)

/* --- reading ------------------------------------------------------------------------- */

static enum status cell_time(const struct csv *csv, int row, const char *column, int64_t *ns,
                             struct error *err)
{
	const char *text = csv_field(csv, row, column);

	*ns = TICKET_NO_TIME;
	if (!text || !*text)
		return ST_OK;
	return cell_moment(csv, row, column, ns, err);
}

static const char *cell_text(struct arena *arena, const struct csv *csv, int row,
                             const char *column)
{
	const char *text = csv_field(csv, row, column);

	return arena_str(arena, text ? text : "");
}

static enum status after_opening(const struct csv *csv, const struct ticket *k, const char *column,
                                 int64_t ns, struct error *err)
{
	if (ns == TICKET_NO_TIME || ns >= k->opened_ns)
		return ST_OK;
	return error_set(err, ST_PARSE, MSG_ticket_order, csv->name, tmpf("%d", k->line), k->id,
	                 column);
}

static enum status read_times(struct ticket *k, const struct csv *csv, int row, struct error *err)
{
	const struct {
		const char *column;
		int64_t *ns;
	} times[] = {{"opened_utc", &k->opened_ns},       {"first_auto_utc", &k->auto_ns},
	             {"first_human_utc", &k->human_ns},   {"engaged_utc", &k->engaged_ns},
	             {"mitigated_utc", &k->mitigated_ns}, {"resolved_utc", &k->resolved_ns}};
	enum status st = ST_OK;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times) && st == ST_OK; i++)
		st = cell_time(csv, row, times[i].column, times[i].ns, err);
	if (st == ST_OK && k->opened_ns == TICKET_NO_TIME)
		return error_set(err, ST_PARSE, MSG_ticket_opened, csv->name, tmpf("%d", k->line),
		                 k->id);
	for (size_t i = 1; i < sizeof(times) / sizeof(*times) && st == ST_OK; i++)
		st = after_opening(csv, k, times[i].column, *times[i].ns, err);
	return st;
}

static enum status read_ticket(struct tickets *t, const struct csv *csv, int row, struct error *err)
{
	struct ticket *k = &t->list[row];

	k->line = csv->lines[row];
	k->id = cell_text(&t->arena, csv, row, "ticket_id");
	k->node = cell_text(&t->arena, csv, row, "node");
	k->opened_by = cell_text(&t->arena, csv, row, "opened_by");
	k->source = cell_text(&t->arena, csv, row, "source");
	k->stated = !word_in("mail|export", k->source);
	if (!*k->id)
		return error_set(err, ST_PARSE, MSG_ticket_id, csv->name, tmpf("%d", k->line));
	return read_times(k, csv, row, err);
}

static int by_id(const void *a, const void *b)
{
	const struct ticket *x = *(const struct ticket *const *)a;
	const struct ticket *y = *(const struct ticket *const *)b;
	int order = strcmp(x->id, y->id);

	return order ? order : x->line - y->line;
}

static enum status ids_differ(const struct tickets *t, const char *path, struct error *err)
{
	const struct ticket **list = calloc((size_t)t->count + 1, sizeof(*list));
	enum status st = ST_OK;

	if (!list)
		die_nomem();
	for (int i = 0; i < t->count; i++)
		list[i] = &t->list[i];
	qsort(list, (size_t)t->count, sizeof(*list), by_id);
	for (int i = 1; i < t->count && st == ST_OK; i++)
		if (strcmp(list[i - 1]->id, list[i]->id) == 0)
			st = error_set(err, ST_PARSE, MSG_ticket_twice, path,
			               tmpf("%d", list[i]->line), list[i]->id,
			               tmpf("%d", list[i - 1]->line));
	free(list);
	return st;
}

/* --- figures --------------------------------------------------------------------------- */

static int64_t last_time(const struct ticket *k, int64_t last)
{
	const int64_t all[] = {k->opened_ns,  k->auto_ns,      k->human_ns,
	                       k->engaged_ns, k->mitigated_ns, k->resolved_ns};

	for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
		last = all[j] > last ? all[j] : last;
	return last;
}

/* What is pending waits until the latest time there is, so one wrong year would make all
 * of them late: a time far behind every other one is refused. */
static enum status find_as_of(const struct tickets *t, const char *path, int64_t *as_of,
                              struct error *err)
{
	const struct ticket *far = NULL;
	int64_t others = *as_of;

	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];

		if (!far || last_time(k, 0) > last_time(far, 0))
			far = k;
	}
	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];

		others = k == far ? others : last_time(k, others);
	}
	if (!far)
		return ST_OK;
	if (others == TICKET_NO_TIME)
		others = far->opened_ns;
	if (last_time(far, 0) - others > FAR_NS)
		return error_set(err, ST_PARSE, MSG_ticket_far, path, tmpf("%d", far->line),
		                 far->id);
	*as_of = last_time(far, *as_of);
	return ST_OK;
}

static double minutes(int64_t from, int64_t to)
{
	return (double)(to - from) / (double)MIN_NS;
}

static enum ticket_hours hours_of(const struct tickets *t, int64_t ns)
{
	int64_t local = ns / NS_PER_S + t->options.zone_min * 60LL;
	/* 1 January 1970 was a Thursday. */
	int day = (int)((local / 86400 + 3) % 7), hour = (int)(local / 3600 % 24);

	if (day >= 5)
		return HOURS_WEEKEND;
	return hour >= DAY_BEGINS && hour < DAY_ENDS ? HOURS_DAY : HOURS_NIGHT;
}

static void judge_ticket(struct tickets *t, struct ticket *k, int64_t as_of)
{
	bool replied = k->human_ns != TICKET_NO_TIME;

	k->response_min = replied ? minutes(k->opened_ns, k->human_ns) : NAN;
	k->waiting_min = replied ? NAN : minutes(k->opened_ns, as_of);
	k->late = (replied ? k->response_min : k->waiting_min) > t->options.limit_min;
	k->pending = !replied && !k->late;
	t->stated += k->stated;
	t->pending += k->pending;
	t->late += k->late;
	t->judged += !k->pending;
	t->in_time += !k->pending && !k->late;
}

static double middle_of(const struct samples *s)
{
	return s->n ? median(s->value, s->n) : NAN;
}

static double longest_of(const struct samples *s)
{
	double longest = NAN;

	for (size_t i = 0; i < s->n; i++)
		longest = fmax(longest, s->value[i]);
	return longest;
}

static void group_figures(struct tickets *t, enum ticket_hours hours)
{
	struct ticket_group *g = &t->by_hours[hours];
	struct samples replied = {0};

	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];

		if (k->pending || hours_of(t, k->opened_ns) != hours)
			continue;
		g->n++;
		g->in_time += !k->late;
		if (isfinite(k->response_min))
			samples_add(&replied, k->response_min);
	}
	g->median_min = middle_of(&replied);
	samples_release(&replied);
}

static void all_figures(struct tickets *t)
{
	struct samples replied = {0}, repair = {0};

	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];
		int64_t end = k->resolved_ns != TICKET_NO_TIME ? k->resolved_ns : k->mitigated_ns;

		if (isfinite(k->response_min))
			samples_add(&replied, k->response_min);
		if (end != TICKET_NO_TIME)
			samples_add(&repair, minutes(k->opened_ns, end));
	}
	t->median_min = middle_of(&replied);
	t->max_min = longest_of(&replied);
	t->repaired = (int)repair.n;
	t->repair_median_min = middle_of(&repair);
	t->repair_max_min = longest_of(&repair);
	samples_release(&replied);
	samples_release(&repair);
	t->share = t->judged ? (double)t->in_time / t->judged : NAN;
	t->low95 = binomial_lower((uint64_t)t->in_time, (uint64_t)t->judged, 0.025);
	t->high95 = binomial_upper((uint64_t)t->in_time, (uint64_t)t->judged, 0.025);
}

/* The promise is about every ticket: one late is a miss, and none late claims a rate
 * only when there are enough of them, with times that are evidence. */
static enum service_verdict verdict_of(const struct tickets *t)
{
	if (t->late)
		return SERVICE_MISSED;
	return t->judged >= TICKETS_ENOUGH && !t->stated ? SERVICE_MET : SERVICE_TOO_SHORT;
}

enum status tickets_read(struct tickets *t, const char *path, const struct ticket_options *options,
                         int64_t as_of_ns, struct error *err)
{
	static const char *const columns[] = {"ticket_id", "opened_utc", "first_human_utc", NULL};
	struct csv csv;
	enum status st = table_read(&csv, path, err);

	*t = (struct tickets){.options = *options};
	if (st == ST_OK)
		st = columns_need(&csv, columns, err);
	t->count = csv.n_rows;
	t->list = arena_array(&t->arena, (size_t)csv.n_rows + 1, sizeof(*t->list));
	for (int i = 0; i < t->count && st == ST_OK; i++)
		st = read_ticket(t, &csv, i, err);
	csv_release(&csv);
	if (st == ST_OK)
		st = ids_differ(t, path, err);
	if (st != ST_OK)
		return st;
	st = find_as_of(t, path, &as_of_ns, err);
	if (st != ST_OK)
		return st;
	for (int i = 0; i < t->count; i++)
		judge_ticket(t, &t->list[i], as_of_ns);
	all_figures(t);
	for (int h = 0; h < HOURS_KINDS; h++)
		group_figures(t, (enum ticket_hours)h);
	t->verdict = verdict_of(t);
	return ST_OK;
}

/* --- with outages ----------------------------------------------------------------------------- */

static int ticket_about(const struct tickets *t, const char *node, const struct outage *o)
{
	int found = -1;

	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];
		bool about = !*k->node || strcmp(k->node, "*") == 0 || strcmp(k->node, node) == 0;

		if (about && k->opened_ns >= o->from_ns - BEFORE_NS &&
		    k->opened_ns <= o->to_ns + DAY_NS &&
		    (found < 0 || k->opened_ns < t->list[found].opened_ns))
			found = i;
	}
	return found;
}

void tickets_join(struct tickets *t, const struct availability *a)
{
	t->joined = arena_array(&t->arena, (size_t)a->n_outages + 1, sizeof(*t->joined));
	for (int i = 0; i < a->n_outages; i++) {
		const struct outage *o = &a->outages[i];
		struct outage_ticket *j;
		const struct ticket *k;

		if (o->cause != CAUSE_NONE && o->cause != CAUSE_PROVIDER)
			continue;
		j = &t->joined[t->n_joined++];
		j->outage = i;
		j->ticket = ticket_about(t, a->nodes[o->node].name, o);
		j->noticed_min = NAN;
		t->unticketed += j->ticket < 0;
		if (j->ticket < 0)
			continue;
		k = &t->list[j->ticket];
		j->noticed_min = minutes(o->from_ns, k->opened_ns);
		t->by_customer += strcmp(k->opened_by, "customer") == 0;
		t->by_provider += word_in("provider|vendor", k->opened_by);
	}
}

void tickets_release(struct tickets *t)
{
	arena_release(&t->arena);
	*t = (struct tickets){0};
}
