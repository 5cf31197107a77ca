/* software: what is installed on this node, for whom it was built, and whether it fits
 * together on paper. It imports, loads and starts nothing of the image, runs before
 * everything else, and records a fingerprint by which nodes, images and days compare.
 *
 * Two of the four levels end here: present (metadata found) and compatible (driver,
 * CUDA build, cards and NCCL fit). That something runs, and fast, is for jobs to show. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "software.h"

#define LIST_MOST 40 /* of each kind in the params of a reading */

/* --- scanning ------------------------------------------------------------------------------- */

/* Packages that scripts/run installed on this machine, "name version" a line; they are
 * Assay's doing and not the provider's. */
static void read_own(struct sw_scan *s, struct str *out)
{
	const char *record = s->ctx->param_word(s->ctx, "installed_record");
	char exe[4096];
	ssize_t n;
	char *slash;

	if (*record) {
		file_read(out, record, 1 << 20, NULL);
		return;
	}
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	*slash = '\0';
	file_read(out, tmpf("%s/installed-packages", exe), 1 << 20, NULL);
}

static void leave_out_own(struct sw_scan *s)
{
	struct str own = {0};
	int kept = 0;

	read_own(s, &own);
	for (int i = 0; i < s->n_packages; i++) {
		const struct sw_package *p = &s->packages[i];
		const char *line = tmpf("\n%s %s\n", p->name, p->version ? p->version : "?");
		const char *at = own.len && p->source == SW_DEB ? strstr(own.data, line + 1) : NULL;

		if (at && (at == own.data || at[-1] == '\n'))
			sw_add_text(s, &s->of_assay,
			            tmpf("%s %s", p->name, p->version ? p->version : "?"));
		else
			s->packages[kept++] = *p;
	}
	s->n_packages = kept;
	str_release(&own);
}

static void read_environment(struct sw_scan *s)
{
	struct str text = {0};

	if (sw_read(s, &text, "/proc/self/environ", 1 << 20)) {
		str_addn(&text, "\0\0", 2);
		s->environment = arena_strn(s->arena, text.data, text.len);
	}
	str_release(&text);
}

/* --- readings ---------------------------------------------------------------------------------- */

static const char *finish(struct sw_scan *s, struct str *text, struct json_out *j)
{
	const char *kept;

	json_object_end(j);
	kept = arena_str(s->arena, text->data);
	str_release(text);
	return kept;
}

/* NULL text: nothing found; after a scan that did not end that means nothing. */
static enum status emit_text(struct sw_scan *s, const char *metric, const char *text,
                             const char *params, const char *what)
{
	struct reading r = sw_reading(s->ctx, metric);

	r.params = params;
	r.value_kind = text ? VALUE_TEXT : VALUE_NONE;
	r.text = text;
	if (!text && s->cut) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_sw_cut, tmpf("%d", s->n_packages));
	} else if (!text && s->unreadable.count) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_sw_unreadable, what, s->unreadable.item[0]);
	} else if (!text) {
		r.outcome = OUTCOME_UNSUPPORTED;
		reason_set(s->ctx, &r.reason, MSG_sw_none, what, tmpf("%d", s->n_places));
	}
	return s->ctx->emit(s->ctx, &r);
}

static int count_of(const struct sw_scan *s, enum sw_source source)
{
	int n = 0;

	for (int i = 0; i < s->n_packages; i++)
		n += s->packages[i].source == source;
	return n;
}

