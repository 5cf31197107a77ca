/* Limits in numbers: shares of the card's rated figures become figures, and
 * every limit becomes the text that reports print. A figure without a verified
 * row never fails a card. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "score/judging.h"

/* --- the card --------------------------------------------------------------------- */

/* What cards say of themselves is tried in journal order; equal texts follow
 * each other, so comparing with the last one saves nearly all matching. */
static int guess_card(const struct judging *j)
{
	const char *last = NULL;

	for (int64_t i = 0; i < j->index.readings.count; i++) {
		const struct reading *r = j->index.readings.readings[i];
		int row;

		if (r->subject.kind != SUBJECT_CARD || r->value_kind != VALUE_TEXT || !r->text ||
		    r->outcome != OUTCOME_MEASURED || (last && strcmp(last, r->text) == 0))
			continue;
		last = r->text;
		row = accel_guess(&j->profile->accelerators, r->text);
		if (row >= 0)
			return row;
	}
	return -1;
}

void judging_find_card(struct judging *j)
{
	j->card_row = j->profile->card_row;
	if (j->card_row < 0) {
		j->card_row = guess_card(j);
		j->card_guessed = j->card_row >= 0;
	}
	if (j->card_row < 0)
		return;
	j->card = csv_field(&j->profile->accelerators, j->card_row, "key");
	j->card = arena_str(j->arena, j->card);
	j->form = accel_form(j->card, j->arena);
}

/* --- texts ------------------------------------------------------------------------ */

static const char *share_text(struct judging *j, const struct resolved *rr)
{
	const struct limit *l = &rr->rule->limit;
	double share = l->banded ? BAND_FAIL * l->factor : l->factor;

	if (l->of_metric)
		return judging_text_list(j, rr->is_min ? MSG_limit_min_share : MSG_limit_max_share,
		                         (const char *const[]){fmt_value(share), l->of, NULL});
	if (isnan(rr->limit))
		return judging_text(j, MSG_limit_unknown_card, l->of);
	return judging_text_list(j, rr->is_min ? MSG_limit_min_figure : MSG_limit_max_figure,
	                         (const char *const[]){fmt_measure(rr->limit, rr->info->unit),
	                                               fmt_value(share), l->of,
	                                               fmt_value(rr->figure.value), NULL});
}

static const char *limit_text(struct judging *j, const struct resolved *rr)
{
	const struct limit *l = &rr->rule->limit;

	switch (l->kind) {
	case LIMIT_MIN:
		return judging_text(j, MSG_limit_min, fmt_measure(l->number, rr->info->unit));
	case LIMIT_MAX:
		return judging_text(j, MSG_limit_max, fmt_measure(l->number, rr->info->unit));
	case LIMIT_NUMBER:
		return judging_text(j, MSG_limit_equals, fmt_measure(l->number, rr->info->unit));
	case LIMIT_TEXT:
		return judging_text(j, MSG_limit_equals, l->text);
	case LIMIT_FRACTION:
		return share_text(j, rr);
	case LIMIT_ROW:
		if (j->card_row < 0)
			return judging_text(j, MSG_limit_unknown_card, l->of);
		return judging_text(j, MSG_limit_row, l->of, j->card, rr->cell ? rr->cell : "-");
	case LIMIT_FLEET:
		return judging_text_list(j, MSG_limit_fleet, (const char *const[]){NULL});
	case LIMIT_MAJORITY:
		return judging_text(j, MSG_limit_majority, tmpf("%g", 100 * l->number));
	case LIMIT_EXISTS:
		break;
	}
	return judging_text_list(j, MSG_limit_exists, (const char *const[]){NULL});
}

/* The legs of a limit are shown together where they disagree. */
static void note_legs(struct judging *j, struct resolved *rr)
{
	const struct figure *f = &rr->figure;
	const char *text;

	if (!isfinite(f->row) || !isfinite(f->principles) ||
	    fabs(f->row - f->principles) <= 0.02 * fabs(f->row))
		return;
	text = judging_text(j, MSG_leg_principles, rr->rule->limit.of, fmt_value(f->row),
	                    fmt_value(f->principles));
	rr->info->note =
		rr->info->note ? judging_text(j, MSG_leg_note, rr->info->note, text) : text;
}

/* --- resolving -------------------------------------------------------------------- */

static void resolve_fraction(struct judging *j, struct resolved *rr)
{
	const struct rule *rule = rr->rule;
	const struct limit *l = &rule->limit;

	rr->is_min = l->is_min;
	rr->thin = l->banded && l->sources < BAND_SOURCES;
	rr->thin_fail = NAN;
	if (l->of_metric)
		return;
	rr->figure = accel_figure(&j->profile->accelerators, j->card_row, l->of);
	if (rr->figure.trust == TRUST_NONE)
		return;
	rr->limit = rr->figure.value * l->factor * (l->banded ? BAND_FAIL : 1);
	if (l->banded)
		rr->warn = rr->figure.value * l->factor * BAND_WARN;
	else if (rule->has_warn)
		rr->warn = rr->figure.value * rule->warn;
	if (l->sources == 1)
		rr->thin_fail = rr->figure.value * l->factor * BAND_ALONE;
	rr->unproven = rr->figure.trust != TRUST_ROW || j->card_guessed;
	note_legs(j, rr);
}

static void resolve_row(struct judging *j, struct resolved *rr)
{
	const struct limit *l = &rr->rule->limit;
	const char *cell;
	double value;

	rr->cell_trusted = accel_cell(&j->profile->accelerators, j->card_row, l->of, &cell);
	if (!cell || !*cell)
		return;
	rr->cell = arena_str(j->arena, cell);
	if (parse_double(cell, &value))
		rr->limit = value;
}

/* The scorecard may outlive the profile. */
static struct rule_info *copy_info(struct arena *arena, const struct rule_info *from)
{
	struct rule_info *info = arena_alloc(arena, sizeof(*info));

	*info = *from;
	info->id = arena_str(arena, from->id);
	info->criterion = arena_str(arena, from->criterion);
	info->twin = arena_str(arena, from->twin);
	info->source = arena_str(arena, from->source);
	info->note = arena_str(arena, from->note);
	return info;
}

void rule_resolve(struct judging *j, const struct rule *rule, struct resolved *rr)
{
	*rr = (struct resolved){.rule = rule, .limit = NAN, .warn = NAN, .combined_at = -1};
	rr->figure = (struct figure){TRUST_NONE, NAN, NAN, NAN};
	rr->info = copy_info(j->arena, &rule->info);
	rr->series = index_series(&j->index, rule->metric->name);
	switch (rule->limit.kind) {
	case LIMIT_FRACTION:
		resolve_fraction(j, rr);
		break;
	case LIMIT_ROW:
		resolve_row(j, rr);
		break;
	case LIMIT_MIN:
	case LIMIT_MAX:
	case LIMIT_NUMBER:
		rr->limit = rule->limit.number;
		rr->is_min = rule->limit.kind == LIMIT_MIN;
		if (rule->has_warn)
			rr->warn = rule->warn;
		break;
	case LIMIT_TEXT:
	case LIMIT_EXISTS:
	case LIMIT_FLEET:
	case LIMIT_MAJORITY:
		break;
	}
	rr->info->limit = limit_text(j, rr);
}
