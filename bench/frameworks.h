/* Between the files of the probe frameworks: which Pythons there are and what they
 * have, one job and what its JSON line says, engines on and off. The jobs are the
 * scripts of scripts/frameworks, built into the program and handed to the
 * interpreter as text: nothing is written to the machine. */
#ifndef ASSAY_BENCH_FRAMEWORKS_H
#define ASSAY_BENCH_FRAMEWORKS_H

#include <stdbool.h>
#include <stddef.h>

#include "assay/probe.h"
#include "stats/bootstrap.h"

enum framework {
	FRAMEWORK_PYTORCH,
	FRAMEWORK_TENSORFLOW,
	FRAMEWORK_DEEPSPEED,
	FRAMEWORK_MEGATRON,
	FRAMEWORK_HOROVOD,
	FRAMEWORK_MXNET,
	FRAMEWORKS,
};

extern const char *const framework_names[FRAMEWORKS];  /* pytorch: in metrics and lines */
extern const char *const framework_titles[FRAMEWORKS]; /* PyTorch: in texts */

extern const struct metric fw_metrics[]; /* frameworks_metrics.c; ends with name NULL */

/* --- interpreters (frameworks_find.c) --------------------------------------- */

#define MOST_PYTHONS 8

struct fw_found {
	const char *version, *path; /* NULL: not there */
};

/* One interpreter. It answers, or `reason` says why it does not. */
struct fw_python {
	const char *path;    /* as it is started */
	const char *version; /* "3.11.2"; NULL: no answer */
	enum msg reason;
	const char *args[4];
	struct fw_found found[FRAMEWORKS];
};

struct fw_line;

struct fw_pythons {
	struct fw_python list[MOST_PYTHONS];
	int n;
	bool named;        /* by the parameter, and not just what PATH has */
	const char *paths; /* all of them, with ", " between, for texts */
};

/* `wanted`: "auto" or interpreters with commas between. Asks each, for at most
 * `seconds`. */
void fw_pythons_find(struct fw_pythons *p, struct probe_ctx *ctx, const char *wanted,
                     double seconds);
/* Why none of them has it: only a named interpreter has to. */
struct fw_line fw_pythons_lack(const struct fw_pythons *p);
/* By the parameter `device`: auto is cards where the node has any. */
bool fw_has_cards(struct probe_ctx *ctx);
/* On this machine alone, not on one that is played or recorded. */
struct support fw_supported(struct probe_ctx *ctx);

/* --- a job (frameworks_line.c, frameworks_job.c) -------------------------------- */

/* How far a framework is known to be good. Not for failed jobs alone: a job that ran
 * wrong has shown that it loads. */
enum fw_reached { FW_PRESENT, FW_COMPATIBLE, FW_RUNS };

#define FW_PARTS 3 /* ways of parallelism; precisions */
#define FW_SUMS  3 /* sizes of all-reduces */

extern const int64_t fw_sums_bytes[FW_SUMS];

struct fw_part {
	const char *name; /* data, tensor, pipeline; bf16, fp16, fp8 */
	const char *said; /* ok, absent, or what is wrong; NULL: the job does not say */
};

/* What one job came to. The figures may be used when `outcome` is measured; else
 * `reason` with its arguments (arena) says why. */
struct fw_line {
	enum outcome outcome;
	enum msg reason;
	const char *args[5];
	enum fw_reached reached;
	const char *version, *backend;
	int workers;
	double step_ms, alone_ms; /* alone: without the other workers; NaN: not said */
	double loss_first, loss_last;
	double resume_s; /* of the elastic job, else NaN */
	double resumed_at;
	double sums_ms[FW_SUMS]; /* of all-reduces, where they were asked for; else NaN */
	int cards;               /* the framework sees; -1: not asked */
	struct fw_part modes[FW_PARTS], precisions[FW_PARTS];
};

