/* Acceleration engines: which one this environment switches on, what switches it
 * off, and the gain of alternated pairs. A vendor's percentage without a baseline
 * says nothing; the same job with and without does. */
#include "frameworks.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "software.h"
#include "stats/pairs.h"

/* To add one: a row. On if the variable is set and contains the word; there if the
 * path exists. Rows of makers go before the general ones at the end. */
static const struct row {
	const char *name, *variable, *word, *path;
} rows[] = {
	{"TCCL", "NCCL_NET_PLUGIN", "tccl", "/opt/tencent/tccl"},
	{"TCCL", "LD_LIBRARY_PATH", "tccl", NULL},
	{"AIACC", "LD_PRELOAD", "aiacc", NULL},
	{"AIACC", "LD_LIBRARY_PATH", "aiacc", NULL},
	{"DeepNCCL", "LD_PRELOAD", "deepnccl", NULL},
	{"DeepNCCL", "LD_LIBRARY_PATH", "deepnccl", NULL},
	{"ACCL", "LD_LIBRARY_PATH", "/accl", NULL},
	{"BCCL", "LD_LIBRARY_PATH", "bccl", "/usr/local/bccl"},
	{"veCCL", "LD_PRELOAD", "veccl", NULL},
	{"SHARP", "NCCL_COLLNET_ENABLE", "1", "/opt/mellanox/sharp"},
	{"aws-ofi-nccl", "LD_LIBRARY_PATH", "ofi-nccl", "/opt/amazon/ofi-nccl"},
	{"gIB", "LD_LIBRARY_PATH", "/gib/", "/usr/local/gib"},
	{"AIAK", "LD_LIBRARY_PATH", "aiak", "/usr/local/aiak"},
	{"fastsocket", "LD_LIBRARY_PATH", "fast-socket", NULL},
	{"MRC", "NCCL_NET_PLUGIN", "mrc", "/opt/mrc"},
	{"NCCL net plugin", "NCCL_NET_PLUGIN", "", NULL},
	{"NCCL tuner plugin", "NCCL_TUNER_PLUGIN", "", NULL},
};

static const char plugins_off[] = "{\"NCCL_NET_PLUGIN\":\"none\",\"NCCL_TUNER_PLUGIN\":\"none\"}";

static bool switched_on(const struct row *r, const char *value)
{
	return value && *value && strcmp(value, "none") != 0 && strcasestr(value, r->word);
}

/* A list of paths without those that contain the word. */
static void without(struct str *out, const char *list, const char *word)
{
	while (*list) {
		size_t len = strcspn(list, ": ");
		struct str entry = {0};

		str_addn(&entry, list, len);
		if (len && !strcasestr(entry.data, word))
			str_addf(out, "%s%s", out->len ? ":" : "", entry.data);
		str_release(&entry);
		list += len + (list[len] != '\0');
	}
}

/* The variables that leave NCCL as NVIDIA ships it: no plugins, and of a list of
 * libraries only what is not the engine's. */
static const char *variables_off(struct arena *arena, const struct row *r, const char *value)
{
	struct str text = {0}, kept = {0};
	struct json_out j = json_writer(&text, 0);
	const char *off;

	json_object_begin(&j, NULL);
	if (str_starts(r->variable, "LD_")) {
		without(&kept, value, r->word);
		json_put_string(&j, r->variable, kept.len ? kept.data : NULL);
	} else if (strcmp(r->variable, "NCCL_COLLNET_ENABLE") == 0) {
		json_put_string(&j, r->variable, "0");
	}
	json_put_string(&j, "NCCL_NET_PLUGIN", "none");
	json_put_string(&j, "NCCL_TUNER_PLUGIN", "none");
	json_object_end(&j);
	off = arena_str(arena, str_text(&text));
	str_release(&text);
	str_release(&kept);
	return off;
}

/* NCCL takes a plug-in of this name wherever the linker finds one, unless a variable
 * names another or none. */
static bool find_plain(struct fw_engine *engine, struct arena *arena, const char *root,
                       const char *(*variable)(const char *name))
{
	static const char *const kinds[][3] = {
		{"NCCL net plugin", "libnccl-net.so", "NCCL_NET_PLUGIN"},
		{"NCCL tuner plugin", "libnccl-tuner.so", "NCCL_TUNER_PLUGIN"}};
	const char *path = variable("LD_LIBRARY_PATH");
	struct sw_scan s = {.arena = arena,
	                    .root = root,
	                    .environment =
	                            arena_strf(arena, "LD_LIBRARY_PATH=%s%c", path ? path : "", 0)};

	for (int i = 0; i < 2; i++)
		for (const char *const *dir = sw_library_dirs(&s); *dir; dir++) {
			const char *file = arena_strf(arena, "%s/%s", *dir, kinds[i][1]);

			if (variable(kinds[i][2]) || !sw_there(&s, file))
				continue;
			*engine = (struct fw_engine){
				.name = kinds[i][0], .found = file, .on = true, .off = plugins_off};
			return true;
		}
	return false;
}

