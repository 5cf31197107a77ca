/* What the parts of p2p share: the cards with their buffers, one transfer between
 * two of them, and the matrices that come of it.
 *
 * A matrix is indexed by where data comes from and where it goes, whoever moves
 * it: a push is moved by the card it comes from, a pull by the one it goes to. */
#ifndef ASSAY_BENCH_P2P_H
#define ASSAY_BENCH_P2P_H

#include "stats/samples.h"
#include "team.h"

enum p2p_kind {
	P2P_CE_PUSH,
	P2P_SM_PUSH,
	P2P_FLAG,
	P2P_CE_PULL,
	P2P_SM_PULL,
	P2P_CE_BOTH,
	P2P_SM_BOTH,
	P2P_CHASE,
	P2P_COPY,
	P2P_KINDS,
};

/* Between two cards in one direction. */
struct p2p_cell {
	bool due;             /* a card with itself is not, nor the other half of what has no way */
	enum outcome outcome; /* with why, unless measured */
	const char *why;
	double value; /* median of the samples */
	struct samples samples;
	int reps;
};

struct p2p_card {
	cu_ptr in, out; /* `bytes` each: what others write, what they read */
	cu_ptr small;   /* P2P_SMALL bytes, see p2p_transfer.h */
	cu_event begin, end;
	cu_function spin, copy, copy_both, write, check, ring, chase, pingpong;
	void *host; /* pinned: the flag a queue waits for, and results */
	cu_ptr host_at;
};

struct p2p {
	struct team team;
	struct p2p_card *cards;
	uint64_t bytes; /* of a copy */
	int samples;
	double window_s;
	bool *reach;        /* [from * count + to]: may use its memory */
	const char **stays; /* why not, or NULL */
	bool cut;           /* by the deadline */
};

/* --- p2p_cards.c, p2p_measure.c, p2p_host.c ------------------------------------------ */

/* Opens buffers and kernels of a card; lets card a reach card b's memory: steps
 * of the team, in order. */
void p2p_open_cards(struct p2p *p);
void p2p_open_paths(struct p2p *p);
void p2p_close_cards(struct p2p *p);
/* Fills the cell: samples, their median, or why there is none. */
void p2p_measure(struct p2p *p, enum p2p_kind kind, int from, int to, struct p2p_cell *cell);
/* The same between a card and pinned memory of the socket it hangs on. */
void p2p_host(struct p2p *p, int card, struct p2p_cell *to_card, struct p2p_cell *from_card,
              bool *near);

/* --- p2p_matrix.c ---------------------------------------------------------------------- */

/* Emits the matrix [from * count + to] as one reading of this metric. */
enum status p2p_emit(struct p2p *p, const char *metric, const struct p2p_cell *cells);
/* One that is not for this node at all. */
enum status p2p_emit_none(struct p2p *p, const char *metric, const struct reason *reason);

/* --- p2p_links.c ------------------------------------------------------------------------- */

/* What NVML counts about the links of the cards. */
struct p2p_links;
struct p2p_links *p2p_links_read(struct p2p *p);
/* Whether any card has NVLinks, up or not. */
bool p2p_links_built(const struct p2p *p, const struct p2p_links *links);
/* What changed while the links carried data; and the width of the host's path. */
enum status p2p_links_emit(struct p2p *p, const struct p2p_links *before,
                           const struct p2p_links *after);
enum status p2p_pcie_emit(struct p2p *p);

#endif
