/* What a person does next about a finding: chosen by the reason, else by what
 * kind of figure is wrong, else in general. To add one: a row. */
#include <string.h>

#include "score/judging.h"

static const struct {
	enum msg reason, advice;
} by_reason[] = {
	{MSG_no_driver, MSG_advice_driver},         {MSG_no_probe_yet, MSG_advice_no_probe},
	{MSG_no_evidence, MSG_advice_no_evidence},  {MSG_not_selected, MSG_advice_select},
	{MSG_not_selected_only, MSG_advice_select}, {MSG_not_selected_skip, MSG_advice_select},
	{MSG_no_reading, MSG_advice_resume},        {MSG_interrupted, MSG_advice_resume},
	{MSG_guard_lost, MSG_advice_resume},        {MSG_slow_load, MSG_advice_resume},
	{MSG_no_storage_named, MSG_advice_storage}, {MSG_cards_not_seen, MSG_advice_inventory},
	{MSG_nodes_not_seen, MSG_advice_inventory}, {MSG_when_unknown, MSG_advice_card},
	{MSG_limit_unknown, MSG_advice_card},       {MSG_identity_stated, MSG_advice_card},
	{MSG_identity_unproven, MSG_advice_card},   {MSG_star_measured, MSG_advice_probe_bug},
	{MSG_stat_missing, MSG_advice_probe_bug},   {MSG_value_missing, MSG_advice_probe_bug},
	{MSG_reading_unit, MSG_advice_probe_bug},   {MSG_bad_reading, MSG_advice_probe_bug},
	{MSG_stated_import, MSG_advice_evidence},   {MSG_stated_declared, MSG_advice_evidence},
	{MSG_too_short, MSG_advice_longer},         {MSG_too_few, MSG_advice_longer},
	{MSG_f95_short_open, MSG_advice_longer},    {MSG_f95_noise, MSG_advice_longer},
	{MSG_ci_straddles, MSG_advice_longer},      {MSG_dips_few, MSG_advice_longer},
	{MSG_fleet_worse, MSG_advice_fleet},        {MSG_drift_other, MSG_advice_drift},
	{MSG_drift_mixed, MSG_advice_drift},        {MSG_no_point_meets, MSG_advice_point},
	{MSG_storage_no_point, MSG_advice_point},   {MSG_storage_unproven, MSG_advice_nodes},
	{MSG_storage_left_out, MSG_advice_longer},  {MSG_cards_disagree, MSG_advice_inventory},
	{MSG_card_unlisted, MSG_advice_inventory},  {MSG_paper_none, MSG_advice_paper},
};

static const struct {
	const char *unit;
	enum msg advice;
} by_unit[] = {
	{"TFLOP/s", MSG_advice_compute}, {"GFLOP/s", MSG_advice_compute},
	{"GB/s", MSG_advice_bandwidth},  {"Gb/s", MSG_advice_bandwidth},
	{"us", MSG_advice_latency},      {"ns", MSG_advice_latency},
	{"text", MSG_advice_identity},
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static enum msg for_reason(const char *code, enum msg fallback)
{
	for (size_t i = 0; code && i < COUNT(by_reason); i++)
		if (strcmp(code, msg_name(by_reason[i].reason)) == 0)
			return by_reason[i].advice;
	return fallback;
}

static enum msg for_outcome(const struct finding *f)
{
	switch (f->outcome) {
	case OUTCOME_LOST:
		return MSG_advice_lost;
	case OUTCOME_TIMED_OUT:
		return MSG_advice_hang;
	case OUTCOME_FAILED:
		return MSG_advice_wrong;
	case OUTCOME_UNSUPPORTED:
		return MSG_advice_absent;
	case OUTCOME_NOT_MEASURED:
		return MSG_advice_not_measured;
	default:
		return MSG_advice_generic;
	}
}

static enum msg for_figure(const struct finding *f)
{
	if (strcmp(f->rule->stat, "f95") == 0 || strcmp(f->rule->stat, "dip_share") == 0)
		return MSG_advice_steady;
	for (size_t i = 0; i < COUNT(by_unit); i++)
		if (strcmp(f->rule->unit, by_unit[i].unit) == 0)
			return by_unit[i].advice;
	return MSG_advice_generic;
}

void advise(struct judging *j, struct finding *f)
{
	enum msg id;

	if (f->verdict == VERDICT_PASS || f->verdict == VERDICT_NOT_APPLICABLE)
		return;
	id = f->outcome == OUTCOME_MEASURED ? for_figure(f) : for_outcome(f);
	id = for_reason(f->reason.code, id);
	if (!j->advice[id])
		j->advice[id] = judging_text_list(j, id, (const char *const[]){NULL});
	f->advice = j->advice[id];
}
