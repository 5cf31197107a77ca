/* From fio's streams to one result: finding the document, then handing it to
 * fio_job.c, then deciding whether the run may be believed. */
#include "fio.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/msg.h"
#include "fio_job.h"

#define NOTES_LIMIT 2048
#define LINE_LIMIT  200

static void say_why(struct fio_result *r, struct arena *arena, enum outcome outcome,
                    enum msg reason, const char *a, const char *b)
{
	r->outcome = outcome;
	r->reason = reason;
	r->args[0] = arena_str(arena, a);
	r->args[1] = arena_str(arena, b);
}

/* --- finding the document -------------------------------------------------- */

struct place {
	bool string, escaped;
};

/* Steps over one byte of JSON; true while inside a string. */
static bool inside_string(struct place *at, char c)
{
	if (at->escaped)
		at->escaped = false;
	else if (at->string && c == '\\')
		at->escaped = true;
	else if (c == '"')
		at->string = !at->string;
	return at->string;
}

/* End of the balanced object that begins at p, or NULL when it is cut. */
static const char *object_end(const char *p, const char *end)
{
	struct place at = {0};
	int depth = 0;

	for (; p < end; p++) {
		if (inside_string(&at, *p))
			continue;
		if (*p == '{')
			depth++;
		else if (*p == '}' && --depth == 0)
			return p + 1;
	}
	return NULL;
}

/* A document begins on a line that is exactly "{". */
static const char *document_start(const char *p, const char *end)
{
	for (const char *line = p; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line);

		if (len && line[len - 1] == '\r')
			len--;
		if (len == 1 && *line == '{')
			return line;
		if (!newline)
			break;
		line = newline + 1;
	}
	return NULL;
}

enum found { FOUND_NONE, FOUND_CUT, FOUND_WHOLE };

/* The last document; notes get the text around the documents. With the last one
 * cut fio never finished, and an earlier one is only an interim report. */
static enum found find_document(const char *text, size_t len, const char **from, const char **to,
                                struct str *notes)
{
	const char *end = text + len, *p = text, *start, *stop;
	enum found found = FOUND_NONE;

	while ((start = document_start(p, end))) {
		str_addn(notes, p, (size_t)(start - p));
		stop = object_end(start, end);
		if (!stop)
			return FOUND_CUT;
		*from = start;
		*to = p = stop;
		found = FOUND_WHOLE;
	}
	str_addn(notes, p, (size_t)(end - p));
	return found;
}

/* fio before its guards printed nan and inf bare: null outside strings. */
static void null_bare_words(struct str *text)
{
	struct str out = {0};
	struct place at = {0};

	for (size_t i = 0; i < text->len; i++) {
		const char *p = text->data + i;
		size_t sign = *p == '-';

		if (!inside_string(&at, *p) && (strncasecmp(p + sign, "nan", 3) == 0 ||
		                                strncasecmp(p + sign, "inf", 3) == 0)) {
			str_add(&out, "null");
			i += sign + 2;
			continue;
		}
		str_addc(&out, *p);
	}
	str_release(text);
	*text = out;
}

/* Only backslash and quote are escaped by fio: control characters come raw. */
static void calm_controls(struct str *text)
{
	struct place at = {0};

	for (size_t i = 0; i < text->len; i++) {
		char c = text->data[i];
		bool string = inside_string(&at, c);

		if (c == 0 || (string && (unsigned char)c < 0x20))
			text->data[i] = ' ';
	}
}

static bool parse(struct json_doc *doc, const char *from, const char *to)
{
	struct str text = {0};
	bool ok;

	str_addn(&text, from, (size_t)(to - from));
	calm_controls(&text);
	/* fio 2.x repeats keys ("0.00" percentiles): lenient is right here. */
	ok = json_parse(doc, "fio", text.data, text.len, JSON_DUPLICATES, NULL) == ST_OK;
	if (!ok) {
		null_bare_words(&text);
		ok = json_parse(doc, "fio", text.data, text.len, JSON_DUPLICATES, NULL) == ST_OK;
	}
	str_release(&text);
	return ok;
}

