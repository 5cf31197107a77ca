/* Acceleration engines: which one this environment switches on, what switches it
 * off, and the gain of alternated pairs. A vendor's percentage without a baseline
 * says nothing; the same job with and without does. */
#include "frameworks.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
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
	{"NCCL net plugin", "NCCL_NET_PLUGIN", "", NULL},
	{"NCCL tuner plugin", "NCCL_TUNER_PLUGIN", "", NULL},
};

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
	return engine->name != NULL;
}

enum status fw_engine_gain(const double *without, const double *with, size_t n,
                           struct estimate *gain)
{
	return paired_ratio(without, with, n, 0.05, gain);
}
