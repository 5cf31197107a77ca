/* Clauses of a contract against a scorecard, and the certificate as Markdown. */
#include "report/certificate.h"

#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/msg.h"
#include "report/groups.h"
#include "report/head.h"
#include "report/markup.h"
#include "report/waived.h"
#include "report/words.h"
#include "score/judging.h"

/* --- what became of a clause -------------------------------------------------------- */

/* Not good, whatever is waived. */
static bool is_open(enum verdict v)
{
	return verdict_severity(v) > verdict_severity(VERDICT_WARN);
}

static const struct rule_result *rule_of(const struct scorecard *card, const char *id)
{
	for (int i = 0; i < card->n_rules; i++)
		if (strcmp(card->rule_results[i].rule->id, id) == 0)
			return &card->rule_results[i];
	return NULL;
}

/* The nearest to its limit, or the farthest beyond it; what is waived only where nothing
 * else is wrong. */
static const struct finding *worst_of(const struct scorecard *card, const struct rule_result *r)
{
	bool waived_too = !is_open(r->verdict);
	const struct finding *worst = NULL;
	double gap = NAN;

	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];
		double distance = f->has_value ? fabs(f->value - f->limit) : NAN;
		bool fails = f->verdict == VERDICT_FAIL;

		if (f->rule != r->rule || (f->waived && !waived_too))
			continue;
		/* They come worst verdict first. */
		if (worst && f->verdict != worst->verdict)
			break;
		if (!worst || (fails ? distance > gap : distance < gap)) {
			worst = f;
			gap = distance;
		}
	}
	return worst;
}

/* What is open or fails in spite of waivers comes before what they excuse. */
static int rank(const struct rule_result *r)
{
	if (is_open(r->verdict))
		return 100 + verdict_severity(r->verdict);
	return verdict_severity(rule_shown(r));
}

static void judge(const struct certificate *c, struct clause *x)
{
	for (int i = x->first; i < x->first + x->n_rules; i++) {
		const struct rule_result *r = rule_of(c->card, c->rules[i]);

		if (!r)
			continue;
		x->shown = true;
		if (!rule_in_stage(c->card, r->rule))
			continue;
		x->waived += r->waived;
		if (!x->decides || rank(r) > rank(x->decides))
			x->decides = r;
	}
	x->later = x->shown && !x->decides;
	x->verdict = VERDICT_NOT_MEASURED;
	if (x->decides) {
		x->verdict =
			is_open(x->decides->verdict) ? x->decides->verdict : rule_shown(x->decides);
		x->finding = worst_of(c->card, x->decides);
	}
}

void clause_figure(struct str *out, const struct clause *x)
{
	const struct finding *f = x->finding;

	if (!x->shown) {
		str_add(out, msg_format(MSG_clause_no_rule));
	} else if (x->later) {
		str_add(out, msg_format(MSG_clause_later));
	} else if (f && (f->has_value || f->text)) {
		if (f->verdict != VERDICT_PASS) {
			words_subject(out, &f->subject, f->node);
			str_add(out, ": ");
		}
		words_figure(out, f);
		words_limit(out, f);
	} else if (f) {
		words_add(out, f->rule->metric);
		str_add(out, ": ");
		words_reason(out, f, NULL);
	}
}

void clause_verdict(struct str *out, const struct clause *x)
{
	if (x->later)
		str_add(out, msg_format(MSG_later));
	else
		str_add(out, words_verdict(x->verdict));
	waived_count(out, x->waived);
}

/* --- the file ------------------------------------------------------------------------- */

static const char *title_of(struct arena *arena, const cJSON *object)
{
	const char *plain = json_string(object, "title", NULL);
	const char *chinese = json_string(object, "title_zh", plain);

	plain = msg_spoken() == LANGUAGE_ZH ? chinese : plain;
	return plain ? arena_str(arena, plain) : NULL;
}

static enum status unknown(const struct certificate *c, const struct json_doc *doc,
                           const cJSON *item, const char *rule, struct error *err)
{
	const char **names = arena_array(c->arena, (size_t)c->card->n_rules + 1, sizeof(*names));
	const char *near;

	for (int i = 0; i < c->card->n_rules; i++)
		names[i] = c->card->rule_results[i].rule->id;
	near = nearest_word(rule, names);
	return error_set(err, ST_PARSE, MSG_clause_rule, json_place(doc, item), rule,
	                 near ? near : "-");
}

