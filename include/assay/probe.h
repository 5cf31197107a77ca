/* A probe: one way of measuring, as a const struct. It runs in a fresh child
 * process with a context and emits readings. It never prints, exits, reads
 * argv or the system clock, and knows nothing of MPI.
 *
 * To add one: bench/<name>.c with the struct at its end, a line in
 * bench/probes.def, tests/probes/test_<name>.c. */
#ifndef ASSAY_PROBE_H
#define ASSAY_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "assay/message.h"
#include "assay/reading.h"
#include "assay/status.h"

struct arena;
struct clock_source;

enum budget { BUDGET_QUICK, BUDGET_STANDARD, BUDGET_SOAK, BUDGETS };

/* Which back end a metric comes from. A probe that cannot run at all owes a
 * reading with the reason for its BACKEND_ANY and BACKEND_CUDA metrics.
 * BACKEND_LOCAL: storage that --storage did not name; its other metrics are
 * those of named paths. BACKEND_EVIDENCE: from papers and logs given beside a run
 * (bench/evidence.def), no probe's. */
enum backend { BACKEND_ANY, BACKEND_CUDA, BACKEND_CPU, BACKEND_LOCAL, BACKEND_EVIDENCE };

struct metric {
	const char *name; /* gemm_fp16_tflops */
	const char *unit; /* TFLOP/s; "1" for a fraction or a count, "text" for words */
	enum better better;
	enum subject_kind subject;
	enum backend backend;
	const char *formula; /* as printed in the report: how it is computed */
};

/* PARAM_INTS: different whole numbers with commas between, as text. */
enum param_kind { PARAM_INT, PARAM_REAL, PARAM_SIZE, PARAM_WORD, PARAM_INTS };

/* One parameter of a probe. Help text and validation come from the row.
 * `value` holds the default per budget, as text. */
struct param {
	const char *name;
	enum param_kind kind;
	const char *unit; /* "s", "B", "1", or "" */
	const char *value[BUDGETS];
	double min, max;   /* PARAM_INT, PARAM_REAL, PARAM_SIZE, each of PARAM_INTS */
	const char *words; /* PARAM_WORD: "a|b|c"; NULL: any text */
	enum msg help;
};

enum stage { STAGE_LOADING, STAGE_PREPARING, STAGE_MEASURING, STAGES };

#define PEER_TEXT_MAX 32768

/* What a probe may use. Function members are filled by whoever runs it. */
struct probe_ctx {
	const struct probe *probe;
	struct arena *arena; /* lives until run() returns */
	const struct clock_source *clock;
	const char *node;
	enum budget budget;
	uint64_t seed;          /* of this unit; one run, one fresh seed */
	int64_t deadline_ns;    /* on clock: be done by then */
	const char *subject_id; /* which card, path … this unit is for, or NULL */
	const char *scratch;    /* own directory for data files, removed afterwards;
	                          NULL when the probe has no storage path */
	const char *lib_dir;    /* look for vendor libraries only here, or NULL */
	const char *sys_root;   /* prefix of /proc and /sys, "" on a real machine */
	int assumed_cards;      /* for the plan of other nodes: so many GPUs, whatever is
	                          here; 0: as found */
	bool simulated;         /* a stand-in was loaded (set by cards_cuda), or sys_root is
	                          not the machine's own; read by emit */

	/* Parameter by name: the row's default for the budget, or what was set.
	 * Asking for a name that has no row is a bug and ends the child. */
	int64_t (*param_int)(struct probe_ctx *ctx, const char *name);
	double (*param_real)(struct probe_ctx *ctx, const char *name);
	const char *(*param_word)(struct probe_ctx *ctx, const char *name);