static enum status emit_packages(struct sw_scan *s)
{
	struct reading r = sw_reading(s->ctx, "sw_packages");
	struct sw_text_list places = {0}, broken = {0};
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	for (int i = 0; i < s->n_places; i++)
		sw_add_text(s, &places, s->places[i].path);
	for (int i = 0; i < s->n_packages; i++)
		if (s->packages[i].fault)
			sw_add_text(s, &broken,
			            tmpf("%s in %s: %s", s->packages[i].name, s->packages[i].dir,
			                 s->packages[i].fault));
	json_object_begin(&j, NULL);
	json_put_int(&j, "wheels", count_of(s, SW_WHEEL) + count_of(s, SW_EGG));
	json_put_int(&j, "conda", count_of(s, SW_CONDA));
	json_put_int(&j, "deb", count_of(s, SW_DEB));
	json_put_int(&j, "rpm", count_of(s, SW_RPM));
	sw_put_list(&j, "interpreters", &s->interpreters, LIST_MOST);
	sw_put_list(&j, "places", &places, LIST_MOST);
	sw_put_list(&j, "broken", &broken, LIST_MOST);
	sw_put_list(&j, "twice", &s->twice, LIST_MOST);
	sw_put_list(&j, "unreadable", &s->unreadable, LIST_MOST);
	sw_put_list(&j, "of_assay", &s->of_assay, LIST_MOST);
	r.params = finish(s, &text, &j);
	if (s->cut) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_sw_cut, tmpf("%d", s->n_packages));
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = s->n_packages;
	}
	return s->ctx->emit(s->ctx, &r);
}

static void put_copy(struct json_out *j, const struct sw_copy *c)
{
	json_object_begin(j, NULL);
	json_put_string(j, "version", c->version);
	json_put_string(j, "in", c->dir);
	json_put_string(j, "cuda", c->cuda);
	if (c->other)
		json_put_string(j, "rocm", c->other);
	json_put_string(j, "nccl", c->nccl);
	json_put_string(j, "nccl_from", c->nccl_from);
	if (c->nccl_wanted)
		json_put_string(j, "nccl_wanted", c->nccl_wanted);
	if (c->installer)
		json_put_string(j, "installer", c->installer);
	if (c->fault)
		json_put_string(j, "fault", c->fault);
	json_object_end(j);
}

static const char *copy_words(struct sw_scan *s, const struct sw_framework *f)
{
	const struct sw_copy *c = &f->copies[0];

	return arena_strf(s->arena, "%s, CUDA %s%s%s: %s", c->version ? c->version : "?",
	                  c->cuda ? c->cuda : "?", c->nccl ? ", NCCL " : "", c->nccl ? c->nccl : "",
	                  f->compatible ? "compatible" : "present");
}

static enum status emit_framework(struct sw_scan *s, const struct sw_framework *f)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *params;

	if (!f->n_copies)
		return emit_text(s, f->metric, NULL, NULL, f->title);
	json_object_begin(&j, NULL);
	json_put_string(&j, "level", f->compatible ? "compatible" : "present");
	json_put_string(&j, "against", f->unfit);
	json_array_begin(&j, "copies");
	for (int i = 0; i < f->n_copies && i < LIST_MOST; i++)
		put_copy(&j, &f->copies[i]);
	json_array_end(&j);
	params = finish(s, &text, &j);
	return emit_text(s, f->metric, copy_words(s, f), params, f->title);
}

/* What PyTorch uses; without one the system's. */
static enum status emit_nccl(struct sw_scan *s, const struct sw_system *sys,
                             const struct sw_framework *frameworks)
{
	const struct sw_item *item = sw_item_find(sys, "nccl");
	const struct sw_copy *c = frameworks[0].n_copies ? &frameworks[0].copies[0] : NULL;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *version = c && c->nccl ? c->nccl : item ? item->version : NULL;
	const char *from = c && c->nccl ? c->nccl_from : item ? item->where : NULL, *params;

	json_object_begin(&j, NULL);
	json_put_string(&j, "of_pytorch", c ? c->nccl : NULL);
	json_put_string(&j, "of_system", item ? item->version : NULL);
	json_put_bool(&j, "exchangeable",
	              !c || !c->nccl_from || !str_starts(c->nccl_from, "inside "));
	params = finish(s, &text, &j);
	return emit_text(s, "sw_nccl",
	                 from ? arena_strf(s->arena, "%s (%s)", version ? version : "?", from)
	                      : NULL,
	                 params, "NCCL");
}

static enum status emit_engine(struct sw_scan *s, const struct sw_engines *e)
{
	struct str text = {0}, words = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept = NULL, *params;