bool fw_engine_find(struct fw_engine *engine, struct arena *arena, const char *root,
                    const char *(*variable)(const char *name))
{
	*engine = (struct fw_engine){0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		const char *value = variable(r->variable);

		if (switched_on(r, value)) {
			*engine = (struct fw_engine){
				.name = r->name,
				.found = arena_strf(arena, "%s=%s", r->variable, value),
				.on = true,
				.off = variables_off(arena, r, value)};
			return true;
		}
		if (!engine->name && r->path && access(tmpf("%s%s", root, r->path), F_OK) == 0)
			*engine = (struct fw_engine){.name = r->name, .found = r->path};
	}
	return find_plain(engine, arena, root, variable) || engine->name;
}

struct fw_line fw_engine_fit(const struct fw_engine *engine, bool there, bool cuda, int pairs)
{
	if (!there)
		return fw_line_none(OUTCOME_UNSUPPORTED, MSG_fw_no_engine, NULL, NULL);
	if (!engine->on)
		return fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_engine_idle, engine->name,
		                    engine->found);
	if (!cuda)
		return fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_engine_cards, engine->name, NULL);
	if (pairs < FW_PAIRS_LEAST)
		return fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_left_out, "pairs", NULL);
	return fw_line_none(OUTCOME_MEASURED, 0, NULL, NULL);
}

/* --- pairs --------------------------------------------------------------------------- */

/* One after another in turn, and which goes first changes: what drifts meets both. */
bool fw_pairs_take(struct fw_pairs *p, int wanted,
                   void (*run)(void *arg, bool off, struct fw_line *line), void *arg,
                   struct fw_line *bad)
{
	*p = (struct fw_pairs){0};
	for (int i = 0; i < 2 * wanted && p->n < FW_PAIRS_MOST; i++) {
		bool off = i % 4 == 1 || i % 4 == 2;
		enum fw_way way = off ? FW_WITHOUT : FW_WITH;
		struct fw_line line;

		run(arg, off, &line);
		if (line.outcome != OUTCOME_MEASURED) {
			*bad = line;
			return false;
		}
		p->step[way][i / 2] = line.step_ms;
		for (int k = 0; k < FW_SUMS; k++)
			p->sums[k][way][i / 2] = line.sums_ms[k];
		p->n = (i + 1) / 2;
	}
	return true;
}

static struct reading gain_reading(const struct fw_gain_of *of, int metric)
{
	struct reading r = reading_init();

	r.metric = of->metrics[metric];
	r.subject = of->subject;
	r.params = of->params;
	return r;
}

static void set_gain(struct reading *r, const struct estimate *gain, int n)
{
	r->value_kind = VALUE_NUMBER;
	r->value = gain->value;
	r->stats[STAT_N] = n;
	r->stats[STAT_CI_LO] = gain->lo;
	r->stats[STAT_CI_HI] = gain->hi;
}

enum status fw_gain_say(struct probe_ctx *ctx, const struct fw_gain_of *of,
                        const struct fw_pairs *p, const struct fw_line *line)
{
	struct estimate gain;
	enum status st = ST_OK;

	for (int k = -1; k < FW_SUMS && st == ST_OK; k++) {
		struct reading r = gain_reading(of, k >= 0);
		const double *without = k < 0 ? p->step[FW_WITHOUT] : p->sums[k][FW_WITHOUT];
		const double *with = k < 0 ? p->step[FW_WITH] : p->sums[k][FW_WITH];

		if (line->outcome == OUTCOME_MEASURED &&
		    fw_engine_gain(without, with, (size_t)p->n, &gain) == ST_OK) {
			set_gain(&r, &gain, p->n);
			if (k >= 0)
				r.point = arena_strf(ctx->arena, "bytes=%lld",
				                     (long long)fw_sums_bytes[k]);
		} else if (k <= 0) {
			/* Once for all sizes. */
			r.outcome = line->outcome == OUTCOME_MEASURED ? OUTCOME_NOT_MEASURED
			                                              : line->outcome;
			if (line->outcome == OUTCOME_MEASURED)
				reason_set(ctx, &r.reason, MSG_fw_left_out, "pairs");
			else
				reason_set_list(ctx, &r.reason, line->reason, line->args);
		} else {
			continue;
		}
		st = ctx->emit(ctx, &r);
	}
	return st;
}

enum status fw_engine_gain(const double *without, const double *with, size_t n,
                           struct estimate *gain)
{
	return paired_ratio(without, with, n, 0.05, gain);
}
