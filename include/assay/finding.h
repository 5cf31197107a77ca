/* What score makes and report prints: findings (rule x subject) gathered into
 * a scorecard. Everything is owned by the arena of the scorecard. */
#ifndef ASSAY_FINDING_H
#define ASSAY_FINDING_H

#include "assay/reading.h"
#include "assay/waiver.h"

#define VERDICT_LIST(X)                                                                            \
	X(PASS, "pass")                                                                            \
	X(WARN, "warn")                                                                            \
	X(FAIL, "fail")                                                                            \
	X(INCONCLUSIVE, "inconclusive") /* noise does not allow a verdict */                       \
	X(NOT_APPLICABLE, "not_applicable")                                                        \
	X(NOT_MEASURED, "not_measured")                                                            \
	X(STATED_ONLY, "stated_only")                                                              \
	X(TOO_SHORT, "too_short")                                                                  \
	X(TOO_FEW, "too_few")

enum verdict {
#define X(name, text) VERDICT_##name,
	VERDICT_LIST(X)
#undef X
		VERDICTS
};

enum overall { OVERALL_ACCEPT, OVERALL_REJECT, OVERALL_INCOMPLETE };

/* Delivery decides the headline; period is what cannot exist on delivery day. */
enum rule_stage { RULE_DELIVERY, RULE_PERIOD };
/* Literal: the guide's figure as written, printed, never decides (unless the
 * customer's profile makes it required). Sound: what decides. */
enum rule_reading { RULE_SOUND, RULE_LITERAL };

/* The part of a rule that reports print; score/profile.h has the rest. */
struct rule_info {
	const char *id;
	const char *criterion; /* "1", "2", "S", "3", "4" or what the profile says */
	enum rule_stage stage;
	enum rule_reading reading;
	const char *twin; /* id of the sound rule beside a literal one, or NULL */
	const char *metric;
	const char *stat; /* "value", "median" … */
	const char *unit;
	const char *scope;  /* "each", "worst" … */
	const char *limit;  /* as printed: ">= 268 TFLOP/s" */
	const char *source; /* guide row id, section, or data source */
	const char *note;   /* or NULL */
	bool required;
	double min_coverage; /* 0 to 1 */
};

struct finding {
	const struct rule_info *rule;
	struct subject subject;
	const char *node; /* of the subject, or NULL for the cluster */
	enum verdict verdict;
	enum outcome outcome;
	enum origin origin;
	bool has_value; /* value of the rule's stat, aggregated by its scope */
	double value;
	const char *text;     /* value of an identity metric, or NULL */
	double limit;         /* the number compared with; NaN if none */
	double ci_lo, ci_hi;  /* NaN: none */
	double resolution;    /* what noise still hides, in the unit; NaN: unknown */
	struct reason reason; /* code NULL when there is nothing to explain */
	const char *advice;   /* what to do next, or NULL */
	int attempt;
	bool recovered;                 /* replaced a lost reading: warn: recovered */
	const struct reading *evidence; /* the deciding reading, or NULL */
	/* What is to blame for this slow pair of nodes (a line of scorecard.localised
	 * that names it without doubt), or NULL. */
	const char *culprit;
	/* The operating point the rule's group chose on the node of the evidence;
	 * NULL: no group, no point meets its conditions, or a figure of many. */
	const char *point;
	/* How many subjects it stands for: 1, or more where the subject's id is
	 * "*" (missing ones of a node, of the cluster). */
	int64_t subjects;
	/* What takes it as it is, or NULL. The verdict is the one without it. */
	const struct waiver_result *waived;
};

struct coverage {
	int64_t due;    /* rule x subject pairs owed by the expected inventory */
	int64_t tested; /* of those, with a verdict pass, warn, fail or inconclusive */
};

/* One rule over all its subjects. */
struct rule_result {
	const struct rule_info *rule;
	struct coverage coverage;
	int64_t count[VERDICTS];
	enum verdict verdict;  /* worst that decides: see judging in score/verdict.c */
	bool coverage_short;   /* below the rule's min_coverage */
	int64_t waived;        /* of the subjects; counted above, but they do not decide */
	enum verdict unwaived; /* the verdict it had without waivers */
};

struct criterion_result {
	const char *id;       /* "1" */
	const char *title;    /* message in the report's language comes from id */
	enum verdict verdict; /* delivery rules that are required */
	struct coverage coverage;
	const char *subjects; /* "cards": unit of the printed coverage */
	int64_t count[VERDICTS];
	int64_t waived;        /* subjects of its delivery rules that are required */
	enum verdict unwaived; /* the verdict it had without waivers */
	/* The same over period rules: its own line. */
	enum verdict period_verdict;
	struct coverage period_coverage;
	bool has_period;
};

/* What can be to blame for slow pairs of nodes. */
#define CULPRIT_LIST(X)                                                                            \
	X(NODE, "node")       /* all its pairs */                                                  \
	X(NIC, "nic")         /* those over one NIC of a node */                                   \
	X(LINK, "link")       /* one pair: cable, port, or route */                                \
	X(LEAF, "leaf")       /* every pair with an end in the group */                            \
	X(UPLINK, "uplink")   /* pairs that leave the group */                                     \
	X(RAIL, "rail")       /* the same NIC of all nodes */                                      \
	X(INCAST, "incast")   /* many senders at once, not the receiver */                         \
	X(NOTHING, "nothing") /* noise, a one-off disturbance */

enum culprit_kind {
#define X(name, text) CULPRIT_##name,
	CULPRIT_LIST(X)
#undef X
};