static enum status add_rule(struct certificate *c, const struct json_doc *doc, const cJSON *item,
                            bool strict, struct error *err)
{
	if (!cJSON_IsString(item) || !*item->valuestring)
		return error_set(err, ST_PARSE, MSG_clause_item, json_place(doc, item));
	if (strict && !rule_of(c->card, item->valuestring))
		return unknown(c, doc, item, item->valuestring, err);
	c->rules[c->n_rules++] = arena_str(c->arena, item->valuestring);
	return ST_OK;
}

static enum status add_clause(struct certificate *c, const struct json_doc *doc, const cJSON *item,
                              bool strict, struct error *err)
{
	const cJSON *one = json_get(item, "rule"), *many = json_get(item, "rules"), *rule;
	struct clause *x = &c->clauses[c->n_clauses++];
	const char *id = json_string(item, "clause", NULL);
	enum status st = ST_OK;

	*x = (struct clause){.id = id ? arena_str(c->arena, id) : NULL,
	                     .title = title_of(c->arena, item),
	                     .first = c->n_rules};
	if (!x->id || !x->title || (one != NULL) == (many != NULL) ||
	    (many && (!cJSON_IsArray(many) || !cJSON_GetArraySize(many))))
		return error_set(err, ST_PARSE, MSG_clause_item, json_place(doc, item));
	if (one)
		st = add_rule(c, doc, one, strict, err);
	cJSON_ArrayForEach(rule, many)
	{
		if (st == ST_OK)
			st = add_rule(c, doc, rule, strict, err);
	}
	x->n_rules = c->n_rules - x->first;
	if (st == ST_OK)
		judge(c, x);
	return st;
}

static int count_rules(const cJSON *list)
{
	const cJSON *item;
	int n = 0;

	cJSON_ArrayForEach(item, list)
	{
		n += 1 + cJSON_GetArraySize(json_get(item, "rules"));
	}
	return n;
}

static enum status read_doc(struct certificate *c, const struct json_doc *doc, bool strict,
                            struct error *err)
{
	const cJSON *list = json_get(doc->root, "clauses"), *item;
	enum status st = ST_OK;

	c->title = title_of(c->arena, doc->root);
	if (json_int64(doc->root, "v", 0) != 1 || !c->title || !cJSON_IsArray(list) ||
	    !cJSON_GetArraySize(list))
		return error_set(err, ST_PARSE, MSG_clauses_form, doc->name);
	c->clauses = arena_array(c->arena, (size_t)cJSON_GetArraySize(list), sizeof(*c->clauses));
	c->rules = arena_array(c->arena, (size_t)count_rules(list), sizeof(*c->rules));
	cJSON_ArrayForEach(item, list)
	{
		if (st == ST_OK)
			st = add_clause(c, doc, item, strict, err);
	}
	return st;
}

enum status certificate_read(struct certificate *c, struct arena *arena,
                             const struct scorecard *card, const char *name, const char *config_dir,
                             struct error *err)
{
	const char *config = name ? name : CLAUSES_DEFAULT;
	struct str text = {0}, where = {0};
	struct json_doc doc = {0};
	enum status st;

	*c = (struct certificate){.card = card, .arena = arena};
	if (name && (strchr(name, '/') || str_ends(name, ".json"))) {
		st = json_load(&doc, name, JSON_COMMENTS, err);
	} else {
		st = config_read(&text, &where, config_dir, tmpf("clauses/%s.json", config), err);
		if (st == ST_OK)
			st = json_parse(&doc, str_text(&where), str_text(&text), text.len,
			                JSON_COMMENTS, err);
	}
	if (st == ST_OK)
		st = read_doc(c, &doc, name != NULL, err);
	json_release(&doc);
	str_release(&text);
	str_release(&where);
	return st;
}

/* --- Markdown --------------------------------------------------------------------------- */

static void cell(struct str *out, const char *text)
{
	str_add(out, "| ");
	markdown_text(out, text);
	str_addc(out, ' ');
}

