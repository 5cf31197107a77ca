/* A reading: one figure about one subject, one JSON object on one line of
 * readings.jsonl. Everything Assay says is judged from readings; whatever
 * could not be measured is a reading too, with the reason.
 *
 * Written form (members in this order; `seq` and `prev` are appended last by
 * the journal writer, see run/journal.h):
 *
 *   {"v":1,"time":"2026-12-02T03:04:05.678Z","node":"n003","writer":0,
 *    "phase":"cards","attempt":1,"work":"5f0c…","probe":"gemm",
 *    "subject":{"kind":"card","id":"GPU-1b2c…","pci":"0000:17:00.0","index":2},
 *    "metric":"gemm_fp16_tflops","unit":"TFLOP/s","value":268.1,
 *    "better":"higher","outcome":"measured","reason":null,
 *    "origin":"measured","stats":{…},"params":{…},"raw":{…},
 *    "seq":17,"prev":"…"}
 *
 * `work` names the unit of work the reading belongs to (run/attempt.h).
 * Readers keep members they do not know.
 *
 * Ownership: all pointers of a struct reading belong to whoever filled it;
 * the run reader hands out readings that live as long as the open run. */
#ifndef ASSAY_READING_H
#define ASSAY_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READING_VERSION 1

#define SUBJECT_LIST(X)                                                                            \
	X(CLUSTER, "cluster")                                                                      \
	X(NODE, "node")                                                                            \
	X(CARD, "card")                                                                            \
	X(LINK, "link")               /* card to card inside a node */                             \
	X(PAIR, "pair")               /* across nodes */                                           \
	X(PATH, "path")               /* storage */                                                \
	X(ENVIRONMENT, "environment") /* what software is on a node */

enum subject_kind {
#define X(name, text) SUBJECT_##name,
	SUBJECT_LIST(X)
#undef X
		SUBJECT_KINDS
};

#define OUTCOME_LIST(X)                                                                            \
	X(MEASURED, "measured")                                                                    \
	X(UNSUPPORTED, "unsupported")   /* this hardware has no such thing */                      \
	X(NOT_MEASURED, "not_measured") /* library, permission, budget … */                      \
	X(FAILED, "failed")             /* ran and is wrong */                                     \
	X(TIMED_OUT, "timed_out")       /* its own deadline: a hang */                             \
	X(LOST, "lost")                 /* the node went silent */

enum outcome {
#define X(name, text) OUTCOME_##name,
	OUTCOME_LIST(X)
#undef X
		OUTCOMES
};

#define ORIGIN_LIST(X)                                                                             \
	X(MEASURED, "measured")                                                                    \
	X(IMPORTED, "imported")                                                                    \
	X(DECLARED, "declared")                                                                    \
	X(SIMULATED, "simulated") /* made by a stand-in: never ACCEPT */

enum origin {
#define X(name, text) ORIGIN_##name,
	ORIGIN_LIST(X)
#undef X
		ORIGINS
};

#define BETTER_LIST(X)                                                                             \
	X(HIGHER, "higher")                                                                        \
	X(LOWER, "lower")                                                                          \
	X(NEITHER, "neither") /* information, identity */

enum better {
#define X(name, text) BETTER_##name,
	BETTER_LIST(X)
#undef X
};

/* Members of `stats`, all optional. Percentiles by linear interpolation
 * (Hyndman-Fan type 7). f95 = (p97.5 - p2.5) / (2 median) as a fraction;
 * f95_lo95/hi95 one-sided 95 % bounds, f95_lo999 one-sided 99.9 % bound;
 * ac1 lag-1 autocorrelation; block the bootstrap's block length; ci_lo and
 * ci_hi the two-sided 95 % interval of `value` (written as "ci":[lo,hi]). */
