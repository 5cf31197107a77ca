/* Reading back what evidence came to. Parameters are JSON of our own making, so a member
 * that lacks is simply not known; what they hold of vendors' files is text and no more. */
#include "report/service_facts.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/unit.h"
#include "report/storage_span.h"

static const struct reading *reading_of(const struct scorecard *c, const char *metric)
{
	for (int64_t i = c->n_readings - 1; i >= 0; i--)
		if (strcmp(c->readings[i]->metric, metric) == 0)
			return c->readings[i];
	return NULL;
}

static const char *text_of(struct arena *arena, const cJSON *object, const char *key)
{
	return arena_str(arena, json_string(object, key, NULL));
}

/* Money is written as text: exact for whoever reads the JSON. */
static double money_of(const cJSON *object, const char *key)
{
	const char *text = json_string(object, key, NULL);
	double value = NAN;

	return text && parse_double(text, &value) ? value : NAN;
}

/* --- bill ------------------------------------------------------------------------- */

static void add_step(struct service_bill *b, const char *word, double amount, bool level)
{
	if (level || fabs(amount) >= 0.005)
		b->steps[b->n_steps++] = (struct service_step){word, amount, level};
}

static bool adds_whole(const char *word)
{
	return word_in("tax|credit|correction|unclassified", word);
}

/* Every line is in one class, so the steps add up to the bill. */
static void make_steps(struct service_bill *b, const cJSON *root)
{
	double rounding = json_bool(root, "rounded_up", false) ? money_of(root, "rounding") : 0;
	double on_top = money_of(root, "tax_on_top"), quote = -rounding;

	on_top = isfinite(on_top) ? on_top : 0;
	for (int i = 0; i < b->n_classes; i++)
		if (!adds_whole(b->classes[i].word))
			quote += b->classes[i].billed - b->classes[i].excess;
	add_step(b, "quote", quote, true);
	for (int i = 0; i < b->n_classes; i++)
		if (!adds_whole(b->classes[i].word))
			add_step(b, b->classes[i].word, b->classes[i].excess, false);
	add_step(b, "rounding", rounding, false);
	add_step(b, "tax_on_top", on_top, false);
	for (int i = 0; i < b->n_classes; i++)
		if (adds_whole(b->classes[i].word))
			add_step(b, b->classes[i].word,
			         b->classes[i].billed -
			                 (strcmp(b->classes[i].word, "tax") == 0 ? on_top : 0),
			         false);
	add_step(b, "billed", b->total, true);
}

static void read_lists(struct service_bill *b, struct arena *arena, const cJSON *root)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_get(root, "classes"))
	{
		const char *word = text_of(arena, item, "class");

		if (word && b->n_classes < SERVICE_CLASSES)
			b->classes[b->n_classes++] = (struct service_class){
				word, json_int64(item, "lines", 0), money_of(item, "billed"),
				money_of(item, "excess")};
	}
	cJSON_ArrayForEach(item, json_get(root, "examples"))
	{
		if (b->n_examples < SERVICE_ROWS)
			b->examples[b->n_examples++] = (struct service_line){
				json_int64(item, "line", 0),  text_of(arena, item, "class"),
				text_of(arena, item, "what"), text_of(arena, item, "quoted"),
				money_of(item, "billed"),     money_of(item, "expected")};
	}
	cJSON_ArrayForEach(item, json_get(root, "open"))
	{
		if (cJSON_IsString(item) && b->n_open < SERVICE_ROWS)
			b->open[b->n_open++] = arena_str(arena, item->valuestring);
	}
}

bool service_bill_read(struct service_bill *b, struct arena *arena, const struct scorecard *c)
{
	const struct reading *r = reading_of(c, "bill_unquoted_cny");
	struct json_doc doc;

	*b = (struct service_bill){0};
	if (!r || !r->params || !span_params(r, &doc))
		return false;
	b->currency = text_of(arena, doc.root, "currency");
	b->verdict = text_of(arena, doc.root, "verdict");
	b->from = text_of(arena, doc.root, "from_utc");
	b->to = text_of(arena, doc.root, "to_utc");
	b->lines = json_int64(doc.root, "lines", 0);
	b->total = money_of(doc.root, "total");
	b->hidden = money_of(doc.root, "hidden");
	read_lists(b, arena, doc.root);
	if (b->currency && b->verdict && isfinite(b->total))
		make_steps(b, doc.root);
	json_release(&doc);
	return b->n_steps > 0;
}

/* --- tickets ---------------------------------------------------------------------- */