#define CULPRIT_WAY_LIST(X)                                                                        \
	X(BOTH, "both")                                                                            \
	X(SENDS, "sends") /* what leaves it is slow; of a link: from node to peer */               \
	X(RECEIVES, "receives")

enum culprit_way {
#define X(name, text) CULPRIT_WAY_##name,
	CULPRIT_WAY_LIST(X)
#undef X
};

/* One explanation of slow pairs; names absent are NULL. */
struct explanation {
	enum culprit_kind kind;
	const char *node, *nic;
	const char *peer, *peer_nic; /* of a link */
	const char *leaf;            /* of a leaf group or its uplink */
	enum culprit_way way;
	double way_odds;                  /* of this way, given the kind */
	double depth, depth_lo, depth_hi; /* share lost, 95 % interval; NaN: nothing */
	double odds;                      /* 0 to 1, over all explanations */
	double level;                     /* what its pairs reach, in the unit; NaN: nothing */
	int partners;                     /* nodes on the other side */
	int64_t readings;
};

/* One thing wrong between nodes, by everything that may explain it. */
struct localised {
	const char *metric, *unit;
	const char *point;  /* operating point of its readings, or NULL */
	bool identified;    /* the first explanation is it: its odds leave no doubt */
	const char *text;   /* one line: who, how deep, by what evidence */
	double healthy;     /* what sound pairs reach, in the unit */
	int64_t pairs, due; /* unordered pairs measured, and there are */
	const struct explanation *explanations; /* likeliest first */
	int n_explanations;
};

/* How many pairs of nodes a probe has looked at; 1 - pairs / due is the probability
 * that a single bad cable was not among them. */
struct pair_cover {
	const char *probe;
	int64_t pairs, due; /* unordered pairs with a reading that says something; all */
	int64_t again;      /* of those, read more than once */
};

/* A file that was judged beside the run: a log, a quote, a bill. */
struct evidence_file {
	const char *kind, *file; /* "bill"; the path as given */
	const char *sha256;      /* 64 hex digits */
	int64_t bytes;
};

/* What one piece of delivered work costs: a price over a rate that was measured. */
/* What the price leaves out: then it is the least one. */
enum price_least {
	PRICE_WHOLE,
	PRICE_PRODUCTS, /* the rate is one that training does not reach */
	PRICE_STEPS,    /* of training steps: failures, and what the probe's step has not */
};

struct price_line {
	const char *name;     /* "tflops_hour": a row of src/cli/prices.c */
	const char *metric;   /* of the rate */
	double value, lo, hi; /* in the list's currency; lo and hi NaN: no interval */
	double rate;          /* the median it is from, in the metric's unit */
	double adapters;      /* of a node, by as many of which the rate counts; else 1 */
	enum origin origin;   /* of the rate */
	const char *of;       /* "card", "node", "cluster": whose hour is spread */
	enum price_least least;
	bool fallback; /* a line before this one says the same by a better rate */
};

struct price_list {
	const char *source;   /* "quote", "bill"; NULL: no price was given */
	const char *currency; /* "CNY" */
	double card_hour;
	double params; /* of the model whose tokens are priced */
	const struct price_line *lines;
	int n;
};
struct gated;

struct scorecard {
	const char *profile; /* name */
	const char *profile_sha256;
	const char *card;  /* key of the accelerator row, or NULL */
	bool card_guessed; /* no --profile: identity is stated_only */
	enum rule_stage stage;
	enum overall overall;
	enum overall overall_if_measured; /* simulated runs: what it would be */
	bool simulated, imported;
	bool screen_only;                       /* quick budget: never ACCEPT */
	bool cut;                               /* the journal has no end line */
	const char *altered;                    /* chain broken: says where; NULL if intact */
	int64_t expected_nodes, expected_cards; /* cards of the whole cluster */
	int64_t rules, rules_judged;            /* required delivery rules; with a verdict */
	const char *vendor;                     /* or NULL */
	const char *started, *ended;            /* RFC 3339 */
	double seconds;
	const char *run_digest; /* head of the chain, 64 hex digits */
	const char *version;    /* of Assay that measured */
	const char *budget;

	const struct criterion_result *criteria;
	int n_criteria;
	const struct rule_result *rule_results; /* by criterion, profile order */
	int n_rules;
	const struct finding *findings; /* grouped by rule; fails first */
	int64_t n_findings;
	/* Readings no rule judges: printed as information. */
	const struct reading *const *information;
	int64_t n_information;
	/* All readings that count, judged or not: for tables over operating points. */
	const struct reading *const *readings;
	int64_t n_readings;
	/* Required findings that decide, most important first: culprits. */
	const struct finding *const *culprits;
	int64_t n_culprits;
	/* What is to blame for slow pairs, by metric in the order of the journal. */
	const struct localised *localised;
	int n_localised;
	const struct pair_cover *pairs;
	int n_pairs;
	/* All waivers, also those that excuse nothing. */
	const struct waiver_result *waivers;
	int n_waivers;
	int waivers_used;              /* those that decide something */
	enum overall overall_unwaived; /* without them; of a simulated run what it would be */
	const struct evidence_file *evidence;
	int n_evidence;
	struct price_list prices;
	const struct gated *gated; /* what a gate said of this record (run/gated.h), or NULL */
};

const char *verdict_name(enum verdict verdict);
bool verdict_parse(const char *name, enum verdict *verdict);
const char *overall_name(enum overall overall);
const char *culprit_kind_name(enum culprit_kind kind);
const char *culprit_way_name(enum culprit_way way);

#endif
