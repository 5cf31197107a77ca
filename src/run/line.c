/* Lines of the journal, read by tables: one row per member says where it goes
 * and how it is read. Members without a row are checked and left alone.
 *
 * To add a member: one row in the table of its object. */
#include "run/line.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "assay/status.h"
#include "base/msg.h"
#include "run/journal.h"
#include "run/scan.h"

struct member {
	const char *name;
	size_t len; /* of the name */
	size_t at;  /* offset of the field in the struct the table is for */
	bool (*take)(struct line_parser *p, struct scan *s, void *field);
	bool required;
};

struct table {
	const char *path;             /* "subject." in messages */
	const struct member *members; /* at most 64 */
	int count;
};

#define MEMBER(name, at, take, required)                                                           \
	{                                                                                          \
		name, sizeof(name) - 1, at, take, required                                         \
	}
#define TABLE(path, list)                                                                          \
	{                                                                                          \
		path, list, (int)(sizeof(list) / sizeof(*(list)))                                  \
	}

/* Says why, unless something deeper did already; always false. */
static bool bad(struct line_parser *p, const char *why)
{
	if (!p->why)
		p->why = why;
	return false;
}

/* --- an object by its table ---------------------------------------------- */

struct walk {
	struct line_parser *p;
	const struct table *table;
	char *base;
	uint64_t seen;
	int next; /* row expected next: writers keep the order of the table */
};

static int row_of(const struct walk *w, const struct scan_text *key)
{
	for (int i = 0; i < w->table->count; i++) {
		int row = (w->next + i) % w->table->count;
		const struct member *m = &w->table->members[row];

		if (m->len == key->len && memcmp(m->name, key->at, key->len) == 0)
			return row;
	}
	return -1;
}

static bool take_member(void *arg, struct scan *s, const struct scan_text *key)
{
	struct walk *w = arg;
	int row = row_of(w, key);
	const struct member *m = &w->table->members[row < 0 ? 0 : row];

	if (row < 0)
		return scan_skip(s);
	if (w->seen & 1ULL << row)
		return bad(w->p, say(MSG_line_twice, tmpf("%s%s", w->table->path, m->name)));
	w->seen |= 1ULL << row;
	w->next = row + 1;
	if (m->take(w->p, s, w->base + m->at))
		return true;
	if (s->fault == SCAN_NUMBER)
		return bad(w->p, say(MSG_line_number, tmpf("%s%s", w->table->path, m->name)));
	return bad(w->p, say(MSG_line_member, tmpf("%s%s", w->table->path, m->name)));
}

static bool take_table(struct line_parser *p, struct scan *s, const struct table *table, void *base)
{
	struct walk w = {.p = p, .table = table, .base = base};

	if (!scan_object(s, take_member, &w))
		return false;
	for (int i = 0; i < table->count; i++)
		if (table->members[i].required && !(w.seen & 1ULL << i))
			return bad(p, say(MSG_line_missing,
			                  tmpf("%s%s", table->path, table->members[i].name)));
	return true;
}

/* --- plain values ----------------------------------------------------------- */

static const char *keep(struct line_parser *p, const struct scan_text *text, bool intern)
{
	struct str plain = {0};
	const char *at = text->at, *kept;
	size_t len = text->len;

	if (text->escaped) {
		scan_unescape(&plain, text);
		at = str_text(&plain);
		len = plain.len;
	}
	kept = intern && p->intern ? intern_add(p->intern, at, len) : arena_strn(p->arena, at, len);
	str_release(&plain);
	return kept;
}

/* A string, or null for none. */
static bool take_text(struct line_parser *p, struct scan *s, void *field)
{
	struct scan_text text;

	if (scan_word(s, "null"))
		return true;
	if (!scan_string(s, &text))
		return false;
	*(const char **)field = keep(p, &text, true);
	return true;
}

static bool take_some_text(struct line_parser *p, struct scan *s, void *field)
{
	return take_text(p, s, field) && *(const char **)field;
}

/* Times and digests: hardly two alike. */
static bool take_unique(struct line_parser *p, struct scan *s, void *field)
{
	struct scan_text text;

	if (!scan_string(s, &text))
		return false;
	*(const char **)field = keep(p, &text, false);
	return true;
}

