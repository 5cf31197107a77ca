/* The scorecard as JSON, complete; configs/schemas/scorecard.schema.json says
 * what each member is. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/prices.h"
#include "report/report_writers.h"
#include "report/service_writers.h"

static void put_subject(struct json_out *j, const struct subject *s)
{
	json_object_begin(j, "subject");
	json_put_string(j, "kind", subject_kind_name(s->kind));
	json_put_string(j, "id", s->id);
	if (s->pci)
		json_put_string(j, "pci", s->pci);
	if (s->index >= 0)
		json_put_int(j, "index", s->index);
	if (s->n_ends == 2) {
		json_array_begin(j, "ends");
		for (int i = 0; i < 2; i++) {
			json_object_begin(j, NULL);
			json_put_string(j, "node", s->ends[i].node);
			if (s->ends[i].card)
				json_put_string(j, "card", s->ends[i].card);
			if (s->ends[i].nic)
				json_put_string(j, "nic", s->ends[i].nic);
			if (s->ends[i].port)
				json_put_int(j, "port", s->ends[i].port);
			json_object_end(j);
		}
		json_array_end(j);
	}
	json_object_end(j);
}

static void put_reason(struct json_out *j, const struct reason *r)
{
	if (!r->code) {
		json_put_null(j, "reason");
		return;
	}
	json_object_begin(j, "reason");
	json_put_string(j, "code", r->code);
	json_array_begin(j, "args");
	for (int i = 0; i < r->n_args; i++)
		json_put_string(j, NULL, r->args[i]);
	json_array_end(j);
	json_put_string(j, "text", r->text);
	json_object_end(j);
}

static void put_counts(struct json_out *j, const int64_t count[VERDICTS])
{
	json_object_begin(j, "count");
	for (int v = 0; v < VERDICTS; v++)
		json_put_int(j, verdict_name((enum verdict)v), count[v]);
	json_object_end(j);
}

static void put_coverage(struct json_out *j, const char *key, struct coverage c)
{
	json_object_begin(j, key);
	json_put_int(j, "due", c.due);
	json_put_int(j, "tested", c.tested);
	json_object_end(j);
}

static void put_criteria(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "criteria");
	for (int i = 0; i < card->n_criteria; i++) {
		const struct criterion_result *c = &card->criteria[i];

		json_object_begin(j, NULL);
		json_put_string(j, "id", c->id);
		json_put_string(j, "title", c->title);
		json_put_string(j, "verdict", verdict_name(c->verdict));
		json_put_string(j, "subjects", c->subjects);
		put_coverage(j, "coverage", c->coverage);
		put_counts(j, c->count);
		if (c->waived) {
			json_put_int(j, "waived", c->waived);
			json_put_string(j, "verdict_without_waivers", verdict_name(c->unwaived));
		}
		if (c->has_period) {
			json_put_string(j, "period_verdict", verdict_name(c->period_verdict));
			put_coverage(j, "period_coverage", c->period_coverage);
		}
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_rules(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "rule_results");
	for (int i = 0; i < card->n_rules; i++) {
		const struct rule_result *r = &card->rule_results[i];
		const struct rule_info *info = r->rule;

		json_object_begin(j, NULL);
		json_put_string(j, "id", info->id);
		json_put_string(j, "criterion", info->criterion);
		json_put_string(j, "stage", info->stage == RULE_PERIOD ? "period" : "delivery");
		json_put_string(j, "reading", info->reading == RULE_LITERAL ? "literal" : "sound");
		json_put_string(j, "twin", info->twin);
		json_put_string(j, "metric", info->metric);
		json_put_string(j, "stat", info->stat);
		json_put_string(j, "unit", info->unit);
		json_put_string(j, "scope", info->scope);
		json_put_string(j, "limit", info->limit);
		json_put_bool(j, "required", info->required);
		json_put_number(j, "min_coverage", info->min_coverage);
		json_put_string(j, "source", info->source);
		json_put_string(j, "note", info->note);
		json_put_string(j, "verdict", verdict_name(r->verdict));
		put_coverage(j, "coverage", r->coverage);
		json_put_bool(j, "coverage_short", r->coverage_short);
		if (r->waived) {
			json_put_int(j, "waived", r->waived);
			json_put_string(j, "verdict_without_waivers", verdict_name(r->unwaived));
		}
		put_counts(j, r->count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_finding(struct json_out *j, const struct finding *f)
{
	json_object_begin(j, NULL);
	json_put_string(j, "rule", f->rule->id);
	put_subject(j, &f->subject);
	if (f->subjects != 1)
		json_put_int(j, "subjects", f->subjects);
	json_put_string(j, "node", f->node);
	json_put_string(j, "verdict", verdict_name(f->verdict));
	json_put_string(j, "outcome", outcome_name(f->outcome));
	json_put_string(j, "origin", origin_name(f->origin));
	/* A spread of texts has both: how many differ, and the odd one out. */
	if (f->text && !f->has_value)
		json_put_string(j, "value", f->text);
	else
		json_put_number(j, "value", f->has_value ? f->value : NAN);
	if (f->text && f->has_value)
		json_put_string(j, "text", f->text);
	json_put_number(j, "limit", f->limit);
	if (isfinite(f->ci_lo) && isfinite(f->ci_hi)) {
		json_array_begin(j, "ci");
		json_put_number(j, NULL, f->ci_lo);
		json_put_number(j, NULL, f->ci_hi);
		json_array_end(j);
	}
	if (isfinite(f->resolution))
		json_put_number(j, "resolution", f->resolution);
	put_reason(j, &f->reason);
	if (f->advice)
		json_put_string(j, "advice", f->advice);
	json_put_int(j, "attempt", f->attempt);
	if (f->recovered)
		json_put_bool(j, "recovered", true);
	if (f->evidence && f->evidence->seq >= 0)
		json_put_int(j, "seq", f->evidence->seq);
	if (f->point)
		json_put_string(j, "point", f->point);
	if (f->culprit)
		json_put_string(j, "culprit", f->culprit);
	if (f->waived)
		json_put_string(j, "waived", f->waived->waiver.reason);
	json_object_end(j);
}

