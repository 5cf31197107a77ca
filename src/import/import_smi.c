/* nvidia-smi in its three forms: -q as text, -q -x as XML, --query-gpu as CSV. Each says
 * the same under other names, so a form only yields "name: value" of a card, names made
 * alike (power.limit; gpu_power_readings/current_power_limit), and one table says what
 * they mean. The XML is the plain kind that nvidia-smi writes - elements, no attributes
 * that matter but the id of a card - which a scanner of 60 lines reads, so that no parser
 * of XML has to be there. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <stdlib.h>

#include "base/csv.h"
#include "base/msg.h"
#include "import/reader.h"

enum form { FORM_TEXT, FORM_NUMBER, FORM_YES, FORM_ECC };

/* Names by form: CSV | text | XML; a path may be given by its end. */
static const struct {
	const char *names, *metric;
	enum form form;
} meanings[] = {
	{"name|product_name", "card_name", FORM_TEXT},
	{"memory.total|fb_memory_usage/total", "card_memory_mib", FORM_NUMBER},
	{"driver_version", "node_driver_version", FORM_TEXT},
	{"clocks.max.sm|max_clocks/sm|max_clocks/sm_clock", "card_max_sm_clock_mhz", FORM_NUMBER},
	{"ecc.mode.current|ecc_mode/current|ecc_mode/current_ecc", "card_ecc_mode", FORM_ECC},
	{"mig.mode.current|mig_mode/current|mig_mode/current_mig", "card_mig_enabled", FORM_YES},
	{"compute_cap", "card_capability", FORM_TEXT},
	{"remapped_rows/pending|remapped_rows/remapped_row_pending|remapped_rows.pending",
         "card_remap_pending", FORM_YES},
	{"remapped_rows/remapping_failure_occurred|remapped_rows/remapped_row_failure|"
         "remapped_rows.failure",
         "card_remap_failures", FORM_YES},
	{"gpu_link_info/pcie_generation/current|pcie_gen/current_link_gen|pcie.link.gen.current",
         "card_pcie_gen", FORM_NUMBER},
	{"gpu_link_info/link_width/current|link_widths/current_link_width|pcie.link.width.current",
         "card_pcie_width", FORM_NUMBER},
};

static const char power_limit[] = "power.limit|gpu_power_readings/current_power_limit|"
				  "power_readings/enforced_power_limit|power_readings/power_limit";
static const char power_default[] = "power.default_limit|gpu_power_readings/default_power_limit|"
				    "power_readings/default_power_limit";

/* What is known of the card being read. */
struct card {
	const char *node, *uuid, *pci;
	int index;
	double limit_w, default_w;
	struct {
		const char *name, *value;
	} * pairs;
	int n, cap;
};

static void card_add(struct import *in, struct card *c, const char *name, const char *value)
{
	if (c->n == c->cap) {
		int cap = c->cap ? 2 * c->cap : 128;
		void *more = arena_array(in->arena, (size_t)cap, sizeof(*c->pairs));

		if (c->n)
			memcpy(more, c->pairs, (size_t)c->n * sizeof(*c->pairs));
		c->pairs = more;
		c->cap = cap;
	}
	c->pairs[c->n].name = name;
	c->pairs[c->n++].value = value;
}

/* "name" ends in /word or is it. */
static bool ends_in(const char *name, const char *word, size_t len)
{
	size_t all = strlen(name);

	return all >= len && strncmp(name + all - len, word, len) == 0 &&
	       (all == len || name[all - len - 1] == '/');
}

/* The value of the first pair that one of "a|b|c" names. */
static const char *card_value(const struct card *c, const char *names)
{
	for (const char *p = names; *p; p += strspn(p, "|")) {
		size_t len = strcspn(p, "|");

		for (int i = 0; i < c->n; i++)
			if (ends_in(c->pairs[i].name, p, len))
				return c->pairs[i].value;
		p += len;
	}
	return NULL;
}

/* "81920 MiB", "16x", "4": the number in front. */
static double number_in(const char *text)
{
	char *end;
	double value = text ? strtod(text, &end) : NAN;

	return text && end != text ? value : NAN;
}

static bool is_absent(const char *text)
{
	return !*text || strcmp(text, "N/A") == 0 || strcmp(text, "[N/A]") == 0 ||
	       strcmp(text, "[Not Supported]") == 0 || strcmp(text, "Unknown Error") == 0 ||
	       strcmp(text, "[Unknown Error]") == 0;
}