static bool take_int64(struct line_parser *p, struct scan *s, void *field)
{
	(void)p;
	return scan_int64(s, field) && *(int64_t *)field >= 0;
}

static bool take_count(struct line_parser *p, struct scan *s, void *field)
{
	int64_t value;

	if (!take_int64(p, s, &value) || value > INT_MAX)
		return false;
	*(int *)field = (int)value;
	return true;
}

static bool take_attempt(struct line_parser *p, struct scan *s, void *field)
{
	return take_count(p, s, field) && *(int *)field >= 1;
}

static bool take_version(struct line_parser *p, struct scan *s, void *field)
{
	int64_t version;

	(void)field;
	if (!scan_int64(s, &version) || version < 1)
		return false;
	p->newer = version > READING_VERSION;
	return !p->newer || bad(p, say(MSG_line_newer, tmpf("%lld", (long long)version),
	                               tmpf("%d", READING_VERSION)));
}

/* The words of the contracts. */
#define TAKE_WORD(type, tag)                                                                       \
	static bool take_##type(struct line_parser *p, struct scan *s, void *field)                \
	{                                                                                          \
		struct scan_text text;                                                             \
                                                                                                   \
		return scan_string(s, &text) &&                                                    \
		       type##_parse(keep(p, &text, true), (enum tag *)field);                      \
	}

TAKE_WORD(subject_kind, subject_kind)
TAKE_WORD(outcome, outcome)
TAKE_WORD(origin, origin)
TAKE_WORD(better, better)

/* --- objects inside a reading ------------------------------------------------ */

static const struct member end_members[] = {
	MEMBER("node", offsetof(struct subject_end, node), take_text, false),
	MEMBER("card", offsetof(struct subject_end, card), take_text, false),
	MEMBER("nic", offsetof(struct subject_end, nic), take_text, false),
	MEMBER("port", offsetof(struct subject_end, port), take_count, false),
};
static const struct table end_table = TABLE("subject.ends.", end_members);

struct ends {
	struct line_parser *p;
	struct subject *subject;
};

static bool take_end(void *arg, struct scan *s)
{
	struct ends *e = arg;

	return e->subject->n_ends < 2 &&
	       take_table(e->p, s, &end_table, &e->subject->ends[e->subject->n_ends++]);
}

static bool take_ends(struct line_parser *p, struct scan *s, void *field)
{
	struct ends e = {p, field};

	return scan_array(s, take_end, &e) && e.subject->n_ends != 1;
}

static const struct member subject_members[] = {
	MEMBER("kind", offsetof(struct subject, kind), take_subject_kind, true),
	MEMBER("id", offsetof(struct subject, id), take_text, false),
	MEMBER("pci", offsetof(struct subject, pci), take_text, false),
	MEMBER("index", offsetof(struct subject, index), take_count, false),
	MEMBER("ends", 0, take_ends, false),
};
static const struct table subject_table = TABLE("subject.", subject_members);

static bool take_subject(struct line_parser *p, struct scan *s, void *field)
{
	return take_table(p, s, &subject_table, field);
}

struct args {
	struct line_parser *p;
	const char **kept; /* NULL while counting */
	int count;
};

static bool take_arg(void *arg, struct scan *s)
{
	struct args *a = arg;
	struct scan_text text;

	if (!scan_string(s, &text))
		return false;
	if (a->kept)
		a->kept[a->count] = keep(a->p, &text, true);
	a->count++;
	return true;
}

static bool take_args(struct line_parser *p, struct scan *s, void *field)
{
	struct reason *reason = field;
	struct args a = {.p = p};
	struct scan again = *s;

	if (!scan_array(s, take_arg, &a))
		return false;
	a.kept = arena_array(p->arena, (size_t)a.count + 1, sizeof(char *));
	a.count = 0;
	scan_array(&again, take_arg, &a);
	reason->args = a.kept;
	reason->n_args = a.count;
	return true;
}

static const struct member reason_members[] = {
	MEMBER("code", offsetof(struct reason, code), take_some_text, true),
	MEMBER("args", 0, take_args, false),
	MEMBER("text", offsetof(struct reason, text), take_text, false),
};
static const struct table reason_table = TABLE("reason.", reason_members);

