/* Findings in words. Subjects, limits and reasons come from hosts and files of
 * others: they are made printable here, once. Layout (columns, wrapping) is in
 * layout.c. */
#include "report/words.h"

#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"

/* A UUID that stands beside a PCI address needs no more to be recognised. */
#define ID_COLUMNS 15

void words_add(struct str *out, const char *text)
{
	if (text)
		str_add_printable(out, text, strlen(text));
}

const char *words_shown(const char *text)
{
	struct str s = {0};
	const char *shown;

	words_add(&s, text);
	shown = tmpf("%s", str_text(&s));
	str_release(&s);
	return shown;
}

const char *words_origin(enum origin origin)
{
	static const enum msg names[ORIGINS] = {[ORIGIN_MEASURED] = MSG_origin_measured,
	                                        [ORIGIN_IMPORTED] = MSG_origin_imported,
	                                        [ORIGIN_DECLARED] = MSG_origin_declared,
	                                        [ORIGIN_SIMULATED] = MSG_origin_simulated};

	return msg_format(names[origin]);
}

/* --- subjects ----------------------------------------------------------------- */

static void end_of(struct str *out, const struct subject_end *e)
{
	words_add(out, e->node ? e->node : "?");
	if (e->card && e->number) {
		struct str id = {0};

		words_add(&id, e->card);
		str_addf(out, " %s (", say(MSG_words_card, tmpf("%d", e->number - 1)));
		words_cut(out, str_text(&id), ID_COLUMNS);
		str_addc(out, ')');
		str_release(&id);
	} else if (e->card || e->nic) {
		str_addc(out, ' ');
		words_add(out, e->card ? e->card : e->nic);
	}
	if (e->port)
		str_addf(out, ":%d", e->port);
}

static bool is_all(const char *id)
{
	return !id || strcmp(id, "*") == 0;
}

/* The full id is in the JSON and CSV reports. */
static void short_id(struct str *out, const struct subject *s)
{
	struct str id = {0};

	words_add(&id, s->id);
	words_cut(out, str_text(&id), s->pci ? ID_COLUMNS : 64);
	str_release(&id);
}

static void card_of(struct str *out, const struct subject *s)
{
	if (is_all(s->id)) {
		str_add(out, msg_format(MSG_words_all_cards));
	} else if (s->index < 0) { /* a CPU socket */
		words_add(out, s->id);
	} else {
		str_addf(out, "%s (", say(MSG_words_card, tmpf("%d", s->index)));
		short_id(out, s);
		if (s->pci)
			str_add(out, ", ");
		words_add(out, s->pci);
		str_addc(out, ')');
	}
}

void words_subject(struct str *out, const struct subject *s, const char *node)
{
	if (s->n_ends == 2) {
		end_of(out, &s->ends[0]);
		str_add(out, " - ");
		end_of(out, &s->ends[1]);
		return;
	}
	switch (s->kind) {
	case SUBJECT_CARD:
		words_add(out, node);
		if (node)
			str_addc(out, ' ');
		card_of(out, s);
		break;
	case SUBJECT_CLUSTER:
		str_add(out, msg_format(MSG_words_cluster));
		break;
	case SUBJECT_PATH:
		if (is_all(s->id))
			str_add(out, msg_format(MSG_words_storage));
		else
			words_add(out, s->id);
		break;
	default:
		if (is_all(s->id) && !node)
			str_add(out, msg_format(MSG_words_several));
		else
			words_add(out, is_all(s->id) ? node : s->id);
		break;
	}
}

const char *words_subjects(enum subject_kind kind, int64_t count)
{
	static const enum msg one[SUBJECT_KINDS] = {
		[SUBJECT_CLUSTER] = MSG_one_cluster,
		[SUBJECT_NODE] = MSG_one_node,
		[SUBJECT_CARD] = MSG_one_card,
		[SUBJECT_LINK] = MSG_one_link,
		[SUBJECT_PAIR] = MSG_one_pair,
		[SUBJECT_PATH] = MSG_one_path,
		[SUBJECT_ENVIRONMENT] = MSG_one_environment,
	};
	static const enum msg many[SUBJECT_KINDS] = {
		[SUBJECT_CLUSTER] = MSG_many_clusters,
		[SUBJECT_NODE] = MSG_many_nodes,
		[SUBJECT_CARD] = MSG_many_cards,
		[SUBJECT_LINK] = MSG_many_links,
		[SUBJECT_PAIR] = MSG_many_pairs,
		[SUBJECT_PATH] = MSG_many_paths,
		[SUBJECT_ENVIRONMENT] = MSG_many_environments,
	};

	return count == 1 ? msg_format(one[kind])
	                  : say_list(many[kind], (const char *const[]){words_count(count), NULL});
}

