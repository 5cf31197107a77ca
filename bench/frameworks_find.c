/* Which interpreters there are, and what each has. Only what is on the PATH of the
 * run, or named: an interpreter that nobody would start proves nothing. */
#include "frameworks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/json.h"
#include "base/launch.h"
#include "base/msg.h"
#include "base/proc.h"
#include "hw/host.h"

#define OUTPUT_LIMIT ((size_t)1 << 20)

const char *const framework_names[FRAMEWORKS] = {"pytorch",  "tensorflow", "deepspeed",
                                                 "megatron", "horovod",    "mxnet"};
const char *const framework_titles[FRAMEWORKS] = {"PyTorch",       "TensorFlow", "DeepSpeed",
                                                  "Megatron-core", "Horovod",    "MXNet"};

/* --- where they are --------------------------------------------------------------- */

static bool have(const struct fw_pythons *p, const char *path)
{
	char mine[PATH_MAX], other[PATH_MAX];

	for (int i = 0; i < p->n; i++)
		if (realpath(p->list[i].path, other) && realpath(path, mine) &&
		    strcmp(mine, other) == 0)
			return true;
	return false;
}

static void add(struct fw_pythons *p, struct arena *arena, const char *path)
{
	if (p->n < MOST_PYTHONS && !have(p, path))
		p->list[p->n++] = (struct fw_python){.path = arena_str(arena, path)};
}

static void add_from_path(struct fw_pythons *p, struct arena *arena)
{
	const char *path = getenv("PATH");
	struct str file = {0};

	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t len = strcspn(path, ":");

		str_clear(&file);
		str_addn(&file, len ? path : ".", len ? len : 1);
		str_add(&file, "/python3");
		if (access(file.data, X_OK) == 0)
			add(p, arena, file.data);
		path += len + (path[len] == ':');
	}
	str_release(&file);
}

static void add_named(struct fw_pythons *p, struct arena *arena, const char *names)
{
	while (*names && p->n < MOST_PYTHONS) {
		size_t len = strcspn(names, ",");
		const char *name = arena_strn(arena, names, len);
		char *file = launch_find(name);

		if (*name)
			add(p, arena, file ? file : name);
		free(file);
		names += len + (names[len] == ',');
	}
}

/* --- what they say ---------------------------------------------------------------- */

static void refuse(struct fw_python *py, enum msg reason, const char *a, const char *b)
{
	py->reason = reason;
	py->args[0] = py->path;
	py->args[1] = a;
	py->args[2] = b;
}

/* The last line that is a JSON object: a sitecustomize may talk before it. */
static bool last_object(struct json_doc *doc, const char *text, size_t len)
{
	while (len) {
		size_t begin;

		while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
			len--;
		for (begin = len; begin && text[begin - 1] != '\n';)
			begin--;
		if (begin < len && text[begin] == '{' &&
		    json_parse(doc, "python", text + begin, len - begin, JSON_STRICT, NULL) ==
		            ST_OK)
			return true;
		len = begin;
	}
	return false;
}

static void take(struct fw_python *py, struct arena *arena, const cJSON *root)
{
	const cJSON *found = json_get(root, "found");

	py->version = arena_str(arena, json_string(root, "python", NULL));
	for (int i = 0; i < FRAMEWORKS; i++) {
		const cJSON *f = found ? json_get(found, framework_names[i]) : NULL;

		if (f)
			py->found[i] = (struct fw_found){
				arena_str(arena, json_string(f, "version", "unknown")),
				arena_str(arena, json_string(f, "path", "?"))};
	}
}

static const char *first_words(struct arena *arena, const struct str *s)
{
	const char *text = str_text(s);
	struct str calm = {0};
	const char *kept;

	text += strspn(text, " \t\r\n");
	str_add_printable(&calm, text,
	                  strnlen(text, strcspn(text, "\n") < 200 ? strcspn(text, "\n") : 200));
	kept = arena_str(arena, str_text(&calm));
	str_release(&calm);
	return kept;
}

static void ask(struct fw_python *py, struct probe_ctx *ctx, const char *source, double seconds)
{
	const char *const argv[] = {py->path, "-B", "-c", source, NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = seconds, .max_out = OUTPUT_LIMIT};
	struct proc_end end = {.exit_code = -1};
	struct str out = {0};
	struct error err = {0};
	struct json_doc doc;
	enum status st = spawn_run(&spec, &out, &end, &err);

	if (st != ST_OK) {
		refuse(py, MSG_fw_python_bad, arena_str(ctx->arena, str_text(&err.text)), NULL);
	} else if (end.timed_out) {
		refuse(py, MSG_fw_python_hangs, arena_strf(ctx->arena, "%.3g", seconds), NULL);
	} else if (last_object(&doc, str_text(&out), out.len)) {
		take(py, ctx->arena, doc.root);
		json_release(&doc);
	}
	if (!py->version && !py->reason)
		refuse(py, MSG_fw_python_rubbish,
		       end.signal ? arena_strf(ctx->arena, "signal %d", end.signal)
		                  : arena_strf(ctx->arena, "exit %d", end.exit_code),
		       first_words(ctx->arena, end.err.len ? &end.err : &out));
	str_release(&out);
	str_release(&end.err);
	error_release(&err);
}

void fw_pythons_find(struct fw_pythons *p, struct probe_ctx *ctx, const char *wanted,
                     double seconds)
{
	struct str source = {0}, where = {0}, paths = {0};

	*p = (struct fw_pythons){.named = strcmp(wanted, "auto") != 0};
	if (p->named)
		add_named(p, ctx->arena, wanted);
	else
		add_from_path(p, ctx->arena);
	config_read(&source, &where, NULL, "scripts/frameworks/find.py", NULL);
	for (int i = 0; i < p->n; i++) {
		ask(&p->list[i], ctx, str_text(&source), seconds);
		str_addf(&paths, "%s%s", i ? ", " : "", p->list[i].path);
	}
	p->paths = arena_str(ctx->arena, str_text(&paths));
	str_release(&source);
	str_release(&where);
	str_release(&paths);
}

struct fw_line fw_pythons_lack(const struct fw_pythons *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->list[i].reason)
			return (struct fw_line){.outcome = OUTCOME_NOT_MEASURED,
			                        .reason = p->list[i].reason,
			                        .args = {p->list[i].args[0], p->list[i].args[1],
			                                 p->list[i].args[2]}};
	if (!p->n)
		return fw_line_none(OUTCOME_NOT_MEASURED, MSG_fw_no_python, NULL, NULL);
	return fw_line_none(p->named ? OUTCOME_UNSUPPORTED : OUTCOME_NOT_MEASURED,
	                    p->named ? MSG_fw_absent_named : MSG_fw_absent, p->paths, NULL);
}

bool fw_has_cards(struct probe_ctx *ctx)
{
	const char *device = ctx->param_word(ctx, "device");

	if (strcmp(device, "auto") != 0)
		return strcmp(device, "cuda") == 0;
	return host_nvidia_read(ctx->arena, ctx->sys_root).n_cards > 0;
}

struct support fw_supported(struct probe_ctx *ctx)
{
	struct support s = {.yes = !*ctx->sys_root && !ctx->lib_dir};

	/* What runs here would say nothing of the machine that is played or recorded. */
	if (!s.yes)
		reason_set(ctx, &s.reason, MSG_fw_other_machine);
	return s;
}
