/* Between the files of the step on cards: training_cards.c opens cards, makes room
 * and joins communicators; training_step.c queues steps and takes their times;
 * training_check.c makes gradients whose sum is known. Cards of the node are driven by
 * one thread, in steps of bench/team.h, since any of them may hang. */
#ifndef ASSAY_BENCH_TRAINING_CARDS_H
#define ASSAY_BENCH_TRAINING_CARDS_H

#include "base/clock.h"
#include "collective.h"
#include "training.h"

#define TRAINING_IN_FLIGHT 2 /* steps that are queued at once */

/* Events of a step. */
struct step_events {
	cu_event begin, worked, end;
};

struct card_work {
	cu_stream sums; /* beside dev->stream, of products */
	cu_event whole; /* a bucket is */
	cu_event summed;
	struct step_events step[TRAINING_IN_FLIGHT];
	cu_function fill, triad;
	struct device_buffer in, out, weights, gradients, state;
	struct samples step_s, work_s; /* of this run */
};

struct cards {
	struct collective c; /* its team, communicators and waits */
	struct training_node *node;
	struct probe_ctx waits; /* of c: with a clock for waiting */
	struct clock_source clock;
	struct card_work *work; /* of c.rank */
	enum number_format format;
	struct training_bucket *buckets;
	int n_buckets;
	int first, ranks; /* of all that have joined; ranks 0: none */
	int nodes;
	uint64_t turn;
	bool broken; /* a step failed: cards go with the process */
};

/* --- training_step.c ------------------------------------------------------------------- */

/* A run, in a step of the team. */
struct cards_run {
	struct cards *cards;
	struct training_order order;
	struct training_answer *out;
};
enum status training_run_step(struct team *team, void *arg, struct error *err);
/* Queues the sum of a bucket on all cards, in their second streams. */
enum status training_queue_sum(struct cards *t, const struct training_bucket *b, nccl_type type,
                               size_t per_word, struct error *err);
/* The first streams wait for the second ones. */
enum status training_await_sums(struct cards *t, struct error *err);

/* --- training_check.c ------------------------------------------------------------------ */

/* Fills all gradients, sums them as a step does and counts what is wrong on each
 * card of the node, in a step of the team. */
struct cards_check {
	struct cards *cards;
	struct training_answer *out;
};
enum status training_check_step(struct team *team, void *arg, struct error *err);

#endif