	json_object_begin(&j, NULL);
	json_array_begin(&j, "engines");
	for (int i = 0; i < e->n_engines; i++) {
		const struct sw_engine *g = &e->engines[i];

		str_addf(&words, "%s%s %s", i ? ", " : "", g->name,
		         g->loaded ? "loaded" : "present");
		json_object_begin(&j, NULL);
		json_put_string(&j, "name", g->name);
		json_put_string(&j, "owner", g->owner);
		json_put_string(&j, "sign", g->sign);
		json_put_bool(&j, "loaded", g->loaded);
		json_put_string(&j, "loaded_by", g->how);
		json_object_end(&j);
	}
	json_array_end(&j);
	params = finish(s, &text, &j);
	if (e->n_engines)
		kept = arena_str(s->arena, words.data);
	str_release(&words);
	return emit_text(s, "sw_engine", kept, params, "an acceleration engine");
}

static enum status emit_plugins(struct sw_scan *s, const struct sw_engines *e)
{
	struct str text = {0}, words = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept = NULL, *params;

	json_object_begin(&j, NULL);
	json_array_begin(&j, "plugins");
	for (int i = 0; i < e->n_plugins; i++) {
		const struct sw_plugin *p = &e->plugins[i];

		str_addf(&words, "%s%s v%d %s", i ? ", " : "", p->kind, p->version,
		         p->loaded ? "loaded" : "present");
		json_object_begin(&j, NULL);
		json_put_string(&j, "kind", p->kind);
		json_put_string(&j, "path", p->path);
		json_put_int(&j, "interface", p->version);
		json_put_bool(&j, "loaded", p->loaded);
		json_put_string(&j, "loaded_by", p->how);
		json_object_end(&j);
	}
	json_array_end(&j);
	sw_put_list(&j, "settings", &e->settings, LIST_MOST);
	params = finish(s, &text, &j);
	if (e->n_plugins)
		kept = arena_str(s->arena, words.data);
	str_release(&words);
	return emit_text(s, "sw_plugins", kept, params, "an NCCL plug-in");
}

static enum status emit_stack(struct sw_scan *s, const struct sw_system *sys)
{
	struct str text = {0}, words = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept = NULL, *params;

	json_object_begin(&j, NULL);
	json_array_begin(&j, "items");
	for (int i = 0; i < sys->n_items; i++) {
		const struct sw_item *item = &sys->items[i];

		str_addf(&words, "%s%s%s%s", i ? ", " : "", item->name, item->version ? " " : "",
		         item->version ? item->version : "");
		json_object_begin(&j, NULL);
		json_put_string(&j, "name", item->name);
		json_put_string(&j, "version", item->version);
		json_put_string(&j, "where", item->where);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_put_string(&j, "capability", sys->capability);
	params = finish(s, &text, &j);
	if (sys->n_items)
		kept = arena_str(s->arena, words.data);
	str_release(&words);
	return emit_text(s, "sw_stack", kept, params, "a part of the GPU stack");
}

static enum status emit_containers(struct sw_scan *s, const struct sw_system *sys)
{
	struct str text = {0}, words = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept = NULL, *params;

	json_object_begin(&j, NULL);
	sw_put_list(&j, "images", &sys->images, LIST_MOST);
	sw_put_list(&j, "unread", &sys->unread, LIST_MOST);
	params = finish(s, &text, &j);
	for (int i = 0; i < sys->runtimes.count; i++)
		str_addf(&words, "%s%s", i ? ", " : "", sys->runtimes.item[i]);
	if (sys->images.count)
		str_addf(&words, "%s%d images", words.len ? ", " : "", sys->images.count);
	if (sys->unread.count)
		str_addf(&words, "%s%d stores or files not readable", words.len ? ", " : "",
		         sys->unread.count);
	if (words.len)
		kept = arena_str(s->arena, words.data);
	str_release(&words);
	return emit_text(s, "sw_containers", kept, params, "a container runtime");
}

static enum status emit_fit(struct sw_scan *s, const struct sw_system *sys,
                            const struct sw_fit *fit)
{
	struct reading r = sw_reading(s->ctx, "sw_driver_fits");
	struct str text = {0}, one = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_array_begin(&j, "problems");
	for (int i = 0; i < fit->n_problems; i++) {
		str_clear(&one);
		msg_add_list(&one, fit->problems[i].id, fit->problems[i].args);
		json_put_string(&j, NULL, str_text(&one));
	}
	json_array_end(&j);
	str_release(&one);
	r.params = finish(s, &text, &j);
	if (sys->nvidia.n_cards < 0) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_host_unreadable, "/sys/bus/pci/devices");
	} else if (sys->nvidia.n_cards == 0) {
		r.outcome = OUTCOME_UNSUPPORTED;
		reason_set(s->ctx, &r.reason, MSG_sw_no_cards);
	} else if (fit->n_problems && sys->contained &&
	           (fit->problems[0].id == MSG_sw_no_libcuda ||
	            fit->problems[0].id == MSG_sw_no_module)) {
		/* Started without access to the cards: no fault of the platform. */
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set_list(s->ctx, &r.reason, fit->problems[0].id, fit->problems[0].args);
	} else if (fit->n_problems) {
		r.outcome = OUTCOME_FAILED;
		reason_set_list(s->ctx, &r.reason, fit->problems[0].id, fit->problems[0].args);
	} else if (s->cut) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_sw_cut, tmpf("%d", s->n_packages));
	} else {
		r.value_kind = VALUE_NUMBER;
		r.value = 1;
	}
	return s->ctx->emit(s->ctx, &r);
}

