/* A run directory, opened for reading: run.json and every reading of
 * readings.jsonl, plus what can be said about its integrity. Judging,
 * printing, comparing all start here; none of them sees hardware.
 *
 * The journal is held in memory, each line parsed once; readings live in the
 * arena of the open run until rundir_close. Lines written by a newer minor
 * version keep their unknown members (the text of the line is still there) and
 * lines of unknown kinds are skipped; a newer major version is refused. */
#ifndef ASSAY_RUN_RUNDIR_H
#define ASSAY_RUN_RUNDIR_H

#include "assay/reading.h"
#include "assay/run.h"
#include "base/arena.h"
#include "base/error.h"

enum journal_state {
	JOURNAL_INTACT,     /* chain holds, end line there */
	JOURNAL_CUT,        /* chain holds, no end line (or a torn last line) */
	JOURNAL_ALTERED,    /* digest, count or run.json does not match */
	JOURNAL_UNREADABLE, /* not a journal, or cut within its first line */
};

struct rundir {
	struct arena arena;
	char *path;
	struct run_info info;
	struct reading *readings; /* in journal order, all attempts */
	int64_t n_readings;
	enum journal_state state;
	const char *trouble; /* what is wrong, with the line; NULL if intact or
	                             cut between two lines, never NULL if altered or
	                             unreadable */
	const char *digest;  /* head of the chain: of the last whole line; ""
	                             if there is none */
	const char *ended;   /* time of the last line that has one, or NULL */
	int n_resumes;
	const int64_t *resumed_at; /* n_resumes: readings before each resume line */
	const char *const *done;   /* ids of finished work, one a done line */
	int64_t n_done;
	int64_t n_lines; /* whole lines */
	char *map;       /* the journal's text */
	size_t map_len;
	size_t whole_len;    /* without a torn last line */
	struct works *works; /* attempts by unit of work, made when asked for */
};

enum rundir_flags {
	RUNDIR_CHAIN = 1, /* check every digest (verify, score) */
	RUNDIR_RAW = 2,   /* and those of the raw files (verify) */
};

/* ST_NOTFOUND/ST_PARSE with the file and line when it cannot be used at all;
 * an altered or cut journal opens all the same and says so in `state`. A line
 * that the chain vouches for and that is no reading (a figure that is not
 * finite, say) is ST_PARSE; where the chain does not vouch for it the journal
 * is altered and the line left out. On failure nothing is left open. */
enum status rundir_open(struct rundir *run, const char *path, int flags, struct error *err);
void rundir_close(struct rundir *run);

/* The readings that count: of each (work, node, metric, subject, point) the
 * one that stands by judging.md 3: the newest replaces only not_measured and
 * lost; else the worst stands: failed, timed_out, the worse figure of two
 * measured, unsupported, in this order. A not_measured or lost reading about
 * "*" gives way to later ones of an actual subject. Pointers into
 * run->readings, in order of first appearance; from the arena. recovered[i] is
 * true where a lost reading was replaced. */
struct effective {
	const struct reading **readings;
	bool *recovered;
	int64_t count;
};
struct effective rundir_effective(struct rundir *run);

#endif