static void put_information(struct json_out *j, const struct reading *r)
{
	json_object_begin(j, NULL);
	json_put_string(j, "metric", r->metric);
	put_subject(j, &r->subject);
	json_put_string(j, "node", r->node);
	json_put_string(j, "probe", r->probe);
	json_put_string(j, "outcome", outcome_name(r->outcome));
	json_put_string(j, "origin", origin_name(r->origin));
	if (r->value_kind == VALUE_TEXT)
		json_put_string(j, "value", r->text);
	else
		json_put_number(j, "value", r->value_kind == VALUE_NUMBER ? r->value : NAN);
	json_put_string(j, "unit", r->unit);
	if (r->point)
		json_put_string(j, "point", r->point);
	put_reason(j, &r->reason);
	json_object_end(j);
}

static void put_explanation(struct json_out *j, const struct explanation *e)
{
	json_object_begin(j, NULL);
	json_put_string(j, "kind", culprit_kind_name(e->kind));
	if (e->node)
		json_put_string(j, "node", e->node);
	if (e->nic)
		json_put_string(j, "nic", e->nic);
	if (e->peer)
		json_put_string(j, "peer", e->peer);
	if (e->peer_nic)
		json_put_string(j, "peer_nic", e->peer_nic);
	if (e->leaf)
		json_put_string(j, "leaf", e->leaf);
	json_put_number(j, "odds", e->odds);
	if (e->kind != CULPRIT_NOTHING) {
		json_put_string(j, "way", culprit_way_name(e->way));
		json_put_number(j, "way_odds", e->way_odds);
		json_put_number(j, "depth", e->depth);
		json_array_begin(j, "depth_ci");
		json_put_number(j, NULL, e->depth_lo);
		json_put_number(j, NULL, e->depth_hi);
		json_array_end(j);
		json_put_number(j, "level", e->level);
		json_put_int(j, "partners", e->partners);
		json_put_int(j, "readings", e->readings);
	}
	json_object_end(j);
}