static bool is_yes(const char *text)
{
	return strcmp(text, "Yes") == 0 || strcmp(text, "Enabled") == 0 || strcmp(text, "1") == 0;
}

static enum status add_meaning(struct import *in, const struct card *c, size_t i, const char *value,
                               struct error *err)
{
	struct reading *r;

	if (is_absent(value) || (meanings[i].form == FORM_NUMBER && isnan(number_in(value))))
		return ST_OK;
	r = import_add(in, meanings[i].metric, err);
	if (!r)
		return ST_INTERNAL;
	if (r->subject.kind == SUBJECT_NODE)
		r->node = r->subject.id = c->node;
	else
		import_card(in, r, c->node, c->uuid, c->pci, c->index);
	switch (meanings[i].form) {
	case FORM_NUMBER:
		import_value(r, number_in(value));
		break;
	case FORM_YES:
		import_value(r, is_yes(value));
		break;
	case FORM_ECC:
		import_words(in, r, is_yes(value) ? "on" : "off");
		break;
	case FORM_TEXT:
		import_words(in, r, value);
		break;
	}
	return ST_OK;
}

static enum status card_end(struct import *in, struct card *c, bool first, struct error *err)
{
	double limit = number_in(card_value(c, power_limit)),
	       normal = number_in(card_value(c, power_default));
	enum status st = import_node(in, NULL, &c->node, err);

	c->uuid = card_value(c, "uuid|gpu_uuid");
	c->pci = card_value(c, "pci.bus_id|gpu_bus_id|pci/bus_id|pci/pci_bus_id");
	for (size_t i = 0; st == ST_OK && i < sizeof(meanings) / sizeof(*meanings); i++) {
		const char *value = card_value(c, meanings[i].names);

		/* The driver is the node's: said once. */
		if (value && (first || strcmp(meanings[i].names, "driver_version") != 0))
			st = add_meaning(in, c, i, value, err);
	}
	if (st == ST_OK && limit > 0 && normal > 0) {
		struct reading *r = import_add(in, "card_power_limit_share", err);

		if (!r)
			return ST_INTERNAL;
		import_card(in, r, c->node, c->uuid, c->pci, c->index);
		import_value(r, limit / normal);
	}
	return st;
}

/* "FB Memory Usage" -> "fb_memory_usage" */
static char *make_name(struct import *in, const char *text, size_t len)
{
	char *name = arena_strn(in->arena, text, len);

	for (char *p = name; *p; p++)
		*p = *p == ' ' ? '_' : (char)tolower((unsigned char)*p);
	return name;
}

/* --- text: a tree by indentation ---------------------------------------------------- */

#define MAX_LEVELS 16

struct tree {
	const char *name[MAX_LEVELS];
	size_t indent[MAX_LEVELS];
	int depth;
};

static const char *tree_path(struct import *in, const struct tree *t, const char *name)
{
	struct str path = {0};
	const char *kept;

	for (int i = 0; i < t->depth; i++)
		str_addf(&path, "%s/", t->name[i]);
	str_add(&path, name);
	kept = arena_str(in->arena, str_text(&path));
	str_release(&path);
	return kept;
}

static void tree_line(struct import *in, struct tree *t, struct card *c, const char *line)
{
	size_t indent = strspn(line, " "), len;
	const char *text = line + indent, *colon = strstr(text, " : ");

	while (t->depth && t->indent[t->depth - 1] >= indent)
		t->depth--;
	len = colon ? (size_t)(colon - text) : strlen(text);
	while (len && text[len - 1] == ' ')
		len--;
	if (!len)
		return;
	if (colon) {
		card_add(in, c, tree_path(in, t, make_name(in, text, len)), colon + 3);
	} else if (t->depth < MAX_LEVELS) {
		t->name[t->depth] = make_name(in, text, len);
		t->indent[t->depth++] = indent;
	}
}

enum status import_smi_text(struct import *in, const char *text, size_t len, struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	struct card card = {.index = -1}, head = {0};
	struct tree tree = {0};
	enum status st = ST_OK;
	double stated;
	char *line;

	while (st == ST_OK && (line = import_line(in, &lines))) {
		if (!str_starts(line, "GPU ") || !import_pci(in, line + 4)) {
			tree_line(in, &tree, card.index < 0 ? &head : &card, line);
			continue;
		}
		if (card.index >= 0)
			st = card_end(in, &card, !card.index, err);
		card = (struct card){.index = card.index + 1};
		tree.depth = 0;
		card_add(in, &card, "gpu_bus_id", line + 4);
		for (int i = 0; i < head.n; i++)
			card_add(in, &card, head.pairs[i].name, head.pairs[i].value);
	}
	if (st == ST_OK && card.index >= 0)
		st = card_end(in, &card, !card.index, err);
	stated = number_in(card_value(&head, "attached_gpus"));
	if (st == ST_OK && isfinite(stated) && stated != card.index + 1)
		return error_set(err, ST_PARSE, MSG_import_cards, in->name, tmpf("%g", stated),
		                 tmpf("%d", card.index + 1));
	return st;
}