static enum status emit_fingerprint(struct sw_scan *s, const struct sw_fingerprint *f)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	struct reading r = sw_reading(s->ctx, "sw_fingerprint");
	enum status st =
		s->ctx->save_raw(s->ctx, "fingerprint.json", f->text, strlen(f->text), &r.raw);

	json_object_begin(&j, NULL);
	for (int i = 0; i < SW_PARTS; i++)
		json_put_string(&j, f->parts[i].key, f->parts[i].digest);
	r.params = finish(s, &text, &j);
	for (int i = 0; i < SW_PARTS && st == ST_OK; i++)
		st = emit_text(s, f->parts[i].metric, s->cut ? NULL : f->parts[i].digest, NULL,
		               f->parts[i].key);
	if (st == ST_OK)
		st = emit_text(s, "sw_image", s->cut ? NULL : f->image, NULL, "an image");
	if (s->cut) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(s->ctx, &r.reason, MSG_sw_cut, tmpf("%d", s->n_packages));
	} else {
		r.value_kind = VALUE_TEXT;
		r.text = f->sha256;
	}
	return st == ST_OK ? s->ctx->emit(s->ctx, &r) : st;
}

/* --- running ------------------------------------------------------------------------------------ */

static enum status emit_all(struct sw_scan *s, const struct sw_system *sys,
                            const struct sw_framework *frameworks, const struct sw_engines *engines,
                            const struct sw_fit *fit)
{
	struct sw_fingerprint f;
	enum status st = emit_packages(s);

	for (int i = 0; i < SW_FRAMEWORKS && st == ST_OK; i++)
		st = emit_framework(s, &frameworks[i]);
	if (st == ST_OK)
		st = emit_nccl(s, sys, frameworks);
	if (st == ST_OK)
		st = emit_engine(s, engines);
	if (st == ST_OK)
		st = emit_plugins(s, engines);
	if (st == ST_OK)
		st = emit_stack(s, sys);
	if (st == ST_OK)
		st = emit_text(s, "sw_scheduler", sys->scheduler, NULL, "Slurm or Kubernetes");
	if (st == ST_OK)
		st = emit_containers(s, sys);
	if (st == ST_OK)
		st = emit_fit(s, sys, fit);
	if (st == ST_OK)
		st = sw_emit_preinstalled(s, sys, frameworks);
	if (st != ST_OK)
		return st;
	sw_fingerprint_make(s, sys, frameworks, engines, &f);
	return emit_fingerprint(s, &f);
}

static enum status run(struct probe_ctx *ctx)
{
	struct sw_scan s = {.ctx = ctx, .arena = ctx->arena, .root = ctx->sys_root};
	struct sw_framework frameworks[SW_FRAMEWORKS];
	struct sw_engines engines = {0};
	struct sw_system sys = {0};
	struct sw_fit fit = {0};