static void put_localised(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "localised");
	for (int i = 0; i < card->n_localised; i++) {
		const struct localised *l = &card->localised[i];

		json_object_begin(j, NULL);
		json_put_string(j, "metric", l->metric);
		json_put_string(j, "unit", l->unit);
		if (l->point)
			json_put_string(j, "point", l->point);
		json_put_bool(j, "identified", l->identified);
		json_put_string(j, "text", l->text);
		json_put_number(j, "healthy", l->healthy);
		json_put_int(j, "pairs", l->pairs);
		json_put_int(j, "due", l->due);
		json_array_begin(j, "explanations");
		for (int k = 0; k < l->n_explanations; k++)
			put_explanation(j, &l->explanations[k]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_pairs(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "pairs");
	for (int i = 0; i < card->n_pairs; i++) {
		json_object_begin(j, NULL);
		json_put_string(j, "probe", card->pairs[i].probe);
		json_put_int(j, "pairs", card->pairs[i].pairs);
		json_put_int(j, "due", card->pairs[i].due);
		json_put_int(j, "again", card->pairs[i].again);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_waivers(struct json_out *j, const struct scorecard *card)
{
	if (!card->n_waivers)
		return;
	json_array_begin(j, "waivers");
	for (int i = 0; i < card->n_waivers; i++) {
		const struct waiver_result *r = &card->waivers[i];

		json_object_begin(j, NULL);
		json_put_string(j, "rule", r->waiver.rule);
		json_put_string(j, "subject", r->waiver.subject);
		json_put_string(j, "reason", r->waiver.reason);
		json_put_string(j, "by", r->waiver.by);
		json_put_string(j, "granted", r->waiver.granted);
		json_put_int(j, "excused", r->excused);
		json_put_bool(j, "decides", r->decides);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_evidence(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "evidence");
	for (int i = 0; i < card->n_evidence; i++) {
		json_object_begin(j, NULL);
		json_put_string(j, "kind", card->evidence[i].kind);
		json_put_string(j, "file", card->evidence[i].file);
		json_put_string(j, "sha256", card->evidence[i].sha256);
		json_put_int(j, "bytes", card->evidence[i].bytes);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_head(struct json_out *j, const struct scorecard *card)
{
	json_put_int(j, "v", 1);
	json_put_string(j, "overall", overall_name(card->overall));
	if (card->simulated)
		json_put_string(j, "verdict_if_measured", overall_name(card->overall_if_measured));
	if (card->waivers_used) {
		json_put_int(j, "waivers_used", card->waivers_used);
		json_put_string(j, "overall_without_waivers", overall_name(card->overall_unwaived));
	}
	json_put_int(j, "rules", card->rules);
	json_put_int(j, "rules_judged", card->rules_judged);
	json_put_string(j, "profile", card->profile);
	json_put_string(j, "profile_sha256", card->profile_sha256);
	json_put_string(j, "card", card->card);
	json_put_bool(j, "card_guessed", card->card_guessed);
	json_put_string(j, "stage", card->stage == RULE_PERIOD ? "period" : "delivery");
	json_put_string(j, "budget", card->budget);
	json_put_bool(j, "simulated", card->simulated);
	json_put_bool(j, "imported", card->imported);
	json_put_bool(j, "screen_only", card->screen_only);
	json_put_bool(j, "cut", card->cut);
	json_put_string(j, "altered", card->altered);
	json_put_int(j, "expected_nodes", card->expected_nodes);
	json_put_int(j, "expected_cards", card->expected_cards);
	json_put_string(j, "vendor", card->vendor);
	json_put_string(j, "started", card->started);
	json_put_string(j, "ended", card->ended);
	json_put_number(j, "seconds", card->seconds);
	json_put_string(j, "version", card->version);
	json_put_string(j, "run_digest", card->run_digest);
}

enum status report_json(struct str *out, const struct scorecard *card,
                        const struct report_options *options, struct error *err)
{
	struct json_out j = json_writer(out, 2);

	(void)options;
	(void)err;
	json_object_begin(&j, NULL);
	put_head(&j, card);
	put_waivers(&j, card);
	put_criteria(&j, card);
	put_rules(&j, card);
	json_array_begin(&j, "findings");
	for (int64_t i = 0; i < card->n_findings; i++)
		put_finding(&j, &card->findings[i]);
	json_array_end(&j);
	put_localised(&j, card);
	put_pairs(&j, card);
	if (card->n_evidence)
		put_evidence(&j, card);
	prices_json(&j, &card->prices);
	service_json(&j, card);
	json_array_begin(&j, "information");
	for (int64_t i = 0; i < card->n_information; i++)
		put_information(&j, card->information[i]);
	json_array_end(&j);
	json_object_end(&j);
	str_addc(out, '\n');
	return ST_OK;
}
