/* The ledger: which cards and nodes were there, run after run, so that a card that was
 * given back and returns, or was swapped in silence, has a history. A file of one JSON
 * object a line and run, only ever added to:
 *
 *   {"v":1,"run":"00112233445566aa","time":"2026-…Z","vendor":"x",
 *    "nodes":[{"name":"n001","machine_id":"…","driver":"550.54.15"}],
 *    "cards":[{"id":"GPU-…","node":"n001","pci":"0000:17:00.0","name":"…","serial":"…",
 *              "vbios":"…","gsp":"…","board":"10de:20b2 10de:1463","revision":"a1",
 *              "bad":"gemm-fp16: …"}]}
 *
 * Absent members are unknown. */
#ifndef ASSAY_GATE_LEDGER_H
#define ASSAY_GATE_LEDGER_H

#include "run/rundir.h"

#define LEDGER_FILE "assay-ledger.jsonl"

/* Judged elsewhere: this card failed, for this reason. */
struct ledger_bad {
	const char *card, *why;
};

struct ledger_added {
	int nodes, cards;
	bool again; /* the run was in it already; nothing was written */
};

/* Appends the run, fsync'd. A file that is no ledger is refused (ST_PARSE, with the line). */
enum status ledger_add(const char *path, struct rundir *run, const struct ledger_bad *bad,
                       int n_bad, struct ledger_added *added, struct error *err);
/* What happened between the runs, a line each, in the language spoken. */
enum status ledger_show(const char *path, struct str *out, struct error *err);

#endif
