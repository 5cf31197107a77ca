/* What is owed: which rules apply, and to how many subjects, on the inventory
 * that was expected. What a run left out never makes this smaller; a condition
 * that depends on something unknown leaves the rule owed and not measured. */
#include <math.h>
#include <string.h>

#include "score/judging.h"

/* The reading that says a card is split (a number other than 0, or a word). */
#define MIG_METRIC "card_mig_enabled"

static const char *const has_names[] = {
#define X(name, text) text,
	HAS_WORDS(X)
#undef X
};

int64_t due_nodes(const struct judging *j)
{
	int64_t expected = j->run->info.expected_nodes;

	return expected > j->index.n_nodes ? expected : j->index.n_nodes;
}

int64_t due_cards(const struct judging *j, int node)
{
	int64_t stated = j->run->info.expected_cards;
	int64_t seen = node >= 0 ? j->index.nodes[node].n_cards : 0;
	int64_t owed = stated < 0 ? 1 : stated;

	return owed > seen ? owed : seen;
}

/* --- conditions ------------------------------------------------------------------- */

static enum holds holds(bool yes)
{
	return yes ? HOLDS_YES : HOLDS_NO;
}

/* From the card row. What a guessed card says of itself may make a rule
 * apply, but cannot excuse it. */
static enum holds row_holds(const struct judging *j, bool yes)
{
	return j->card_guessed && !yes ? HOLDS_UNKNOWN : holds(yes);
}

static enum holds has_card(const struct judging *j, int node)
{
	int64_t stated = j->run->info.expected_cards;

	if (stated >= 0)
		return holds(stated > 0);
	return holds(node >= 0 ? j->index.nodes[node].n_cards > 0 : j->index.n_cards > 0);
}

static enum holds has_nvlink(const struct judging *j)
{
	struct figure links;

	if (j->profile->expect[HAS_NVLINK])
		return HOLDS_YES;
	if (j->card_row < 0)
		return HOLDS_UNKNOWN;
	links = accel_figure(&j->profile->accelerators, j->card_row, "nvlink_links");
	return row_holds(j, links.trust == TRUST_ROW && links.value > 0);
}

static enum holds has_mig(const struct judging *j, int node)
{
	const struct series *s = index_series(&j->index, MIG_METRIC);

	for (int64_t i = 0; s && i < s->n; i++) {
		const struct reading *r = s->entries[i].reading;

		if ((node >= 0 && j->index.subjects[s->entries[i].subject].node != node) ||
		    r->outcome != OUTCOME_MEASURED)
			continue;
		if (r->value_kind == VALUE_TEXT ? strcmp(r->text, "enabled") == 0 : r->value != 0)
			return HOLDS_YES;
	}
	return HOLDS_NO;
}

static enum holds has(const struct judging *j, enum has what, int node)
{
	switch (what) {
	case HAS_CARD:
		return has_card(j, node);
	case HAS_NVLINK:
		return has_nvlink(j);
	case HAS_MIG:
		return has_mig(j, node);
	default:
		return holds(j->profile->expect[what]);
	}
}

static enum holds has_form(const struct judging *j, const char *form)
{
	return j->form ? row_holds(j, strcmp(j->form, form) == 0) : HOLDS_UNKNOWN;
}

static enum holds enough_cards(const struct judging *j, int64_t least)
{
	int64_t stated = j->run->info.expected_cards;

	if (stated >= 0)
		return holds(j->run->info.expected_nodes * stated >= least);
	return j->index.n_cards ? holds(j->index.n_cards >= least) : HOLDS_UNKNOWN;
}

/* Joins one more condition: the first that does not hold decides, else the
 * first that is unknown. */
static void join(enum holds *all, const char **why, enum holds one, const char *text)
{
	if (one == HOLDS_YES || *all == HOLDS_NO || (one == HOLDS_UNKNOWN && *all == HOLDS_UNKNOWN))
		return;
	*all = one;
	*why = text;
}

enum holds when_holds(struct judging *j, const struct rule *rule, int node, const char **why)
{
	const struct when *w = &rule->when;
	enum holds all = HOLDS_YES;

	*why = "";
	if (w->nodes_min)
		join(&all, why, holds(j->run->info.expected_nodes >= w->nodes_min),
		     say(MSG_when_nodes, tmpf("%lld", (long long)w->nodes_min)));
	if (w->cards_min)
		join(&all, why, enough_cards(j, w->cards_min),
		     say(MSG_when_cards, tmpf("%lld", (long long)w->cards_min)));
	for (enum has h = 0; h < HAS_COUNT; h++) {
		if (w->has & 1u << h)
			join(&all, why, has(j, h, node), has_names[h]);
		if (w->lacks & 1u << h) {
			enum holds one = has(j, h, node);

			join(&all, why, one == HOLDS_UNKNOWN ? one : holds(one == HOLDS_NO),
			     say(MSG_when_lacks, has_names[h]));
		}
	}
	if (w->form)
		join(&all, why, has_form(j, w->form), say(MSG_when_form, w->form));
	return all;
}
