/* The gate: a run beside one or more baselines. What became slower beyond noise and
 * tolerance, what fails that did not, what is no longer measured, and what software
 * changed. It knows no probe by name; what is worth how much is in a data file.
 *
 * All texts are in the language spoken and live in the arena given. */
#ifndef ASSAY_GATE_GATE_H
#define ASSAY_GATE_GATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "run/rundir.h"

#define GATE_BASELINES 32
#define GATE_FALSE     0.001 /* probability of a false regression in a whole comparison */

enum gate_kind {
	GATE_FAILURE,
	GATE_SLOWER,
	GATE_LOST,
	GATE_UNCLEAR,
	GATE_SOFTWARE,
	GATE_FASTER,
	GATE_NOTE,
	GATE_KINDS
};

enum gate_class { GATE_HARMLESS, GATE_WATCH, GATE_BREAKING, GATE_CLASSES };

struct gate_line {
	enum gate_kind kind;
	enum gate_class class; /* GATE_SOFTWARE */
	const char *name;      /* metric, or part and member */
	const char *text;      /* a sentence, with the name */
};

enum gate_verdict { GATE_SAME, GATE_WORSE, GATE_OPEN };

/* --- rules.c: the tolerance file ------------------------------------------------- */

struct gate_tolerance {
	const char *pattern;
	double tolerance, run_to_run;
};

struct gate_classed {
	const char *pattern;
	enum gate_class class;
};

struct gate_rules {
	struct gate_tolerance *tolerances;
	struct gate_classed *classes;
	int n_tolerances, n_classes;
};

/* ST_PARSE with the place; `name` is for messages. */
enum status gate_rules_read(struct gate_rules *rules, struct arena *arena, const char *name,
                            const char *text, size_t len, struct error *err);
struct gate_tolerance gate_tolerance_of(const struct gate_rules *rules, const char *metric);
enum gate_class gate_class_of(const struct gate_rules *rules, const char *member);

/* --- gate.c ------------------------------------------------------------------------ */

struct gate {
	struct arena *arena;
	const struct gate_rules *rules;
	struct rundir *now;
	struct rundir *base; /* n_base of them */
	int n_base;
	struct gate_line *lines;
	int n_lines, cap_lines;
	int compared; /* figures */
	enum gate_verdict verdict;
};

/* Compares open runs; fills lines (by kind, worst first) and the verdict. ST_USAGE
 * for runs that cannot be compared, with the reason. */
enum status gate_compare(struct gate *g, struct error *err);

/* Adds a line; texts are copied. */
void gate_add(struct gate *g, enum gate_kind kind, enum gate_class class, const char *name,
              const char *text);
/* Measured numeric or text readings that count. */
int64_t gate_measured(struct rundir *run);

/* --- figures.c, software.c: the two halves -------------------------------------------- */

enum status gate_figures(struct gate *g, struct error *err);
void gate_software(struct gate *g);
/* The differences of two documents, into lines. */
enum status gate_diff(struct gate *g, const char *before_name, const struct str *before,
                      const char *now_name, const struct str *now, struct error *err);

/* --- baseline.c -------------------------------------------------------------------------- */

#define BASELINE_FILE "baseline.json"

/* Marks an intact, whole run as a baseline: BASELINE_FILE with its digest. */
enum status baseline_accept(struct rundir *run, const char *time, struct error *err);
/* Whether the run is the one that was accepted: ST_OK, ST_NOTFOUND (never accepted),
 * ST_CORRUPT with what differs. */
enum status baseline_check(const struct rundir *run, struct error *err);

#endif
