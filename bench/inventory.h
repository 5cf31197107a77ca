/* The parts of inventory: devices and mounts, each one reading with the list
 * in its params; and the little JSON they share. */
#ifndef ASSAY_BENCH_INVENTORY_H
#define ASSAY_BENCH_INVENTORY_H

#include "assay/probe.h"
#include "base/arena.h"
#include "base/json.h"

enum status inventory_mounts(struct probe_ctx *ctx);
enum status inventory_nics(struct probe_ctx *ctx);
enum status inventory_rdma(struct probe_ctx *ctx);
/* rdma_node.c: ports that are up, the way to a card's memory. */
enum status inventory_rdma_ports(struct probe_ctx *ctx);
enum status inventory_nvidia(struct probe_ctx *ctx);
/* inventory_cards.c: all that needs a driver, and its version. */
enum status inventory_cards(struct probe_ctx *ctx);

/* A JSON object being written: begin, put members to &t.j, end. */
struct json_text {
	struct str *text;
	struct json_out j;
};

struct json_text json_text_begin(void);
/* Closes the object, moves the text to the arena and frees the buffer. */
const char *json_text_end(struct json_text *t, struct arena *arena);

/* Negative: unknown, written as null. */
void json_put_known(struct json_out *j, const char *key, int64_t value);
/* The same; HOST_UNLIMITED is written as "unlimited". */
void json_put_limit(struct json_out *j, const char *key, int64_t value);

#endif
