/* All cards of a node in one process, for what is measured between them. One bad
 * card must not take the rest along, so every step that touches cards runs in a
 * thread of its own with a limit of time: a card that fails or does not answer is
 * out from then on, with the reason, and the others go on without it.
 *
 * Steps run one after another; whoever calls team_run waits. A thread that hangs
 * in a driver is left behind and may use what its step was given until the process
 * ends: that belongs to the arena. */
#ifndef ASSAY_BENCH_TEAM_H
#define ASSAY_BENCH_TEAM_H

#include "cards.h"
#include "hw/device_cuda.h"
#include "hw/nvml.h"

struct team_card {
	struct card_unit unit;   /* its card holds when `known` */
	struct device_cuda *dev; /* NULL: not opened */
	const char *id;          /* UUID; else cuda-N */
	nvml_device nv;          /* holds with `in_nvml` */
	bool known, in_nvml;
	bool out; /* failed: not to be used */
	enum outcome outcome;
	const char *why; /* when out: in words */
};

struct team {
	struct probe_ctx *ctx;
	struct cuda cuda;
	struct nvml nvml;
	bool has_nvml;
	const char *no_nvml; /* why not */
	struct gpu_search where;
	bool products; /* cards are opened with cuBLAS */
	double memory_scale;
	int64_t limit_ns; /* of a step, by the system's clock */
	struct team_card *cards;
	int count;
	_Atomic int at; /* card that the running step uses: the one that hangs when it does */
};

/* Loads the libraries and opens every card it can; the others are out. An error
 * is about all: no driver, no cards. */
enum status team_open(struct team *team, struct probe_ctx *ctx, double limit_s, struct error *err);
/* With what multiplies on each card. */
enum status team_open_products(struct team *team, struct probe_ctx *ctx, double limit_s,
                               struct error *err);
void team_close(struct team *team);

/* Releases err before it is used. A step returns ST_OK or what is in err. */
typedef enum status team_step(struct team *team, void *arg, struct error *err);
/* Runs the step, which is about cards a and b (b negative: one card). After a
 * failure the cards are tried: who does not work any more is out. */
enum status team_run(struct team *team, team_step *step, void *arg, int a, int b,
                     struct error *err);
/* In a step: makes the card's context the thread's. */
enum status team_use(struct team *team, int card, struct error *err);

/* Not out. */
bool team_has(const struct team *team, int card);
int team_able(const struct team *team);

/* A reading about a card; and what is owed for one that is out. */
struct reading team_reading(const struct team *team, int card, const char *metric);
void team_refuse(const struct team *team, int card, struct reading *r);

#endif