static bool take_reason(struct line_parser *p, struct scan *s, void *field)
{
	return scan_word(s, "null") || take_table(p, s, &reason_table, field);
}

/* null is what a writer makes of a figure it does not have. */
static bool take_stat(struct line_parser *p, struct scan *s, void *field)
{
	(void)p;
	return scan_word(s, "null") || scan_number(s, field);
}

struct interval {
	double *bounds;
	int count;
};

static bool take_bound(void *arg, struct scan *s)
{
	struct interval *i = arg;

	return i->count < 2 && scan_number(s, &i->bounds[i->count++]);
}

static bool take_ci(struct line_parser *p, struct scan *s, void *field)
{
	struct interval i = {.bounds = (double *)field + STAT_CI_LO};

	_Static_assert(STAT_CI_HI == STAT_CI_LO + 1, "the interval's bounds are neighbours");
	(void)p;
	return scan_word(s, "null") ||
	       (scan_array(s, take_bound, &i) && i.count == 2 && i.bounds[0] <= i.bounds[1]);
}

static const struct member stats_members[] = {
#define X(id, name) MEMBER(name, STAT_##id * sizeof(double), take_stat, false),
	STAT_LIST(X)
#undef X
		MEMBER("ci", 0, take_ci, false),
};
static const struct table stats_table = TABLE("stats.", stats_members);

static bool take_stats(struct line_parser *p, struct scan *s, void *field)
{
	return scan_word(s, "null") || take_table(p, s, &stats_table, field);
}

static const struct member params_members[] = {
	MEMBER("point", offsetof(struct reading, point), take_text, false),
};
static const struct table params_table = TABLE("params.", params_members);

static bool take_params(struct line_parser *p, struct scan *s, void *field)
{
	struct reading *r = field;
	struct scan_text text = {0};

	if (scan_word(s, "null"))
		return true;
	text.at = s->p;
	if (!take_table(p, s, &params_table, r))
		return false;
	text.len = (size_t)(s->p - text.at);
	r->params = keep(p, &text, true);
	return true;
}

static const struct member raw_members[] = {
	MEMBER("file", offsetof(struct raw_file, file), take_unique, true),
	MEMBER("sha256", offsetof(struct raw_file, sha256), take_unique, true),
	MEMBER("bytes", offsetof(struct raw_file, bytes), take_int64, true),
};
static const struct table raw_table = TABLE("raw.", raw_members);

static bool take_raw(struct line_parser *p, struct scan *s, void *field)
{
	return scan_word(s, "null") || take_table(p, s, &raw_table, field);
}

static bool take_value(struct line_parser *p, struct scan *s, void *field)
{
	struct reading *r = field;

	if (scan_peek(s) == '"') {
		r->value_kind = VALUE_TEXT;
		return take_text(p, s, &r->text);
	}
	if (scan_word(s, "null"))
		return true;
	r->value_kind = VALUE_NUMBER;
	return scan_number(s, &r->value);
}

/* --- lines --------------------------------------------------------------------- */

#define FIELD(name) offsetof(struct reading, name)

static const struct member reading_members[] = {
	MEMBER("v", 0, take_version, true),
	MEMBER("time", FIELD(time), take_unique, true),
	MEMBER("node", FIELD(node), take_text, false),
	MEMBER("writer", FIELD(writer), take_count, false),
	MEMBER("phase", FIELD(phase), take_text, false),
	MEMBER("attempt", FIELD(attempt), take_attempt, true),
	MEMBER("work", FIELD(work), take_text, false),
	MEMBER("probe", FIELD(probe), take_text, false),
	MEMBER("subject", FIELD(subject), take_subject, true),
	MEMBER("metric", FIELD(metric), take_some_text, true),
	MEMBER("unit", FIELD(unit), take_some_text, true),
	MEMBER("value", 0, take_value, true),
	MEMBER("better", FIELD(better), take_better, true),
	MEMBER("outcome", FIELD(outcome), take_outcome, true),
	MEMBER("reason", FIELD(reason), take_reason, false),
	MEMBER("origin", FIELD(origin), take_origin, true),
	MEMBER("stats", FIELD(stats), take_stats, false),
	MEMBER("params", 0, take_params, false),
	MEMBER("raw", FIELD(raw), take_raw, false),
	MEMBER("seq", FIELD(seq), take_int64, false),
};
static const struct table reading_table = TABLE("", reading_members);