/* --- what the streams say besides ------------------------------------------------ */

struct streams {
	const char *notes, *err;
};

static bool mentions(const struct streams *s, const char *what)
{
	return strcasestr(s->notes, what) || strcasestr(s->err, what);
}

/* At most `limit` bytes, and no character of them in halves. */
static const char *clipped(struct arena *arena, const char *text, size_t len, size_t limit)
{
	if (len > limit)
		for (len = limit; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	return arena_strn(arena, text, len);
}

static const char *line_with(const char *text, const char *prefix)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		text += strspn(text, " \t\r\n");
		if (*text && str_starts(text, prefix))
			return text;
	}
	return NULL;
}

/* fio's own words first, those of stderr before those of stdout: there they name
 * the file or the engine and not the line of its source. */
static const char *telling_line(struct arena *arena, const struct streams *s)
{
	const char *const prefixes[] = {"fio: ", ""};

	for (int i = 0; i < 2; i++) {
		const char *line = line_with(s->err, prefixes[i]);

		if (!line)
			line = line_with(s->notes, prefixes[i]);
		if (line)
			return clipped(arena, line, strcspn(line, "\n"), LINE_LIMIT);
	}
	return NULL;
}

/* --- fio says that something went wrong: which kind of wrong? --------------------- */

/* 128 is fio's code for a caught signal; 128 failed jobs have an error. */
static bool ended_early(struct fio_result *r, struct arena *arena, const struct fio_asked *asked,
                        const struct streams *s)
{
	if (asked->signal)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_killed, tmpf("%d", asked->signal),
		        NULL);
	else if ((asked->exit_code == 128 && r->error == 0) ||
	         mentions(s, "fio: terminating on signal"))
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_interrupted, NULL, NULL);
	else
		return false;
	return true;
}

/* Refusals of the kernel or a sandbox, before any I/O. -1 is libaio whose
 * completions are denied. */
static bool is_refusal(int error)
{
	static const int refusals[] = {-1,     EPERM,  ENOSYS, EAGAIN,
	                               ENOMEM, EMFILE, ENFILE, EOPNOTSUPP};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (error == refusals[i])
			return true;
	return false;
}

/* With fill_device fio forgives a full device: only its lines tell. */
static bool no_space(const struct fio_result *r, const struct streams *s)
{
	return r->error == ENOSPC || r->error == EDQUOT ||
	       (r->error == 0 && (mentions(s, "No space left") || mentions(s, "ENOSPC") ||
	                          mentions(s, "Disk quota exceeded")));
}

static bool went_wrong(const struct fio_result *r, const struct fio_asked *asked,
                       const struct streams *s, const struct fio_checks *checks)
{
	return r->error || asked->exit_code != 0 || checks->errors ||
	       mentions(s, "fio: io_u error") || no_space(r, s);
}

static void judge_error(struct fio_result *r, struct arena *arena, const struct fio_asked *asked,
                        const struct streams *s, const struct fio_checks *checks)
{
	const char *told = telling_line(arena, s);
	const char *line = told ? told : strerror(r->error), *error = tmpf("%d", r->error);
	/* A failed I/O is counted, but moves nothing. */
	bool nothing = r->io_bytes == 0;

	if (no_space(r, s))
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_no_space, line, NULL);
	else if (r->error == EACCES)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_permission, line, NULL);
	else if (nothing && r->error == EINVAL)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_direct_refused, line, NULL);
	else if (nothing && is_refusal(r->error))
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_engine_refused, error, line);
	else if (r->error || checks->errors || mentions(s, "fio: io_u error"))
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_io_error, error, line);
	else
		say_why(r, arena, OUTCOME_NOT_MEASURED, told ? MSG_fio_exit : MSG_fio_silent,
		        tmpf("%d", asked->exit_code), told);
}

/* --- believing it ------------------------------------------------------------------- */