static void row_of(struct str *out, const enum msg *columns, int n)
{
	for (int i = 0; i < n; i++)
		cell(out, msg_format(columns[i]));
	str_add(out, "|\n");
	for (int i = 0; i < n; i++)
		str_add(out, "| --- ");
	str_add(out, "|\n");
}

static void heading(struct str *out, enum msg title)
{
	str_add(out, "\n## ");
	markdown_text(out, msg_format(title));
	str_add(out, "\n\n");
}

static void clauses(struct str *out, const struct certificate *c)
{
	static const enum msg columns[] = {MSG_clause_column, MSG_clause_title, MSG_clause_found,
	                                   MSG_html_verdict};

	heading(out, MSG_clauses_title);
	row_of(out, columns, 4);
	for (int i = 0; i < c->n_clauses; i++) {
		const struct clause *x = &c->clauses[i];
		struct str s = {0};

		cell(out, x->id);
		cell(out, x->title);
		clause_figure(&s, x);
		cell(out, str_text(&s));
		str_clear(&s);
		clause_verdict(&s, x);
		cell(out, str_text(&s));
		str_add(out, "|\n");
		str_release(&s);
	}
}

static void waivers(struct str *out, const struct certificate *c)
{
	static const enum msg columns[] = {MSG_waiver_column, MSG_waiver_found, MSG_waiver_reason};

	heading(out, MSG_waiver_heading);
	if (!c->card->n_waivers) {
		markdown_text(out, msg_format(MSG_waiver_none));
		str_addc(out, '\n');
		return;
	}
	row_of(out, columns, 3);
	for (int i = 0; i < c->card->n_waivers; i++) {
		const struct waiver_result *w = &c->card->waivers[i];
		struct str s = {0};

		waiver_what(&s, &w->waiver);
		cell(out, str_text(&s));
		str_clear(&s);
		waiver_claim(&s, c->card, w);
		cell(out, str_text(&s));
		str_clear(&s);
		waiver_why(&s, &w->waiver);
		cell(out, str_text(&s));
		str_add(out, "|\n");
		str_release(&s);
	}
}

static void record(struct str *out, const struct certificate *c)
{
	const struct scorecard *card = c->card;

	heading(out, MSG_certificate_record);
	str_add(out, "- ");
	markdown_text(out, say(MSG_digest,
	                       card->run_digest ? card->run_digest : msg_format(MSG_no_digest)));
	str_add(out, "\n- ");
	markdown_text(out, say(MSG_html_profile_digest, card->profile ? card->profile : "?",
	                       card->profile_sha256 ? card->profile_sha256 : "?"));
	str_add(out, "\n\n");
	markdown_text(out, msg_format(MSG_certificate_how));
	str_addc(out, '\n');
}

static void signatures(struct str *out)
{
	static const enum msg sides[] = {MSG_certificate_customer, MSG_certificate_vendor};

	heading(out, MSG_certificate_signatures);
	for (size_t i = 0; i < 2; i++) {
		str_add(out, "- ");
		markdown_text(out, msg_format(sides[i]));
		str_add(out, ": ");
		markdown_text(out, msg_format(MSG_certificate_sign));
		str_add(out, " \\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\n");
	}
}

void certificate_markdown(struct str *out, const struct certificate *c)
{
	struct str word = {0}, rest = {0};

	headline(&word, &rest, c->card);
	str_add(out, "# ");
	markdown_text(out, say(MSG_certificate_title, c->title));
	str_add(out, "\n\n**");
	markdown_text(out, str_text(&word));
	str_add(out, "** ");
	markdown_text(out, str_text(&rest));
	str_add(out, "\n\n");
	str_clear(&word);
	head_facts(&word, c->card);
	markdown_text(out, str_text(&word));
	str_addc(out, '\n');
	for (const char *const *b = head_banners(c->arena, c->card); *b; b++) {
		str_add(out, "\n> ");
		markdown_text(out, *b);
		str_addc(out, '\n');
	}
	clauses(out, c);
	waivers(out, c);
	record(out, c);
	signatures(out);
	str_release(&word);
	str_release(&rest);
}
