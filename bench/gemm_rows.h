/* The parts of gemm_rows: a node's products and what it is held to, what the
 * children say to each other, and the check of a row by who named it.
 *
 * The first node's child asks, all nodes answer, itself among them: matrices from a
 * seed that nobody knew before, one product a card, a digest of all its rows sent
 * (the pledge), then one row named and sent with the proof that it is of that product. */
#ifndef ASSAY_BENCH_GEMM_ROWS_H
#define ASSAY_BENCH_GEMM_ROWS_H

#include "assay/device.h"
#include "assay/probe.h"
#include "base/arena.h"
#include "base/sha256.h"
#include "freivalds.h"

#define ROWS_CARDS_MOST 64 /* of a node: they travel in one text */
#define ROWS_DEPTH_MOST 12 /* of a tree: orders up to 4096 */
#define ROWS_WHY_MOST   "%.300s"

/* The product a card is asked for: C = A B, all of this order. */
struct rows_shape {
	enum number_format format;
	int order;
};

struct rows_shape rows_shape(struct probe_ctx *ctx, bool gpu);
size_t rows_bytes(const struct rows_shape *shape); /* of a row, A, B and C alike */

/* Elements of a matrix, each by its index alone: zero-mean, below 1. */
enum rows_matrix { ROWS_A, ROWS_B };
void rows_fill(enum number_format format, uint64_t seed, enum rows_matrix which, size_t first,
               void *to, size_t n);

/* --- gemm_rows_tree.c: digests over digests over rows (R. C. Merkle, CRYPTO 1987) -------- */

/* The root holds whoever gave it to every row and its place; a row is proven by
 * the digests beside its way up. */
struct rows_tree {
	int depth;
	char (*digest)[SHA256_HEX]; /* 1: the root; 2 i and 2 i + 1 are below i */
};

void rows_tree_make(struct rows_tree *tree, struct arena *arena, const void *rows, int count,
                    size_t row_bytes);
/* depth digests, from the row's up. They are the tree's. */
void rows_tree_proof(const struct rows_tree *tree, int row, const char **proof);
bool rows_tree_holds(const char *root, int row, const void *data, size_t bytes,
                     const char *const *proof, int depth);
int rows_tree_depth(int count);
/* 64 hex digits. */
bool rows_digest_valid(const char *text);

/* --- what is said ------------------------------------------------------------------------ */

struct rows_card {
	const char *id;  /* UUID; cpu-socket-N; cuda-N or "*" where it cannot be known */
	const char *pci; /* NULL: none */
	int index;
	bool gpu;
	enum outcome outcome; /* of the product; MEASURED, else why there is none: */
	const char *why;
	const char *root; /* of the tree */
	const char *device, *library;
};

struct rows_pledge {
	bool driver; /* of GPUs; without, sockets are the cards */
	bool simulated;
	struct rows_card *cards;
	int n_cards;
};

enum rows_step { ROWS_MULTIPLY, ROWS_SHOW, ROWS_OVER, ROWS_STEPS };

struct rows_order {
	enum rows_step step;
	uint64_t seed;   /* MULTIPLY */
	const int *rows; /* SHOW: one a card of the pledge, -1: none */
	int n_rows;
};

struct rows_answer {
	int card;
	const void *row;
	size_t bytes;
	const char *proof[ROWS_DEPTH_MOST];
	int depth;
};

/* gemm_rows_talk.c. Received is ST_PARSE: something, but none of these. */
enum status rows_send_order(struct probe_ctx *ctx, int to, const struct rows_order *order);
enum status rows_recv_order(struct probe_ctx *ctx, double seconds, struct rows_order *order);
enum status rows_send_pledge(struct probe_ctx *ctx, const struct rows_pledge *pledge);
enum status rows_recv_pledge(struct probe_ctx *ctx, int from, double seconds,
                             struct rows_pledge *pledge);
enum status rows_send_answer(struct probe_ctx *ctx, const struct rows_answer *answer);
enum status rows_recv_answer(struct probe_ctx *ctx, int from, double seconds,
                             struct rows_answer *answer);

/* --- gemm_rows_node.c: one node's part --------------------------------------------------- */

struct rows_product {
	void *c; /* NULL: none */
	struct rows_shape shape;
	struct rows_tree tree;
};

struct rows_node {
	struct probe_ctx *ctx;
	const struct clock_source *clock; /* of the machine, also on stand-ins */
	struct rows_pledge pledge;
	struct rows_product products[ROWS_CARDS_MOST]; /* of the cards of the pledge */
	struct arena *arenas[ROWS_CARDS_MOST];         /* of GPUs that came back */
};

/* Multiplies on each card of the node within so many seconds. A card that hangs
 * leaves its thread behind, with memory of its own. */
void rows_node_multiply(struct rows_node *node, uint64_t seed, double seconds);
/* False: there is no such product or row. */
bool rows_node_answer(const struct rows_node *node, int card, int row, struct rows_answer *out);
void rows_node_release(struct rows_node *node);
/* Seconds that this is planned to take. */
double rows_node_seconds(struct probe_ctx *ctx);
/* GPUs of the node, or its sockets, as the plan knows them. */
int rows_node_cards(struct probe_ctx *ctx);

/* --- gemm_rows_exam.c: the check ---------------------------------------------------------- */

/* A and B as read by the check: made anew, row by row. */
struct rows_source {
	struct device device;
	enum number_format format;
	uint64_t seed;
	struct device_buffer a, b, c;
	const void *row; /* in the place of C: the one that was sent */
};

/* Random rows of one product, as many as cards are asked, and what they must sum
 * up to for secret signs. */
struct rows_exam {
	struct rows_shape shape;
	struct rows_source source;
	struct device_gemm job;
	struct freivalds check;
	int *turn; /* which of the rows comes next: a random order */
	int given;
};

/* Nobody but the examiner knows `secret`. Release even after a failure. */
enum status rows_exam_open(struct rows_exam *exam, struct arena *arena,
                           const struct rows_shape *shape, int cards, uint64_t seed,
                           uint64_t secret, struct error *err);
/* A place among the rows of the check: exam->check.rows[place] is the row to name. */
int rows_exam_draw(struct rows_exam *exam);
/* Counts blocks of columns that are wrong in the row of this place. */
enum status rows_exam_check(struct rows_exam *exam, int place, const void *row,
                            struct freivalds_result *result, struct error *err);
void rows_exam_release(struct rows_exam *exam);

#endif
