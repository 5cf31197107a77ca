/* What other tools wrote, as readings. A vendor's test report can so be judged by the
 * same rules and stand beside a run of our own - never as measured: every reading has
 * origin `imported`, and what a rule asks of it is "stated only".
 *
 * Read are, told apart by their content:
 *   nccl-tests     text and JSON (all its programs; reduction, gather, scatter are left)
 *   nvbandwidth    text and JSON
 *   perftest       text and JSON (also that of 4.5, which is not quite JSON)
 *   fio            JSON, 2.x to 3.4x
 *   dcgmi-diag     JSON of dcgmi diag -j
 *   nvidia-smi     -q, -q -x, and --query-gpu … --format=csv
 *   gpu-burn       text
 *   superbench     results-summary.jsonl
 *
 * A file that is none of these, or ends within what it says, is ST_PARSE with what was
 * found and what to do. What a file says and no metric of Assay means is counted and
 * named in `left`, never guessed into something near. */
#ifndef ASSAY_IMPORT_IMPORT_H
#define ASSAY_IMPORT_IMPORT_H

#include "assay/probe.h"
#include "assay/reading.h"
#include "base/arena.h"
#include "base/error.h"

#define IMPORT_FILE_MAX ((size_t)64 << 20)

/* All of it belongs to the arena. Zeroed but for what the first part says. */
struct import {
	struct arena *arena;
	/* A metric by its name; NULL: none. */
	const struct metric *(*metric)(const char *name);
	const char *node; /* whom files are about that do not say it, or NULL */
	const char *peer; /* the other end of a pair, or NULL */
	const char *unit; /* of perftest's JSON, which does not say: "Gb/s", "MiB/s" or NULL */

	const char *name; /* of the file being read */
	const char *tool; /* whose it is: a name of the list above */
	struct reading *readings;
	int64_t n, cap;
	const char **left;
	int64_t n_left, cap_left;
};

/* Adds the readings of one text; `name` is the file's, for messages. ST_PARSE as above;
 * ST_USAGE if the file does not say what --node, --peer or --unit has to. On failure
 * nothing of it is added. */
enum status import_text(struct import *in, const char *name, const char *text, size_t len,
                        struct error *err);

/* Metrics that only other tools give; ends with a name of NULL. */
extern const struct metric import_metrics[];

#endif