/* What was asked for and how the launcher ended. */
struct fw_asked {
	const char *title;          /* PyTorch */
	const char *version;        /* by its metadata */
	const char *python;         /* path of the interpreter */
	const char *python_version; /* 3.11.2 */
	bool named;                 /* the customer named that interpreter */
	bool elastic;
	bool counts;    /* asked for nothing but its cards */
	bool follows;   /* a part of a job whose first rank is on another node */
	bool sums;      /* all-reduces as well */
	double seconds; /* limit of the job */
	int exit_code;  /* -1: ended by `signal` */
	int signal;
	bool stopped;    /* by fw_job.goes_on */
	bool timed_out;  /* the launcher itself did not end */
	const char *err; /* its stderr, or NULL */
};

/* Reads the last JSON line of a job's output. */
void fw_line_read(struct fw_line *line, struct arena *arena, const char *text, size_t len,
                  const struct fw_asked *asked);

/* A line of no job. */
struct fw_line fw_line_none(enum outcome outcome, enum msg reason, const char *a, const char *b);
/* What a job on the CPU says of cards: nothing, however it ended. */
struct fw_line fw_line_of_cards(const struct fw_line *line, enum framework framework);
/* How many of the parts are right; a wrong one turns the line into its failure. */
int fw_parts_right(struct probe_ctx *ctx, const struct fw_part *parts, struct fw_line *line);

struct fw_job {
	enum framework framework;
	const struct fw_python *python;
	bool named, elastic, brief;
	bool counts; /* nothing is run: how many cards does it see? */
	bool sums;   /* times all-reduces as well */
	bool cuda;
	int workers; /* 0: as many as it sees cards */
	int steps;
	double seconds;
	const char *env; /* JSON object: variables set, or taken away by null; or NULL */
	/* Of a job over several nodes; size 0: of this node alone. */
	int size, first;       /* ranks of all; our first */
	const char *address;   /* of the first rank */
	const char *interface; /* ours, on the way to it; NULL: as the site has it */
	int port;
	/* Asked about every 0.2 s; false ends the job. NULL: nobody is asked. */
	bool (*goes_on)(void *arg, double seconds);
	void *arg;
};

/* Runs it and reads its line. *raw (may be NULL) gets its whole output (arena). */
void fw_job_run(struct probe_ctx *ctx, const struct fw_job *job, struct fw_line *line,
                const char **raw);

/* --- engines (frameworks_engine.c) --------------------------------------------- */

struct fw_engine {
	const char *name;  /* as its maker calls it */
	const char *found; /* what gives it away: a path, or a variable with its value */
	bool on;           /* the environment as it is switches it on */
	const char *off;   /* when on: JSON object of the variables without it */
};

/* Table 2.3 against this environment; root: prefix of the paths looked at.
 * False: none found. One that is on goes before one that merely lies there. */
bool fw_engine_find(struct fw_engine *engine, struct arena *arena, const char *root,
                    const char *(*variable)(const char *name));

/* Step times of n alternated pairs, without and with the engine: the gain is the
 * geometric mean of without / with, and its 95 % interval (stats/pairs.h). */
enum status fw_engine_gain(const double *without, const double *with, size_t n,
                           struct estimate *gain);

#define FW_PAIRS_LEAST 5 /* fewer say too little */
#define FW_PAIRS_MOST  50

enum fw_way { FW_WITHOUT, FW_WITH, FW_WAYS };

struct fw_pairs {
	int n;
	double step[FW_WAYS][FW_PAIRS_MOST];
	double sums[FW_SUMS][FW_WAYS][FW_PAIRS_MOST]; /* NaN: not said */
};

/* Runs jobs in turn until `wanted` pairs are there. False: one failed, and *bad is
 * its line. */
bool fw_pairs_take(struct fw_pairs *p, int wanted,
                   void (*run)(void *arg, bool off, struct fw_line *line), void *arg,
                   struct fw_line *bad);
/* Why no pairs are to be taken of that engine; outcome measured: they are. */
struct fw_line fw_engine_fit(const struct fw_engine *engine, bool there, bool cuda, int pairs);
/* The readings: metrics[0] of the step, metrics[1] of each all-reduce with its size as
 * point; of neither where `line` is not measured. */
struct fw_gain_of {
	const char *metrics[2];
	struct subject subject;
	const char *params; /* or NULL */
};
enum status fw_gain_say(struct probe_ctx *ctx, const struct fw_gain_of *of,
                        const struct fw_pairs *p, const struct fw_line *line);

#endif