#define STAT_LIST(X)                                                                               \
	X(N, "n")                                                                                  \
	X(MEDIAN, "median")                                                                        \
	X(MEAN, "mean")                                                                            \
	X(MIN, "min")                                                                              \
	X(MAX, "max")                                                                              \
	X(SD, "sd")                                                                                \
	X(CV, "cv")                                                                                \
	X(P2_5, "p2.5")                                                                            \
	X(P50, "p50")                                                                              \
	X(P95, "p95")                                                                              \
	X(P97_5, "p97.5")                                                                          \
	X(P99, "p99")                                                                              \
	X(P99_9, "p99.9")                                                                          \
	X(F95, "f95")                                                                              \
	X(F95_LO95, "f95_lo95")                                                                    \
	X(F95_HI95, "f95_hi95")                                                                    \
	X(F95_LO999, "f95_lo999")                                                                  \
	X(AC1, "ac1")                                                                              \
	X(BLOCK, "block")                                                                          \
	X(DIP_SHARE, "dip_share") /* share of windows < 0.98 median */                             \
	X(DIP_LO95, "dip_lo95")   /* exact lower one-sided 95 % limit */                           \
	X(DIP_LONGEST_S, "dip_longest_s")                                                          \
	X(DRIFT, "drift") /* Theil-Sen slope x duration / median */                                \
	X(CI_LO, "ci_lo")                                                                          \
	X(CI_HI, "ci_hi")

enum stat_id {
#define X(name, text) STAT_##name,
	STAT_LIST(X)
#undef X
		STATS
};

/* One end of a link or pair. Absent parts are NULL. */
struct subject_end {
	const char *node;
	const char *card; /* UUID */
	const char *nic;  /* device name */
	int port;         /* 0: none */
	int number;       /* display only: index of the card + 1; 0: not known */
};

struct subject {
	enum subject_kind kind;
	const char *id;  /* card: UUID; node: node name; path: the path; "*":
	                    every expected subject of this kind on the node */
	const char *pci; /* 0000:17:00.0, or NULL */
	int index;       /* display only, -1: none */
	struct subject_end ends[2];
	int n_ends; /* 0 or 2 */
};

/* Why a reading is not `measured`. `code` is an id of the message catalogue
 * without its MSG_ prefix in lower case; `text` is that message with `args`
 * filled in, in English. */
struct reason {
	const char *code;
	const char *const *args;
	int n_args;
	const char *text;
};

enum value_kind { VALUE_NONE, VALUE_NUMBER, VALUE_TEXT };

struct raw_file {
	const char *file;   /* relative to the run directory, or NULL */
	const char *sha256; /* 64 hex digits */
	int64_t bytes;
};

struct reading {
	int64_t seq;
	const char *time; /* UTC, RFC 3339 with milliseconds */
	const char *node;
	int writer; /* rank that wrote it */
	const char *phase;
	int attempt; /* from 1 */
	const char *work;
	const char *probe;
	struct subject subject;
	const char *metric;
	const char *unit;
	enum value_kind value_kind;
	double value;     /* VALUE_NUMBER: finite */
	const char *text; /* VALUE_TEXT */
	enum better better;
	enum outcome outcome;
	struct reason reason;
	enum origin origin;
	double stats[STATS]; /* NaN: absent */
	const char *point;   /* params.point: operating point, or NULL */
	const char *params;  /* JSON object as text, or NULL */
	struct raw_file raw;
};

/* Names as written in JSON; the *_parse functions return false for a word
 * that is not in the list. */
const char *subject_kind_name(enum subject_kind kind);
bool subject_kind_parse(const char *name, enum subject_kind *kind);
const char *outcome_name(enum outcome outcome);
bool outcome_parse(const char *name, enum outcome *outcome);
const char *origin_name(enum origin origin);
bool origin_parse(const char *name, enum origin *origin);
const char *better_name(enum better better);
bool better_parse(const char *name, enum better *better);
const char *stat_name(enum stat_id stat);
bool stat_parse(const char *name, enum stat_id *stat);

/* An empty reading: all stats absent, index -1, origin and outcome
 * `measured`, attempt 1. */
struct reading reading_init(void);

#endif
