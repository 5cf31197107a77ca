/* score_run: from a run directory and a profile to a scorecard. The order is
 * fixed by what depends on what: the card before limits, limits before
 * findings, single findings before the fleet, all before the verdicts. */
#include "score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "score/judging.h"

const char *judging_text_list(struct judging *j, enum msg id, const char *const *args)
{
	struct str text = {0};
	const char *kept;

	msg_add_list(&text, id, args);
	kept = arena_strn(j->arena, str_text(&text), text.len);
	str_release(&text);
	return kept;
}

struct reason judging_reason_list(struct judging *j, enum msg id, const char *const *args)
{
	int n = 0;
	const char **kept;

	while (args[n])
		n++;
	kept = arena_array(j->arena, (size_t)n + 1, sizeof(*kept));
	for (int i = 0; i < n; i++)
		kept[i] = arena_str(j->arena, args[i]);
	return (struct reason){msg_name(id), kept, n, judging_text_list(j, id, kept)};
}

/* --- the head of the card --------------------------------------------------------- */

static double seconds_between(const char *from, const char *to)
{
	int64_t a, b;

	if (!from || !to || !time_parse_utc(from, &a) || !time_parse_utc(to, &b))
		return NAN;
	return (double)(b - a) / (double)NS_PER_S;
}

static void fill_head(struct judging *j, struct scorecard *card)
{
	const struct rundir *run = j->run;
	const struct run_info *info = &run->info;
	int64_t cards = info->expected_cards;

	*card = (struct scorecard){
		.profile = arena_str(j->arena, j->profile->name),
		.profile_sha256 = arena_str(j->arena, j->profile->sha256),
		.card = j->card,
		.card_guessed = j->card_guessed,
		.stage = j->options->stage,
		.screen_only = info->budget && strcmp(info->budget, "quick") == 0,
		.cut = run->state == JOURNAL_CUT,
		.altered = run->state == JOURNAL_ALTERED ? run->trouble : NULL,
		.expected_nodes = info->expected_nodes,
		.expected_cards = cards < 0 ? j->index.n_cards : info->expected_nodes * cards,
		.vendor = info->vendor,
		.started = info->created,
		.ended = run->ended,
		.seconds = seconds_between(info->created, run->ended),
		.run_digest = run->digest,
		.version = info->version,
		.budget = info->budget,
		.readings = j->index.readings.readings,
		.n_readings = j->index.readings.count,
	};
	for (int64_t i = 0; i < j->index.readings.count; i++) {
		enum origin origin = j->index.readings.readings[i]->origin;

		card->simulated = card->simulated || origin == ORIGIN_SIMULATED;
		card->imported = card->imported || origin == ORIGIN_IMPORTED;
	}
}

/* --- what no rule judges ---------------------------------------------------------- */

static bool is_judged(const struct judging *j, const bool *ruled, int64_t i)
{
	const struct reading *r = j->index.readings.readings[i];
	const struct run_info *info = &j->run->info;
	int series = j->index.series_of[i];

	if (series < 0 || !ruled[series])
		return false;
	if (r->subject.kind != SUBJECT_PATH || !r->subject.id || strcmp(r->subject.id, "*") == 0)
		return true;
	for (int k = 0; k < info->n_storage; k++)
		if (strcmp(info->storage[k], r->subject.id) == 0)
			return true;
	return false;
}

static void gather_information(struct judging *j, struct scorecard *card)
{
	bool *ruled = arena_array(&j->scratch, (size_t)j->index.n_series, sizeof(*ruled));
	const struct reading **list;
	int64_t n = 0;

	for (int i = 0; i < j->n_rules; i++)
		if (j->rules[i].series)
			ruled[j->rules[i].series - j->index.series] = true;
	for (int64_t i = 0; i < j->index.readings.count; i++)
		n += !is_judged(j, ruled, i);
	list = arena_array(j->arena, (size_t)n, sizeof(*list));
	for (int64_t i = 0; i < j->index.readings.count; i++)
		if (!is_judged(j, ruled, i))
			list[card->n_information++] = j->index.readings.readings[i];
	card->information = list;
}

/* --- rules ------------------------------------------------------------------------ */

static void resolve_rules(struct judging *j)
{
	const struct profile *p = j->profile;

	j->rules = arena_array(&j->scratch, (size_t)p->n_rules, sizeof(*j->rules));
	for (int c = 0; c < p->n_criteria; c++)
		for (int i = 0; i < p->n_rules; i++)
			if (p->rules[i].criterion == c)
				rule_resolve(j, &p->rules[i], &j->rules[j->n_rules++]);
}

enum status score_run(struct scorecard *card, struct arena *arena, struct rundir *run,
                      const struct profile *profile, const struct metric_set *metrics,
                      const struct score_options *options, struct error *err)
{
	struct judging *j;

	if (run->state == JOURNAL_UNREADABLE)
		return error_set(err, ST_CORRUPT, MSG_run_unusable,
		                 run->trouble ? run->trouble : "");
	if (run->info.expected_nodes < 1)
		return error_set(err, ST_RANGE, MSG_run_nodes);
	j = calloc(1, sizeof(*j));
	if (!j)
		die_nomem();
	j->arena = arena;
	j->run = run;
	j->profile = profile;
	j->metrics = metrics;
	j->options = options;
	j->card_row = -1;
	index_build(&j->index, &j->scratch, run, metrics);
	judging_find_card(j);
	fill_head(j, card);
	j->stamp = arena_array(&j->scratch, (size_t)j->index.n_subjects, sizeof(*j->stamp));
	j->node_mark =
		arena_array(&j->scratch, (size_t)j->index.n_nodes + 1, sizeof(*j->node_mark));
	resolve_rules(j);
	for (int i = 0; i < j->n_rules; i++) {
		rule_score(j, i);
		drift_warn(j, &j->rules[i]);
	}
	fleet_warn(j);
	culprits_find(j, card);
	verdicts_gather(j, card);
	gather_information(j, card);
	free(j->findings);
	arena_release(&j->scratch);
	free(j);
	return ST_OK;
}
