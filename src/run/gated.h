/* What the gate said of a run, kept beside it for the reports, in every language, and
 * bound to the record it compared by its digest:
 *
 *     {"v":1,"run_digest":"…","time":"…","verdict":"regressed","compared":812,"left_out":0,
 *      "baselines":["runs/golden"],
 *      "lines":[{"kind":"slower","class":"watch","name":"…","text":{"en":"…","zh":"…"}}]} */
#ifndef ASSAY_RUN_GATED_H
#define ASSAY_RUN_GATED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/msg.h"

#define GATED_FILE "gate.json"
#define GATED_MOST 400 /* lines that are kept */

/* What a line is about, worst first. The words are those of the file. */
#define GATED_KIND_LIST(X)                                                                         \
	X(FAILURE, "failure")                                                                      \
	X(SLOWER, "slower")                                                                        \
	X(LOST, "lost")                                                                            \
	X(UNCLEAR, "unclear")                                                                      \
	X(SOFTWARE, "software")                                                                    \
	X(FASTER, "faster")                                                                        \
	X(NOTE, "note")

enum gated_kind {
#define X(name, text) GATED_##name,
	GATED_KIND_LIST(X)
#undef X
		GATED_KINDS
};

enum gated_verdict { GATED_SAME, GATED_REGRESSED, GATED_OPEN, GATED_VERDICTS };

struct gated_line {
	enum gated_kind kind;
	bool breaks;                 /* software: of the class that breaks jobs */
	const char *name;            /* metric, or part and member */
	const char *text[LANGUAGES]; /* a sentence; never NULL */
};

struct gated {
	enum gated_verdict verdict;
	const char *time; /* RFC 3339 */
	const char *const *baselines;
	int n_baselines;
	int64_t compared; /* figures */
	int64_t left_out; /* lines beyond those kept */
	struct gated_line *lines;
	int n_lines;
};

/* ST_NOTFOUND: there is none. ST_CORRUPT: it is of another record. ST_PARSE: it is no
 * such file. All of the arena. */
enum status gated_read(struct gated *g, struct arena *arena, const char *dir,
                       const char *run_digest, struct error *err);
enum status gated_save(const struct gated *g, const char *dir, const char *run_digest,
                       struct error *err);

#endif
