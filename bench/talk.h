/* Orders and answers between the processes of a probe that runs on several nodes: one
 * JSON object a message. What comes is from another machine: each probe believes nothing
 * in it that cannot be. */
#ifndef ASSAY_BENCH_TALK_H
#define ASSAY_BENCH_TALK_H

#include "assay/probe.h"
#include "base/json.h"

/* Ends the object, sends it and releases its text. */
enum status talk_send(struct probe_ctx *ctx, int to, struct json_out *j);
/* The next message of `from`, for `seconds`, at least a glance; ST_PARSE: no JSON. The
 * document is the caller's on ST_OK. */
enum status talk_document(struct probe_ctx *ctx, int from, double seconds, struct json_doc *doc);
/* What a message says into `out`, texts into the arena of the probe; false: it says what
 * cannot be. */
typedef bool talk_reader(struct probe_ctx *ctx, const cJSON *root, void *out);
/* The same message, read; ST_PARSE: no JSON, or the reader refuses it. */
enum status talk_receive(struct probe_ctx *ctx, int from, double seconds, talk_reader *read,
                         void *out);
/* A whole number from least to most, else -1. */
int talk_whole(const cJSON *o, const char *key, int least, int most);
/* The item of a list: a whole number from 0 to most, at most TALK_COUNT, else -1. */
#define TALK_COUNT 9007199254740992.0
int64_t talk_count(const cJSON *item, double most);
/* A text of the message, kept in the arena, or NULL. */
const char *talk_text(struct arena *arena, const cJSON *o, const char *key);

#endif