const char *words_count(int64_t count)
{
	const char *plain = tmpf("%lld", (long long)count);
	size_t len = strlen(plain);
	struct str grouped = {0};
	const char *shown;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && plain[i - 1] != '-')
			str_addc(&grouped, ',');
		str_addc(&grouped, plain[i]);
	}
	shown = tmpf("%s", grouped.data);
	str_release(&grouped);
	return shown;
}

/* --- names -------------------------------------------------------------------- */

static size_t stem(const char *name)
{
	return strcspn(name, "_");
}

static bool same_stem(const char *a, const char *b)
{
	return stem(a) == stem(b) && strncmp(a, b, stem(a)) == 0;
}

void words_names(struct str *out, const char *const *names, int count)
{
	bool first = true;

	for (int i = 0; i < count; i++) {
		int like = 0, before = 0;

		for (int k = 0; k < count; k++)
			if (same_stem(names[i], names[k])) {
				like++;
				before += k < i;
			}
		if (before)
			continue;
		if (!first)
			str_add(out, ", ");
		first = false;
		if (like == 1) {
			words_add(out, names[i]);
			continue;
		}
		str_add_printable(out, names[i], stem(names[i]));
		str_addf(out, "_* (%d)", like);
	}
}

/* --- figures ------------------------------------------------------------------ */

const char *words_verdict(enum verdict verdict)
{
	static const enum msg words[VERDICTS] = {
		[VERDICT_PASS] = MSG_verdict_pass,
		[VERDICT_WARN] = MSG_verdict_warn,
		[VERDICT_FAIL] = MSG_verdict_fail,
		[VERDICT_INCONCLUSIVE] = MSG_verdict_inconclusive,
		[VERDICT_NOT_APPLICABLE] = MSG_verdict_not_applicable,
		[VERDICT_NOT_MEASURED] = MSG_verdict_not_measured,
		[VERDICT_STATED_ONLY] = MSG_verdict_stated_only,
		[VERDICT_TOO_SHORT] = MSG_verdict_too_short,
		[VERDICT_TOO_FEW] = MSG_verdict_too_few,
	};

	return msg_format(words[verdict]);
}

bool words_is_share(const char *stat)
{
	return strcmp(stat, stat_name(STAT_F95)) == 0 || strcmp(stat, stat_name(STAT_CV)) == 0 ||
	       strcmp(stat, stat_name(STAT_DIP_SHARE)) == 0 ||
	       strcmp(stat, stat_name(STAT_DRIFT)) == 0;
}

const char *words_value(const struct rule_info *rule, double value)
{
	return words_is_share(rule->stat) ? fmt_measure(100 * value, "%")
	                                  : fmt_measure(value, rule->unit);
}

static void add_stat(struct str *out, const char *stat)
{
	if (strcmp(stat, "value") == 0)
		return;
	str_addc(out, ' ');
	if (strcmp(stat, stat_name(STAT_F95)) == 0)
		str_add(out, msg_format(MSG_words_fluctuation));
	else if (strcmp(stat, stat_name(STAT_DIP_SHARE)) == 0)
		str_add(out, msg_format(MSG_words_dips));
	else
		words_add(out, stat);
}

void words_figure(struct str *out, const struct finding *f)
{
	const struct rule_info *r = f->rule;

	words_add(out, r->metric);
	add_stat(out, r->stat);
	/* "each" and "worst" are one subject's own figure. */
	if (f->has_value && strcmp(r->scope, "each") != 0 && strcmp(r->scope, "worst") != 0) {
		str_addc(out, ' ');
		words_add(out, r->scope);
	}
	if (f->has_value)
		str_addf(out, " %s", words_value(r, f->value));
	if (f->text) {
		str_add(out, " \"");
		words_add(out, f->text);
		str_addc(out, '"');
	}
	if (f->evidence && f->evidence->point) {
		struct str point = {0};

		words_add(&point, f->evidence->point);
		str_addf(out, " %s", say(MSG_words_point, str_text(&point)));
		str_release(&point);
	}
}

