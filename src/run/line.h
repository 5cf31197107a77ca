/* One line of a journal as a struct: a reading, or one of the journal's own
 * lines, which are told apart by their first member "kind". */
#ifndef ASSAY_RUN_LINE_H
#define ASSAY_RUN_LINE_H

#include "assay/reading.h"
#include "base/arena.h"
#include "run/intern.h"

#define JOURNAL_FILE "readings.jsonl"
#define RUN_FILE     "run.json"
#define RAW_DIR      "raw"

enum line_kind {
	LINE_READING,
	LINE_START,
	LINE_RESUME,
	LINE_WORK,
	LINE_END,
	LINE_OTHER, /* of a newer minor version: skipped */
};

struct line {
	enum line_kind kind;
	struct reading reading; /* LINE_READING; `time` is set for all */
	const char *run_sha256; /* LINE_START */
	const char *work;       /* LINE_WORK */
	const char *state;
	int64_t readings; /* LINE_END */
};

/* Where texts go: into the arena, through the table if there is one. */
struct line_parser {
	struct arena *arena;
	struct intern *intern; /* or NULL */
	const char *why;       /* short-lived text: what is wrong */
	bool newer;            /* the line has a newer major version */
};

enum status line_parse(struct line_parser *parser, struct line *line, const char *text, size_t len);

#endif