/* --- XML ------------------------------------------------------------------------ */

static char *plain(struct import *in, const char *text, size_t len)
{
	static const struct {
		const char *entity, is;
	} entities[] = {
		{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
	char *out = arena_strn(in->arena, text, len), *to = out;

	for (const char *p = out; *p; p++) {
		*to = *p;
		for (size_t i = 0; *p == '&' && i < sizeof(entities) / sizeof(*entities); i++)
			if (str_starts(p, entities[i].entity)) {
				*to = entities[i].is;
				p += strlen(entities[i].entity) - 1;
				break;
			}
		to++;
	}
	*to = 0;
	return out;
}

struct xml {
	struct card card, head;
	struct tree tree;
	const char *text; /* where the text behind the last tag begins */
};

/* <name …> or </name>, from behind the bracket to before the closing one. */
static enum status xml_tag(struct import *in, struct xml *x, const char *tag, size_t len,
                           struct error *err)
{
	struct card *to = x->card.index < 0 ? &x->head : &x->card;
	size_t name = strcspn(tag, " \t\r\n/>");
	enum status st = ST_OK;

	if (tag[0] != '/') {
		if (tag[len - 1] == '/')
			return ST_OK;
		if (x->tree.depth < MAX_LEVELS)
			x->tree.name[x->tree.depth] = make_name(in, tag, name);
		x->tree.depth++;
		if (x->tree.depth == 2 && name == 3 && strncmp(tag, "gpu", 3) == 0) {
			x->card = (struct card){.index = x->card.index + 1};
			for (int i = 0; i < x->head.n; i++)
				card_add(in, &x->card, x->head.pairs[i].name,
				         x->head.pairs[i].value);
		}
		x->text = tag + len + 1;
		return ST_OK;
	}
	if (--x->tree.depth < 0 || x->tree.depth >= MAX_LEVELS)
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool,
		                 "</nvidia_smi_log>");
	if (x->text)
		card_add(in, to, tree_path(in, &x->tree, x->tree.name[x->tree.depth]),
		         plain(in, x->text, (size_t)(tag - 1 - x->text)));
	x->text = NULL;
	if (x->tree.depth == 1 && strcmp(x->tree.name[1], "gpu") == 0)
		st = card_end(in, &x->card, !x->card.index, err);
	return st;
}

enum status import_smi_xml(struct import *in, const char *text, size_t len, struct error *err)
{
	struct xml x = {.card = {.index = -1}};
	const char *p = text, *end = text + len;
	enum status st = ST_OK;

	while (st == ST_OK && (p = memchr(p, '<', (size_t)(end - p)))) {
		const char *close = memchr(p, '>', (size_t)(end - p));

		if (!close)
			break;
		if (p[1] != '?' && p[1] != '!' && close > p + 1)
			st = xml_tag(in, &x, p + 1, (size_t)(close - p - 1), err);
		p = close + 1;
	}
	if (st == ST_OK && (x.tree.depth || x.card.index < 0))
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool,
		                 "</nvidia_smi_log>");
	return st;
}

/* --- CSV ------------------------------------------------------------------------ */

enum status import_smi_csv(struct import *in, const char *text, size_t len, struct error *err)
{
	struct csv csv;
	enum status st = csv_parse(&csv, in->name, text, len, err);

	if (st != ST_OK)
		return st;
	for (int row = 0; row < csv.n_rows && st == ST_OK; row++) {
		struct card card = {.index = row};

		for (int i = 0; i < csv.n_columns; i++) {
			const char *name = csv.columns[i] + strspn(csv.columns[i], " ");
			const char *value = csv.rows[row][i] + strspn(csv.rows[row][i], " ");
			double index;

			card_add(in, &card, make_name(in, name, strcspn(name, " [")),
			         arena_str(in->arena, value));
			if (str_starts(name, "index") && import_number(value, &index))
				card.index = (int)index;
		}
		st = card_end(in, &card, row == 0, err);
	}
	csv_release(&csv);
	return st;
}