/* How far a failing figure is off, where a share of the limit says something. */
static void add_share(struct str *out, const struct finding *f)
{
	double percent = 100 * f->value / f->limit;

	if (f->verdict != VERDICT_FAIL || !f->has_value || !(f->limit > 0) || !(f->value > 0) ||
	    !isfinite(percent))
		return;
	if (percent < 99.5)
		str_addf(out, ", %s",
		         say(MSG_words_share, tmpf("%.*f", percent < 9.95 ? 1 : 0, percent)));
	else if (percent >= 200)
		str_addf(out, ", %s",
		         say(MSG_words_times, tmpf("%.*f", percent < 995 ? 1 : 0, percent / 100)));
}

void words_limit(struct str *out, const struct finding *f)
{
	const struct rule_info *r = f->rule;
	struct str limit = {0};

	if (words_is_share(r->stat) && isfinite(f->limit))
		str_add(&limit, words_value(r, f->limit));
	else
		words_add(&limit, r->limit);
	if (limit.len)
		str_addf(out, "; %s", say(MSG_words_limit, str_text(&limit)));
	if (limit.len)
		add_share(out, f);
	if (isfinite(f->resolution))
		str_addf(out, ", %s", say(MSG_words_resolves, words_value(r, f->resolution)));
	str_release(&limit);
}

/* Where the common unit of two figures begins; the end when they differ. */
static size_t number_len(const char *lo, const char *hi)
{
	const char *a = strchr(lo, ' '), *b = strchr(hi, ' ');

	return a && b && strcmp(a, b) == 0 ? (size_t)(a - lo) : strlen(lo);
}

void words_range(struct str *out, const char *lo, const char *hi)
{
	if (strcmp(lo, hi) == 0)
		str_add(out, hi);
	else
		str_add(out, say(MSG_words_range, tmpf("%.*s", (int)number_len(lo, hi), lo), hi));
}

/* --- reasons ------------------------------------------------------------------ */

void words_reason(struct str *out, const struct finding *f, const char *these)
{
	const struct reason *r = &f->reason;
	const char *args[10];
	struct str text = {0};
	enum msg id;
	int n = 0;

	if (these && r->code && msg_parse(r->code, &id) && msg_arity(msg_format(id)) <= r->n_args) {
		for (; n < r->n_args && n < 9; n++)
			args[n] = strcmp(r->args[n], f->rule->metric) == 0 ? these : r->args[n];
		args[n] = NULL;
		msg_add_again(&text, id, args);
		words_add(out, str_text(&text));
	} else {
		words_said(out, r);
	}
	str_release(&text);
}

void words_said(struct str *out, const struct reason *reason)
{
	struct str text = {0};

	reason_say(&text, reason);
	words_add(out, text.len ? text.data : msg_format(MSG_no_reason));
	str_release(&text);
}

/* --- what a profile calls things ------------------------------------------------ */

void words_note(struct str *out, const char *note)
{
	static const enum msg notes[] = {
#define MSG(id, text) MSG_##id,
#include "base/messages/notes.def"
#undef MSG
	};

	for (size_t i = 0; note && i < sizeof(notes) / sizeof(*notes); i++)
		if (strcmp(note, msg_text(LANGUAGE_EN, notes[i])) == 0)
			note = msg_format(notes[i]);
	words_add(out, note);
}

const char *words_title(const struct criterion_result *c)
{
	static const struct {
		const char *id;
		enum msg title;
	} known[] = {
		{"1", MSG_criterion_compute}, {"2", MSG_criterion_interconnect},
		{"S", MSG_criterion_storage}, {"3", MSG_criterion_software},
		{"4", MSG_criterion_service},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(c->id, known[i].id) == 0 &&
		    strcmp(c->title, msg_text(LANGUAGE_EN, known[i].title)) == 0)
			return msg_format(known[i].title);
	return c->title;
}

void words_overall_waived(struct str *out, enum overall overall, const char *word, int waivers)
{
	if (overall != OVERALL_ACCEPT || !waivers)
		str_add(out, word);
	else if (waivers == 1)
		msg_add(out, MSG_overall_waiver, word);
	else
		msg_add(out, MSG_overall_waivers, word, tmpf("%d", waivers));
}

const char *words_overall(enum overall overall)
{
	static const enum msg words[] = {
		[OVERALL_ACCEPT] = MSG_overall_accept,
		[OVERALL_REJECT] = MSG_overall_reject,
		[OVERALL_INCOMPLETE] = MSG_overall_incomplete,
	};

	return msg_format(words[overall]);
}