static bool take_reading(struct line_parser *p, struct scan *s, struct reading *r)
{
	*r = reading_init();
	if (!take_table(p, s, &reading_table, r))
		return false;
	if (r->outcome == OUTCOME_MEASURED)
		return r->value_kind != VALUE_NONE || bad(p, say(MSG_line_no_value));
	return r->reason.code || bad(p, say(MSG_line_no_reason, outcome_name(r->outcome)));
}

static bool take_kind(struct line_parser *p, struct scan *s, void *field)
{
	static const char *const kinds[] = {
		[LINE_START] = "start",
		[LINE_RESUME] = "resume",
		[LINE_WORK] = "work",
		[LINE_END] = "end",
	};
	const char *name = NULL;

	if (!take_some_text(p, s, &name))
		return false;
	*(enum line_kind *)field = LINE_OTHER;
	for (int i = LINE_START; i <= LINE_END; i++)
		if (strcmp(name, kinds[i]) == 0)
			*(enum line_kind *)field = (enum line_kind)i;
	return true;
}

static const struct member kind_members[] = {
	MEMBER("kind", offsetof(struct line, kind), take_kind, true),
};
static const struct table kind_table = TABLE("", kind_members);

static const struct member start_members[] = {
	MEMBER("v", 0, take_version, true),
	MEMBER("time", offsetof(struct line, reading.time), take_unique, true),
	MEMBER("run_sha256", offsetof(struct line, run_sha256), take_unique, true),
};
static const struct member resume_members[] = {
	MEMBER("time", offsetof(struct line, reading.time), take_unique, true),
};
static const struct member work_members[] = {
	MEMBER("time", offsetof(struct line, reading.time), take_unique, true),
	MEMBER("work", offsetof(struct line, work), take_some_text, true),
	MEMBER("state", offsetof(struct line, state), take_some_text, true),
};
static const struct member end_line_members[] = {
	MEMBER("time", offsetof(struct line, reading.time), take_unique, true),
	MEMBER("readings", offsetof(struct line, readings), take_int64, true),
};
static const struct table own_tables[] = {
	[LINE_START] = TABLE("", start_members),
	[LINE_RESUME] = TABLE("", resume_members),
	[LINE_WORK] = TABLE("", work_members),
	[LINE_END] = TABLE("", end_line_members),
};

/* Two passes, for the kind decides what the other members have to be. */
static bool take_own(struct line_parser *p, struct scan *s, struct line *line)
{
	struct scan again = *s;

	if (!take_table(p, s, &kind_table, line))
		return false;
	return line->kind == LINE_OTHER || take_table(p, &again, &own_tables[line->kind], line);
}

enum status line_parse(struct line_parser *p, struct line *line, const char *text, size_t len)
{
	static const char own[] = "{\"kind\":";
	struct scan s = scan_begin(text, len);
	bool fine;

	*line = (struct line){0};
	p->why = NULL;
	p->newer = false;
	if (len >= sizeof(own) - 1 && memcmp(text, own, sizeof(own) - 1) == 0)
		fine = take_own(p, &s, line);
	else
		fine = take_reading(p, &s, &line->reading);
	fine = fine && scan_finished(&s);
	if (!fine && !p->why)
		p->why = s.fault == SCAN_NUMBER
		                 ? say(MSG_line_number_at, tmpf("%td", s.p - s.start + 1))
		                 : say(MSG_line_syntax, tmpf("%td", s.p - s.start + 1));
	return fine ? ST_OK : ST_PARSE;
}

enum status reading_parse(struct reading *r, struct arena *arena, const char *line, size_t len,
                          const char **why)
{
	struct line_parser p = {.arena = arena};
	struct line parsed;
	enum status st = line_parse(&p, &parsed, line, len);

	/* Blanks of JSON, and two lines of a journal. */
	if (st == ST_OK && (parsed.kind != LINE_READING || memchr(line, '\n', len))) {
		p.why = say(MSG_line_not_reading);
		st = ST_PARSE;
	}
	*r = parsed.reading;
	if (why)
		*why = p.why;
	return st;
}
