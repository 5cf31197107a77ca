/* From fio's streams to one result: finding the document, then handing it to
 * fio_job.c, then deciding whether the run may be believed. */
#include "fio.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/msg.h"
#include "fio_job.h"

#define NOTES_LIMIT 2048

static void say_why(struct fio_result *r, struct arena *arena, enum outcome outcome, enum msg reason,
                    const char *a, const char *b)
{
	r->outcome = outcome;
	r->reason = reason;
	r->args[0] = arena_str(arena, a);
	r->args[1] = arena_str(arena, b);
}

/* --- finding the document -------------------------------------------------- */

/* End of the balanced object that begins at p, or NULL when it is cut. */
static const char *object_end(const char *p, const char *end)
{
	bool string = false;
	int depth = 0;

	for (; p < end; p++) {
		if (string) {
			if (*p == '\\')
				p++;
			else if (*p == '"')
				string = false;
		} else if (*p == '"') {
			string = true;
		} else if (*p == '{') {
			depth++;
		} else if (*p == '}' && --depth == 0) {
			return p + 1;
		}
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

/* The last complete document; notes get the text around the documents. */
static bool find_document(const char *text, size_t len, const char **from, const char **to, struct str *notes)
{
	const char *end = text + len, *p = text, *start, *stop;

	*from = NULL;
	while ((start = document_start(p, end))) {
		str_addn(notes, p, (size_t)(start - p));
		stop = object_end(start, end);
		if (!stop) {
			p = end; /* cut in the middle: an earlier one may be whole */
			break;
		}
		*from = start;
		*to = stop;
		p = stop;
	}
	str_addn(notes, p, (size_t)(end - p));
	return *from != NULL;
}

/* fio before its guards printed nan and inf bare: null outside strings. */
static void null_bare_words(struct str *text)
{
	struct str out = {0};
	bool string = false;

	for (size_t i = 0; i < text->len; i++) {
		const char *p = text->data + i;
		size_t sign = *p == '-';

		if (*p == '"' && (i == 0 || p[-1] != '\\'))
			string = !string;
		if (!string && (strncasecmp(p + sign, "nan", 3) == 0 || strncasecmp(p + sign, "inf", 3) == 0)) {
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
	bool string = false;

	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->data[i];

		if (c == '"' && (i == 0 || text->data[i - 1] != '\\'))
			string = !string;
		else if (string && c < 0x20)
			text->data[i] = ' ';
		else if (c == 0)
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

static bool mentions(const char *text, const char *what) { return text && strcasestr(text, what); }

static const char *first_fio_line(struct arena *arena, const char *a, const char *b)
{
	const char *texts[] = {a, b};

	for (int i = 0; i < 2; i++) {
		const char *p = texts[i] ? strstr(texts[i], "fio: ") : NULL;

		if (p)
			return arena_strn(arena, p, strcspn(p, "\n") < 200 ? strcspn(p, "\n") : 200);
	}
	for (int i = 1; i >= 0; i--) {
		const char *p = texts[i];

		while (p && *p && isspace((unsigned char)*p))
			p++;
		if (p && *p)
			return arena_strn(arena, p, strcspn(p, "\n") < 200 ? strcspn(p, "\n") : 200);
	}
	return "";
}

static bool ended_badly(struct fio_result *r, struct arena *arena, const struct fio_asked *asked)
{
	if (asked->signal) {
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_killed, tmpf("%d", asked->signal), NULL);
		return true;
	}
	if (asked->exit_code == 128) {
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_interrupted, NULL, NULL);
		return true;
	}
	return false;
}

static bool no_space(const struct fio_result *r, const struct fio_asked *asked)
{
	return r->error == 28 || r->error == 122 || mentions(asked->err, "No space left") ||
	       mentions(r->notes, "No space left") || mentions(r->notes, "ENOSPC");
}

/* fio says that something went wrong: which kind of wrong? */
static void judge_error(struct fio_result *r, struct arena *arena, const struct fio_asked *asked)
{
	const char *line = first_fio_line(arena, r->notes, asked->err);
	const char *error = tmpf("%d", r->error);

	if (no_space(r, asked))
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_no_space, line, NULL);
	else if (r->error == 13)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_permission, line, NULL);
	else if (r->error == 22)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_direct_refused, line, NULL);
	/* -1 is libaio whose completions are denied: some I/O was queued by then. */
	else if (r->total_ios == 0 || r->error == -1)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_engine_refused, error, line);
	else
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_io_error, error, line);
}

/* --- believing it ------------------------------------------------------------------- */

static bool disagree(double a, double b) { return fabs(a - b) > 0.01 * fmax(fabs(a), fabs(b)); }

static void judge_figures(struct fio_result *r, struct arena *arena, const struct fio_asked *asked,
                          double printed_iops)
{
	if (r->total_ios <= 0 || r->runtime_s <= 0)
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_nothing_done, NULL, NULL);
	else if (asked->runtime_s > 0 && r->runtime_s < 0.95 * asked->runtime_s)
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_short_run, tmpf("%.1f", r->runtime_s),
		        tmpf("%.1f", asked->runtime_s));
	else if (!(r->clat.n > 0) && !(r->lat.n > 0) && !(r->clat.mean > 0))
		say_why(r, arena, OUTCOME_NOT_MEASURED, MSG_fio_no_latency, NULL, NULL);
	else if (printed_iops > 0 && disagree(printed_iops, r->iops) && r->jobs == 1)
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_disagrees, tmpf("%.0f", printed_iops),
		        tmpf("%.0f", r->iops));
	else
		r->outcome = OUTCOME_MEASURED;
}

void fio_read(struct fio_result *r, struct arena *arena, const char *text, size_t len,
              const struct fio_asked *asked)
{
	const char *from, *to = NULL;
	struct str notes = {0};
	struct json_doc doc;
	double printed_iops = 0;
	bool found;

	*r = (struct fio_result){.outcome = OUTCOME_FAILED};
	fio_job_clear(r);
	found = find_document(text, len, &from, &to, &notes);
	r->notes = arena_strn(arena, str_text(&notes), notes.len < NOTES_LIMIT ? notes.len : NOTES_LIMIT);
	str_release(&notes);
	if (!found || !parse(&doc, from, to)) {
		if (!ended_badly(r, arena, asked))
			say_why(r, arena, OUTCOME_NOT_MEASURED, found ? MSG_fio_not_json : MSG_fio_no_json,
			        tmpf("%d", asked->exit_code), first_fio_line(arena, r->notes, asked->err));
		return;
	}
	if (!fio_job_read(r, arena, doc.root, asked->write, &printed_iops))
		say_why(r, arena, OUTCOME_FAILED, MSG_fio_bad_number, NULL, NULL);
	else if (ended_badly(r, arena, asked))
		;
	else if (r->error || asked->exit_code != 0 || no_space(r, asked))
		judge_error(r, arena, asked);
	else
		judge_figures(r, arena, asked, printed_iops);
	json_release(&doc);
}

bool fio_version_parse(const char *text, int *major, int *minor)
{
	return sscanf(text, "fio-%d.%d", major, minor) == 2;
}

/* --- histograms ------------------------------------------------------------------------ */

size_t fio_bins_merge(struct arena *arena, const struct fio_bin *a, size_t n_a, const struct fio_bin *b,
                      size_t n_b, struct fio_bin **out)
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
		if (seen >= p * total)
			return bins[i].ns;
	}
	return NAN;
}