	/* Sends one reading. The caller fills metric, subject, value, stats,
	 * outcome, reason, params, point, raw, and node where the subject is of
	 * another peer; else that, and time, phase, attempt, work, probe, unit,
	 * better, writer and origin are filled here. A metric that
	 * the probe does not list, a value that is not finite or an outcome
	 * without its reason becomes outcome `failed`, reason `bad_reading`. */
	enum status (*emit)(struct probe_ctx *ctx, const struct reading *reading);
	/* done: 0 to 1, or negative when unknown. */
	void (*progress)(struct probe_ctx *ctx, enum stage stage, double done, enum msg what);
	/* Saves raw samples as <run>/raw/<node>/<name>; fills `raw` (arena). */
	enum status (*save_raw)(struct probe_ctx *ctx, const char *name, const char *data,
	                        size_t len, struct raw_file *raw);

	/* Probes of pairs and groups: who takes part, by node, this child as
	 * peers[self_index]; the first emits for all. Other probes: n_peers 0. */
	const char *const *peers;
	int n_peers, self_index;
	double ahead_s; /* our wall clock minus that of peers[0]; NaN: not known */
	/* Small texts between the children of one unit, relayed by the
	 * coordinator, those of one sender in order; at most PEER_TEXT_MAX bytes.
	 * recv: ST_TIMEOUT after `seconds`; the text lives as long as the arena. */
	enum status (*send_text)(struct probe_ctx *ctx, int to, const char *text);
	enum status (*recv_text)(struct probe_ctx *ctx, int from, double seconds,
	                         const char **text);
	void *self; /* of the runner */
};

/* Fills reason with message `id` and a NULL-terminated list of arguments. */
void reason_set_list(struct probe_ctx *ctx, struct reason *reason, enum msg id,
                     const char *const *args);
#define reason_set(ctx, reason, id, ...)                                                           \
	reason_set_list(ctx, reason, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Result of supported(): whether the probe can do anything here. */
struct support {
	bool yes;
	struct reason reason; /* when not */
};

struct probe {
	const char *name;
	enum msg title;
	enum subject_kind subject; /* what one unit of it is about */
	const char *phase;         /* "hello", "cards", "storage" … */
	bool exclusive;            /* nothing else of this node runs meanwhile */
	bool cards_together;       /* … but its units on GPUs, all of them at the same time:
	                              they share power and air, as under the customer's load */
	bool all_nodes;            /* its units are of all nodes together, a child on each;
	                              so are those about a pair, on the two */
	bool alone_too;            /* … and one node by itself makes such a unit as well */
	bool needs_storage;        /* gets a scratch directory on a storage path */
	double seconds[BUDGETS];   /* expected duration of one unit, for the plan */
	/* The same with the parameters as set; NULL: seconds[] holds anyway. */
	double (*duration)(struct probe_ctx *ctx);
	/* What a unit may take beyond that before it counts as hung: where a first
	 * result can call for a longer measurement. */
	double extension_s[BUDGETS];
	const struct param *params;   /* ends with name NULL */
	const struct metric *metrics; /* ends with name NULL */
	/* Probes of pairs: names of the metrics that have a reading for each direction,
	 * ended by NULL, ends[0] of it the sender; NULL: none. */
	const char *const *each_way;
	/* The subjects one unit each is made for, as a NULL-terminated list from
	 * the arena: card UUIDs, socket ids. NULL hook: one unit with no subject. */
	const char *const *(*subjects)(struct probe_ctx *ctx);
	/* Looks at /sys, /proc and the library search path only; opens no vendor
	 * library (assay list runs it for every probe within 20 ms). */
	struct support (*supported)(struct probe_ctx *ctx);
	/* Opens what it needs and says whether it works (assay list --try, in a
	 * child). NULL: supported() is all there is to try. */
	struct support (*try_run)(struct probe_ctx *ctx);
	/* Emits readings. A status other than ST_OK means it broke half way: the
	 * runner then owes a `failed` reading. */
	enum status (*run)(struct probe_ctx *ctx);
};

/* bench/probes.def as a table, and its checks (names, metrics, rows). */
extern const struct probe *const probe_table[]; /* ends with NULL */
const struct probe *probe_find(const char *name);
const struct metric *probe_metric(const struct probe *probe, const char *name);

#endif