static void read_hours(struct service_tickets *t, const cJSON *hours)
{
	static const struct {
		const char *key;
		enum msg name;
	} kinds[SERVICE_HOURS] = {{"day", MSG_tickets_day},
	                          {"night", MSG_tickets_night},
	                          {"weekend", MSG_tickets_weekend}};

	for (int i = 0; i < SERVICE_HOURS; i++) {
		const cJSON *group = json_get(hours, kinds[i].key);

		t->hours[i] = (struct service_hours){kinds[i].name, (int)json_int64(group, "n", 0),
		                                     (int)json_int64(group, "in_time", 0),
		                                     json_number(group, "median_min", NAN)};
	}
}

static void read_tickets(struct service_tickets *t, struct arena *arena, const cJSON *list)
{
	const cJSON *item;

	t->list = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*t->list));
	cJSON_ArrayForEach(item, list)
	{
		struct service_ticket *k = &t->list[t->n];

		*k = (struct service_ticket){
			.id = text_of(arena, item, "id"),
			.opened = text_of(arena, item, "opened_utc"),
			.days = json_number(item, "days", NAN),
			.response_min = json_number(item, "response_min", NAN),
			.waiting_min = json_number(item, "waiting_min", NAN),
			.late = json_bool(item, "late", false),
		};
		t->n += k->id && k->opened;
	}
}

bool service_tickets_read(struct service_tickets *t, struct arena *arena, const struct scorecard *c)
{
	const struct reading *r = reading_of(c, "ticket_response_min");
	struct json_doc doc;

	*t = (struct service_tickets){0};
	if (!r || !r->params || !span_params(r, &doc))
		return false;
	t->verdict = text_of(arena, doc.root, "verdict");
	t->limit_min = json_number(doc.root, "limit_min", NAN);
	t->judged = (int)json_int64(doc.root, "judged", 0);
	t->in_time = (int)json_int64(doc.root, "in_time", 0);
	t->late = (int)json_int64(doc.root, "late", 0);
	t->pending = (int)json_int64(doc.root, "pending", 0);
	t->stated = (int)json_int64(doc.root, "stated", 0);
	t->share = json_number(doc.root, "share", NAN);
	t->low95 = json_number(doc.root, "low95", NAN);
	t->high95 = json_number(doc.root, "high95", NAN);
	t->median_min = json_number(doc.root, "median_min", NAN);
	t->max_min = json_number(doc.root, "max_min", NAN);
	t->repaired = (int)json_int64(doc.root, "repaired", 0);
	t->repair_median_min = json_number(doc.root, "repair_median_min", NAN);
	t->repair_max_min = json_number(doc.root, "repair_max_min", NAN);
	read_hours(t, json_get(doc.root, "hours"));
	read_tickets(t, arena, json_get(doc.root, "tickets"));
	json_release(&doc);
	return t->verdict != NULL;
}

static double waited(const struct service_ticket *k)
{
	return isfinite(k->response_min) ? k->response_min : k->waiting_min;
}

int service_slowest(const struct service_tickets *t, int *index, int most)
{
	int n = 0;

	for (int i = 0; i < t->n; i++) {
		int at = n;

		if (!t->list[i].late)
			continue;
		while (at > 0 && waited(&t->list[index[at - 1]]) < waited(&t->list[i]))
			at--;
		if (at == most)
			continue;
		n += n < most;
		memmove(&index[at + 1], &index[at], (size_t)(n - at - 1) * sizeof(*index));
		index[at] = i;
	}
	return n;
}

/* --- availability ------------------------------------------------------------------- */

int service_nodes_read(struct service_node **nodes, struct arena *arena, const struct scorecard *c)
{
	int n = 0;

	*nodes = NULL;
	for (int64_t i = 0; i < c->n_readings; i++)
		n += strcmp(c->readings[i]->metric, "availability_share") == 0;
	if (n)
		*nodes = arena_array(arena, (size_t)n, sizeof(**nodes));
	n = 0;
	for (int64_t i = 0; i < c->n_readings; i++) {
		const struct reading *r = c->readings[i];
		struct json_doc doc;

		if (strcmp(r->metric, "availability_share") != 0 || !r->params ||
		    !span_params(r, &doc))
			continue;
		(*nodes)[n++] = (struct service_node){
			.node = r->node,
			.up_min = json_number(doc.root, "up_min", NAN),
			.degraded_min = json_number(doc.root, "degraded_min", NAN),
			.down_min = json_number(doc.root, "down_min", NAN),
			.unknown_min = json_number(doc.root, "unknown_min", NAN),
			.planned_min = json_number(doc.root, "planned_min", NAN),
			.customer_min = json_number(doc.root, "customer_min", NAN),
		};
		json_release(&doc);
	}
	return n;
}