static void judge_figures(struct fio_result *r, struct arena *arena, const struct fio_asked *asked,
                          const struct fio_checks *checks)
{
	/* fio counts in milliseconds: a run of less has no rate. */
	double needed = fmax(0.95 * asked->runtime_s, 1e-3);

	if (checks->bad)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_bad_number, NULL, NULL);
	else if (checks->groups)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_groups, NULL, NULL);
	else if (checks->idle || r->jobs == 0)
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_nothing_done, NULL, NULL);
	else if (checks->shortest_s < needed)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_short_run,
		        tmpf("%.3f", checks->shortest_s),
		        tmpf("%.3f", fmax(asked->runtime_s, 1e-3)));
	else if (checks->no_latency)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_no_latency, NULL, NULL);
	else if (checks->printed)
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_disagrees, checks->printed,
		        checks->computed);
	else
		r->outcome = OUTCOME_MEASURED;
}

static void judge_document(struct fio_result *r, struct arena *arena, const cJSON *root,
                           const struct fio_asked *asked, const struct streams *s)
{
	struct fio_checks checks;

	fio_job_read(r, arena, root, asked->write, &checks);
	if (ended_early(r, arena, asked, s))
		return;
	if (checks.entries == 0)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_not_json,
		        tmpf("%d", asked->exit_code), NULL);
	else if (went_wrong(r, asked, s, &checks))
		judge_error(r, arena, asked, s, &checks);
	else
		judge_figures(r, arena, asked, &checks);
}

static void judge_nothing(struct fio_result *r, struct arena *arena, enum found found,
                          const struct fio_asked *asked, const struct streams *s)
{
	const char *line = found == FOUND_NONE ? telling_line(arena, s) : NULL;

	if (ended_early(r, arena, asked, s))
		return;
	say_why(r, arena, OUTCOME_NOT_MEASURED,
	        found != FOUND_NONE ? MSG_fio_not_json
	        : line              ? MSG_fio_no_json
	                            : MSG_fio_silent,
	        tmpf("%d", asked->exit_code), line);
}

void fio_read(struct fio_result *r, struct arena *arena, const char *text, size_t len,
              const struct fio_asked *asked)
{
	const char *from = NULL, *to = NULL;
	struct str notes = {0};
	struct json_doc doc;
	struct streams s;
	enum found found;

	*r = (struct fio_result){.outcome = OUTCOME_NOT_MEASURED};
	fio_job_clear(r);
	found = find_document(text, len, &from, &to, &notes);
	s = (struct streams){str_text(&notes), asked->err ? asked->err : ""};
	r->notes = clipped(arena, s.notes, strlen(s.notes), NOTES_LIMIT);
	if (found == FOUND_WHOLE && parse(&doc, from, to)) {
		judge_document(r, arena, doc.root, asked, &s);
		json_release(&doc);
	} else {
		judge_nothing(r, arena, found, asked, &s);
	}
	str_release(&notes);
}

bool fio_version_parse(const char *text, int *major, int *minor)
{
	return str_starts(text, "fio-") && isdigit((unsigned char)text[4]) &&
	       sscanf(text, "fio-%4d.%4d", major, minor) == 2 && *major >= 0 && *minor >= 0;
}

/* --- histograms ------------------------------------------------------------------------ */

size_t fio_bins_merge(struct arena *arena, const struct fio_bin *a, size_t n_a,
                      const struct fio_bin *b, size_t n_b, struct fio_bin **out)
{
	size_t i = 0, k = 0, n = 0;

	*out = arena_array(arena, n_a + n_b + 1, sizeof(**out));
	while (i < n_a || k < n_b) {
		if (k == n_b || (i < n_a && a[i].ns < b[k].ns)) {
			(*out)[n++] = a[i++];
		} else if (i == n_a || b[k].ns < a[i].ns) {
			(*out)[n++] = b[k++];
		} else {
			(*out)[n] = a[i++];
			(*out)[n++].count += b[k++].count;
		}
	}
	return n;
}

double fio_bins_percentile(const struct fio_bin *bins, size_t n, double p)
{
	double total = 0, seen = 0;

	for (size_t i = 0; i < n; i++)
		total += bins[i].count;
	for (size_t i = 0; i < n; i++) {
		seen += bins[i].count;
		if (total > 0 && seen >= p * total)
			return bins[i].ns;
	}
	return NAN;
}