	ctx->progress(ctx, STAGE_MEASURING, -1, MSG_doing_software);
	s.until_ns = clock_now(ctx->clock) + (int64_t)(ctx->param_real(ctx, "seconds") * NS_PER_S);
	read_environment(&s);
	sw_find_python(&s);
	sw_find_deb(&s);
	sw_find_rpm(&s);
	leave_out_own(&s);
	sw_find_system(&s, &sys);
	sw_find_engines(&s, &engines);
	sw_find_frameworks(&s, frameworks);
	sw_judge_fit(&s, &sys, frameworks, &fit);
	return emit_all(&s, &sys, frameworks, &engines, &fit);
}

static struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static const struct param params[] = {
	{"seconds", PARAM_REAL, "s", {"60", "60", "300"}, 0, 3600, NULL, MSG_help_sw_seconds},
	{"since", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_sw_since},
	{"installed_record", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_sw_record},
	{0},
};

#define TEXT_METRIC(name, formula)                                                                 \
	{                                                                                          \
		name, "text", BETTER_NEITHER, SUBJECT_ENVIRONMENT, BACKEND_ANY, formula            \
	}
#define COPY_FORMULA                                                                               \
	"version, CUDA of its build, NCCL it uses, level: present or compatible, by its files "    \
	"alone"
#define PART_FORMULA "digest of this part of the fingerprint"

static const struct metric metrics[] = {
	{"sw_packages", "1", BETTER_NEITHER, SUBJECT_ENVIRONMENT, BACKEND_ANY,
         "wheels, eggs, conda, deb and rpm packages found, without those Assay had installed"},
	TEXT_METRIC("sw_pytorch", COPY_FORMULA),
	TEXT_METRIC("sw_tensorflow", COPY_FORMULA),
	TEXT_METRIC("sw_mxnet", COPY_FORMULA),
	TEXT_METRIC("sw_deepspeed", COPY_FORMULA),
	TEXT_METRIC("sw_megatron", COPY_FORMULA),
	TEXT_METRIC("sw_horovod", COPY_FORMULA),
	TEXT_METRIC("sw_jax", COPY_FORMULA),
	TEXT_METRIC("sw_nccl", "version and file of the NCCL that PyTorch uses, else the system's"),
	TEXT_METRIC("sw_engine",
                    "acceleration engine found (NCCL replacement, plugin); unsupported "
                    "where there is none"),
	TEXT_METRIC("sw_plugins",
                    "NCCL plug-ins with the highest interface they offer; loaded: NCCL "
                    "is set to take it"),
	TEXT_METRIC("sw_stack", "driver, libcuda, toolkits, NCCL and helper modules with versions"),
	TEXT_METRIC("sw_scheduler", "scheduler and what it knows of the GPUs"),
	TEXT_METRIC("sw_containers", "container runtimes, and images at hand"),
	{"sw_driver_fits", "1", BETTER_NEITHER, SUBJECT_ENVIRONMENT, BACKEND_ANY,
         "1 if kernel driver, libcuda and the frameworks' CUDA and card builds fit, else 0"},
	{"sw_preinstalled_share", "1", BETTER_HIGHER, SUBJECT_ENVIRONMENT, BACKEND_ANY,
         "required frameworks and driver older than the first use of the machine / those found"},
	TEXT_METRIC("sw_part_kernel", PART_FORMULA),
	TEXT_METRIC("sw_part_modules", PART_FORMULA),
	TEXT_METRIC("sw_part_gpu", PART_FORMULA),
	TEXT_METRIC("sw_part_libraries", PART_FORMULA),
	TEXT_METRIC("sw_part_packages", PART_FORMULA),
	TEXT_METRIC("sw_part_frameworks", PART_FORMULA),
	TEXT_METRIC("sw_part_settings", PART_FORMULA),
	TEXT_METRIC("sw_part_mounts", PART_FORMULA),
	TEXT_METRIC("sw_image", "digest of kernel release, driver, CUDA, NCCL, OFED and frameworks "
                                "outside homes: alike on all nodes"),
	TEXT_METRIC("sw_fingerprint",
                    "digest of the whole fingerprint; the document is the raw file"),
	{0},
};

const struct probe probe_software = {
	.name = "software",
	.title = MSG_probe_software,
	.subject = SUBJECT_ENVIRONMENT,
	.phase = "hello",
	.exclusive = true,
	.seconds = {2, 2, 2},
	.extension_s = {70, 70, 310},
	.params = params,
	.metrics = metrics,
	.supported = supported,
	.run = run,
};
