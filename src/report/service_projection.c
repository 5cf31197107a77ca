/* The projection of days and cost, read back from its reading; see service_facts.h. Its
 * parameters are what assay estimate writes as JSON. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/service_facts.h"
#include "report/storage_span.h"

static const char *const cases[SERVICE_CASES] = {"best", "mid", "worst"};

static void read_cases(double of[SERVICE_CASES], const cJSON *object)
{
	for (int i = 0; i < SERVICE_CASES; i++)
		of[i] = json_number(object, cases[i], NAN);
}

static void add_input(struct service_projection *p, enum msg name, const char *key,
                      const double of[SERVICE_CASES], double scale, const char *origin)
{
	struct service_input *in = &p->inputs[p->n_inputs];

	if (!isfinite(of[1]) || p->n_inputs == SERVICE_INPUTS)
		return;
	*in = (struct service_input){.name = name, .key = key, .origin = origin};
	for (int i = 0; i < SERVICE_CASES; i++)
		in->of[i] = of[i] * scale;
	p->n_inputs++;
}

static void read_inputs(struct service_projection *p, struct arena *arena, const cJSON *inputs)
{
	static const struct {
		const char *key;
		enum msg name;
	} single[] = {{"peak_tflops", MSG_estimate_in_peak}, {"memory_gb", MSG_estimate_in_memory}},
	  ranges[] = {{"mfu", MSG_estimate_in_mfu},
	              {"gemm_share", MSG_estimate_in_gemm},
	              {"step_share", MSG_estimate_in_step},
	              {"scaling", MSG_estimate_in_scaling},
	              {"step_most", MSG_estimate_in_step_most},
	              {"mttf_h_1000_cards", MSG_estimate_in_mttf},
	              {"write_gbs", MSG_estimate_in_write},
	              {"write_s", MSG_estimate_in_write_s},
	              {"restart_min", MSG_estimate_in_restart},
	              {"bus_gbs", MSG_estimate_in_bus},
	              {"read_gbs", MSG_estimate_in_read}};
	double of[SERVICE_CASES];

	for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++) {
		of[0] = of[1] = of[2] = json_number(inputs, single[i].key, NAN);
		add_input(p, single[i].name, single[i].key, of, 1, "table");
	}
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		const cJSON *range = json_get(inputs, ranges[i].key);
		/* Of a job on 1,000 cards there; of this one here. */
		bool failures = strcmp(ranges[i].key, "mttf_h_1000_cards") == 0;

		read_cases(of, range);
		add_input(p, ranges[i].name, ranges[i].key, of,
		          failures && p->cards > 0 ? 1000 / p->cards : 1,
		          arena_str(arena, json_string(range, "origin", NULL)));
	}
}

bool service_projection_read(struct service_projection *p, struct arena *arena,
                             const struct scorecard *c)
{
	const struct reading *r = NULL;
	const cJSON *estimate;
	struct json_doc doc;

	*p = (struct service_projection){0};
	for (int64_t i = 0; i < c->n_readings; i++)
		if (strcmp(c->readings[i]->metric, "projected_days") == 0)
			r = c->readings[i];
	if (!r)
		return false;
	p->open = r->outcome == OUTCOME_MEASURED ? NULL : &r->reason;
	if (p->open || !r->params || !span_params(r, &doc))
		return p->open != NULL;
	estimate = json_get(doc.root, "estimate");
	p->params = arena_str(arena, json_string(doc.root, "params", "?"));
	p->tokens = arena_str(arena, json_string(doc.root, "tokens", "?"));
	p->price_from = arena_str(arena, json_string(doc.root, "price_from", NULL));
	p->simulated = json_bool(doc.root, "simulated", false);
	p->card = arena_str(arena, json_string(estimate, "card", "?"));
	p->currency = arena_str(arena, json_string(estimate, "currency", NULL));
	p->cards = json_number(estimate, "cards", NAN);
	p->least_cards = json_number(estimate, "least_cards", NAN);
	p->fits = json_bool(estimate, "fits", false);
	p->price = json_number(json_get(estimate, "inputs"), "price", NAN);
	read_cases(p->days, json_get(estimate, "days"));
	read_cases(p->hours, json_get(estimate, "card_hours"));
	read_cases(p->cost, json_get(estimate, "cost"));
	read_cases(p->mfu, json_get(estimate, "mfu"));
	read_cases(p->ettr, json_get(estimate, "ettr"));
	read_inputs(p, arena, json_get(estimate, "inputs"));
	json_release(&doc);
	return true;
}
