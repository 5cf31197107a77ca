/* The buyer's own model: what is known of it and of the cards, gathered from a command
 * line, a run and the table of accelerators for src/estimate. */
#ifndef ASSAY_CLI_MODEL_H
#define ASSAY_CLI_MODEL_H

#include "estimate/estimate.h"
#include "report/report.h"
#include "run/rundir.h"

struct model_request {
	const char *params, *tokens; /* as typed */
	const char *card;            /* key of accelerators.csv, or NULL: that of the run */
	const char *config_dir;
	struct rundir *run; /* or NULL */
};

struct model {
	struct arena arena;
	struct estimate_inputs in;
	const char *card_name;
	bool simulated;         /* figures of a stand-in */
	bool other_run;         /* the run is of fewer than 1/16 of the cards: E(n) stays assumed */
	bool scaling_open;      /* … or their number is looked for: likewise */
	bool one_node_rate;     /* the write rate is one node's */
	double run_cards;       /* the run measured; NaN */
	struct range bus_gbs;   /* between nodes, a card; NaN */
	const char *bus_metric; /* it was measured as; NULL */
	struct range read_gbs;  /* dataset; NaN */
};

/* Fills what request tells; cards, MFU, price and the like are the caller's to set
 * before, NaN where not given. Release also after an error. */
void model_init(struct model *m);
enum status model_gather(struct model *m, const struct model_request *request, struct error *err);
void model_release(struct model *m);

void model_text(struct str *out, const struct model *m, const struct estimate *e,
                const char *currency, const struct report_options *o);
void model_json(struct str *out, const struct model *m, const struct estimate *e,
                const char *currency);
/* "Enough cards and memory for this model": one line. */
void model_line(struct str *out, const struct model *m, const struct estimate *e);

/* For commands with --params, --tokens and --config-dir: whether both are numbers,
 * where one is given; and that line on stdout, for the cards of a run. What is in its
 * way is noted, no error: the line changes no verdict. */
struct options;
enum status model_check(const struct options *o, struct error *err);
void model_say(const char *dir, const struct options *o);

#endif
