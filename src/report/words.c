/* Findings in words. Subjects, limits and reasons come from hosts and files of
 * others: they are made printable here, once. */
#include "report/words.h"

#include <string.h>

#include "base/msg.h"
#include "base/unit.h"

static void printable(struct str *out, const char *text)
{
	if (text)
		str_add_printable(out, text, strlen(text));
}

static void end_of(struct str *out, const struct subject_end *e)
{
	printable(out, e->node ? e->node : "?");
	if (e->card || e->nic) {
		str_addc(out, ' ');
		printable(out, e->card ? e->card : e->nic);
	}
	if (e->port)
		str_addf(out, ":%d", e->port);
}

static void card_of(struct str *out, const struct subject *s, const char *node)
{
	if (node) {
		printable(out, node);
		str_addc(out, ' ');
	}
	if (s->id && strcmp(s->id, "*") == 0) {
		str_add(out, msg_format(MSG_words_all_cards));
		return;
	}
	if (s->index < 0) { /* a CPU socket */
		printable(out, s->id);
		return;
	}
	str_add(out, say(MSG_words_card, tmpf("%d", s->index)));
	if (s->id || s->pci) {
		str_add(out, " (");
		printable(out, s->id);
		str_add(out, s->id && s->pci ? ", " : "");
		printable(out, s->pci);
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
	case SUBJECT_CARD: card_of(out, s, node); break;
	case SUBJECT_CLUSTER: str_add(out, msg_format(MSG_words_cluster)); break;
	case SUBJECT_PATH:
		if (s->id && strcmp(s->id, "*") != 0)
			printable(out, s->id);
		else
			str_add(out, msg_format(MSG_words_storage));
		break;
	default:
		printable(out, s->id && strcmp(s->id, "*") != 0 ? s->id : node);
		break;
	}
}

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

void words_figure(struct str *out, const struct finding *f)
{
	const struct rule_info *r = f->rule;

	printable(out, r->metric);
	if (strcmp(r->stat, "value") != 0)
		str_addf(out, " %s", r->stat);
	if (f->text) {
		str_add(out, " ");
		printable(out, f->text);
	} else if (f->has_value) {
		str_addf(out, " %s", fmt_measure(f->value, r->unit));
	}
	if (r->limit) {
		struct str limit = {0};

		printable(&limit, r->limit);
		str_addf(out, " %s", say(MSG_words_limit, str_text(&limit)));
		str_release(&limit);
	}
}

const char *words_subjects(const char *kind)
{
	static const struct {
		const char *kind;
		enum msg plural;
	} known[] = {{"card", MSG_plural_card}, {"node", MSG_plural_node}, {"link", MSG_plural_link},
	             {"pair", MSG_plural_pair}, {"path", MSG_plural_path},
	             {"environment", MSG_plural_environment}};

	for (size_t i = 0; kind && i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].kind, kind) == 0)
			return msg_format(known[i].plural);
	return msg_format(MSG_plural_check);
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

/* --- layout ------------------------------------------------------------------ */

/* Wide East Asian characters take two columns. Decided from the code point,
 * not by wcwidth: that knows nothing in a C locale. */
static int char_columns(const char *p, int n)
{
	const unsigned char *s = (const unsigned char *)p;
	unsigned c;

	if (n < 3)
		return 1;
	c = n == 3 ? (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u)
	           : (s[0] & 7u) << 18 | (s[1] & 63u) << 12 | (s[2] & 63u) << 6 | (s[3] & 63u);
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
	                       (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
	                       (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || c >= 0x1f300
	               ? 2
	               : 1;
}

static int columns_of(const char *text, size_t len)
{
	const char *end = text + len;
	int columns = 0;

	while (text < end) {
		int n = utf8_len(text, end);

		columns += n ? char_columns(text, n) : 1;
		text += n ? n : 1;
	}
	return columns;
}

int words_columns(const char *text) { return columns_of(text, strlen(text)); }

/* A word longer than a line is broken rather than cut: an id must stay whole
 * for copying. */
static int add_long_word(struct str *out, const char *word, size_t len, int column, int indent, int width)
{
	const char *end = word + len;

	while (word < end) {
		int n = utf8_len(word, end);
		int columns = n ? char_columns(word, n) : 1;

		if (column + columns > width) {
			str_addc(out, '\n');
			str_pad(out, ' ', (size_t)indent);
			column = indent;
		}
		str_addn(out, word, (size_t)(n ? n : 1));
		word += n ? n : 1;
		column += columns;
	}
	return column;
}

void words_wrap(struct str *out, const char *text, int column, int indent, int width)
{
	bool fresh = true;

	while (*text) {
		size_t gap = strspn(text, " \n"), len = strcspn(text + gap, " \n");
		int columns = columns_of(text + gap, len);

		/* Wide gaps between parts stay; at a line's end any gap goes. */
		if (!fresh && column + (int)gap + columns > width && indent + columns <= width) {
			str_addc(out, '\n');
			str_pad(out, ' ', (size_t)indent);
			column = indent;
		} else if (!fresh) {
			str_pad(out, ' ', gap);
			column += (int)gap;
		}
		column = add_long_word(out, text + gap, len, column, indent, width);
		fresh = false;
		text += gap + len;
	}
	str_addc(out, '\n');
}
