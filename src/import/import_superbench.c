/* SuperBench's results-summary.jsonl: a line a node, a member a metric, the rank behind a
 * colon: "gemm-flops/fp16_tc_flops:3": 268000. Names of its own benchmarks that mean the
 * same as a metric of ours are taken, all others left by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

static const struct {
	const char *key, *metric;
	double factor;
} names[] = {
	{"gemm-flops/fp64_flops", "gemm_fp64_tflops", 1e-3},
	{"gemm-flops/fp32_flops", "gemm_fp32_tflops", 1e-3},
	{"gemm-flops/tf32_tc_flops", "gemm_tf32_tflops", 1e-3},
	{"gemm-flops/fp16_tc_flops", "gemm_fp16_tflops", 1e-3},
	{"gemm-flops/bf16_tc_flops", "gemm_bf16_tflops", 1e-3},
	{"mem-bw/h2d_bw", "pcie_h2d_gbs", 1},
	{"mem-bw/d2h_bw", "pcie_d2h_gbs", 1},
};

/* "nccl-bw:nvlink/allreduce_8589934592_busbw:0": of all sizes the largest counts. */
struct allreduce {
	double size, busbw;
};

static bool take_allreduce(const cJSON *item, struct allreduce *best)
{
	const char *p = strstr(item->string, "/allreduce_");
	char *end;
	double size;

	if (!str_starts(item->string, "nccl-bw") || !p)
		return false;
	size = strtod(p + strlen("/allreduce_"), &end);
	if (!str_starts(end, "_busbw"))
		return str_starts(end, "_algbw") || str_starts(end, "_time");
	if (size > best->size)
		*best = (struct allreduce){size, item->valuedouble};
	return true;
}

static enum status add_allreduce(struct import *in, const char *node, const struct allreduce *best,
                                 struct error *err)
{
	struct reading *r;

	if (best->size <= 0)
		return ST_OK;
	r = import_add(in, "collective_allreduce_busbw_gbs", err);
	if (!r)
		return ST_INTERNAL;
	r->node = r->subject.id = node;
	r->params = arena_strf(in->arena, "{\"bytes\":%.0f}", best->size);
	import_value(r, best->busbw);
	return ST_OK;
}

static enum status take_member(struct import *in, const char *node, const cJSON *item,
                               struct allreduce *best, struct error *err)
{
	const char *colon = strrchr(item->string, ':');
	size_t len = colon ? (size_t)(colon - item->string) : strlen(item->string);

	if (!cJSON_IsNumber(item) || take_allreduce(item, best))
		return ST_OK;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct reading *r;

		if (strlen(names[i].key) != len || strncmp(names[i].key, item->string, len) != 0)
			continue;
		r = import_add(in, names[i].metric, err);
		if (!r)
			return ST_INTERNAL;
		import_card(in, r, node, NULL, NULL, colon ? atoi(colon + 1) : 0);
		import_value(r, item->valuedouble * names[i].factor);
		return ST_OK;
	}
	import_left(in, tmpf("%.*s", (int)len, item->string));
	return ST_OK;
}

enum status import_superbench(struct import *in, const char *text, size_t len, struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	enum status st = ST_OK;
	char *line;

	while (st == ST_OK && (line = import_line(in, &lines))) {
		struct json_doc doc = {0};
		struct allreduce best = {0};
		const char *node;
		const cJSON *item;

		if (!*line)
			continue;
		st = json_parse(&doc, tmpf("%s:%d", in->name, lines.number), line, strlen(line),
		                JSON_DUPLICATES, err);
		if (st != ST_OK)
			break;
		st = import_node(in, json_string(doc.root, "node", NULL), &node, err);
		cJSON_ArrayForEach(item, doc.root)
		{
			if (st == ST_OK)
				st = take_member(in, node, item, &best, err);
		}
		if (st == ST_OK)
			st = add_allreduce(in, node, &best, err);
		json_release(&doc);
	}
	return st;
}
