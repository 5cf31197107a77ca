/* The frameworks of the guides among the packages, each copy with what it was built
 * for and the NCCL it really uses. Answers come from the text files and libraries a
 * wheel brings; the sources of this knowledge are in README.md. */
#include <ctype.h>
#include <string.h>

#include "software.h"

#define COPIES_MOST 64
#define TEXT_MOST   (1 << 20)

struct kind {
	const char *metric, *title;
	bool required;
	const char *names[8]; /* of packages; ending in '*': a beginning */
	const char *module;   /* file below the site directory that has to be there */
	const char *told_in;  /* file that tells the build, or NULL */
	const char *word;     /* before the CUDA version in it */
	const char *library;  /* that needs or holds NCCL, or NULL */
};

/* To add one: a row, its metric in software.c, SW_FRAMEWORKS. */
static const struct kind kinds[SW_FRAMEWORKS] = {
	{"sw_pytorch",
         "PyTorch",
         true,
         {"torch", "pytorch"},
         "torch/version.py",
         "torch/version.py",
         "\ncuda",
         "torch/lib/libtorch_cuda.so"},
	{"sw_tensorflow",
         "TensorFlow",
         false,
         {"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-intel", "nvidia-tensorflow",
          "tensorflow-base"},
         "tensorflow/__init__.py",
         "tensorflow/python/platform/build_info.py",
         "cuda_version",
         "tensorflow/libtensorflow_cc.so.2"},
	{"sw_mxnet",
         "MXNet",
         false,
         {"mxnet", "mxnet-*"},
         "mxnet/libinfo.py",
         NULL,
         NULL,
         "mxnet/libmxnet.so"},
	{"sw_deepspeed",
         "DeepSpeed",
         true,
         {"deepspeed"},
         "deepspeed/__init__.py",
         "deepspeed/git_version_info_installed.py",
         "cuda_version",
         NULL},
	{"sw_megatron",
         "Megatron-core",
         true,
         {"megatron-core"},
         "megatron/core/package_info.py",
         NULL,
         NULL,
         NULL},
	{"sw_horovod", "Horovod", false, {"horovod"}, "horovod/__init__.py", NULL, NULL, NULL},
	{"sw_jax", "JAX", false, {"jax"}, "jax/version.py", NULL, NULL, NULL},
};

static bool is_named(const struct kind *k, const char *name)
{
	for (int i = 0; i < 8 && k->names[i]; i++) {
		size_t len = strlen(k->names[i]);

		if (k->names[i][len - 1] == '*' ? strncmp(name, k->names[i], len - 1) == 0
		                                : strcmp(name, k->names[i]) == 0)
			return true;
	}
	return false;
}

/* --- what it was built for ------------------------------------------------------------- */

/* "cu124" in a version or name, "cuda12.1" in a build: 12.4, 12.1. */
static const char *cuda_in(struct sw_scan *s, const char *text)
{
	const char *p = text ? strstr(text, "cuda") : NULL;

	if (p && isdigit((unsigned char)p[4])) {
		size_t n = strspn(p + 4, "0123456789.");

		return arena_strn(s->arena, p + 4, p[3 + n] == '.' ? n - 1 : n);
	}
	for (p = text ? strstr(text, "cu") : NULL; p; p = strstr(p + 2, "cu")) {
		size_t n = strspn(p + 2, "0123456789");

		if (n == 2) /* cu12: the major alone; cu92: before 10 */
			return p[2] == '9' ? arena_strf(s->arena, "9.%c", p[3])
			                   : arena_strn(s->arena, p + 2, 2);
		if (n == 3)
			return arena_strf(s->arena, "%.2s.%c", p + 2, p[4]);
	}
	return NULL;
}

/* version.py says "cuda = None" or "cuda: Optional[str] = '12.4'". */
static void read_build(struct sw_scan *s, const struct kind *k, struct sw_copy *c)
{
	struct str text = {0};
	const char *line;

	if (k->told_in && sw_read(s, &text, tmpf("%s/%s", c->dir, k->told_in), TEXT_MOST)) {
		const char *t = str_text(&text);

		line = strstr(t, k->word);
		c->cuda = sw_quoted(s->arena, t, k->word);
		if (!c->cuda && line && strstr(line, "None") &&
		    strstr(line, "None") < line + 1 + strcspn(line + 1, "\n"))
			c->cuda = "none";
		if (!c->cuda && strstr(t, "is_cuda_build"))
			c->cuda = strstr(t, "is_cuda_build': False") ||
			                          strstr(t, "is_cuda_build\", False") ||
			                          strstr(t, "is_cuda_build', False")
			                  ? "none"
			                  : NULL;
		c->other = sw_quoted(s->arena, t, "\nhip");
		if (c->cuda && strcmp(c->cuda, "0.0") == 0) /* how DeepSpeed says none */
			c->cuda = "none";
	}
	str_release(&text);
	if (!c->cuda)
		c->cuda = cuda_in(s, c->version);
	if (!c->cuda && c->package)
		c->cuda = cuda_in(s, c->package->build ? c->package->build : c->package->name);
	if (!c->cuda && ((c->version && strstr(c->version, "+cpu")) ||
	                 (c->package && c->package->build && strstr(c->package->build, "cpu"))))
		c->cuda = "none";
}

/* jax brings CUDA by a plug-in of its own name. */
static void read_jax(struct sw_scan *s, struct sw_copy *c)
{
	static const char *const rows[][2] = {{"jax-cuda13-plugin", "13"},
	                                      {"jax-cuda12-plugin", "12"}};

	for (int i = 0; i < 2 && !c->cuda; i++)
		for (const struct sw_package *p = NULL;
		     (p = sw_package_find(s, rows[i][0], SW_WHEEL, p));)
			if (strcmp(p->dir, c->dir) == 0)
				c->cuda = rows[i][1];
	for (const struct sw_package *p = NULL;
	     !c->cuda && (p = sw_package_find(s, "jaxlib", -1, p));)
		if (strcmp(p->dir, c->dir) == 0)
			c->cuda = cuda_in(s, p->version);
}

/* --- the NCCL it uses ------------------------------------------------------------------- */

static bool take_nccl(struct sw_scan *s, struct sw_copy *c, const char *path)
{
	struct sw_elf elf;

	if (!sw_there(s, path) || !sw_elf_read(s, &elf, path))
		return false;
	c->nccl = sw_nccl_version(s, path, &elf);
	c->nccl_from = arena_str(s->arena, path);
	return true;
}

/* Requires-Dist: nvidia-nccl-cu12 (==2.21.5) ; platform… */
static void read_wanted(struct sw_scan *s, struct sw_copy *c)
{
	struct str text = {0};
	const char *p;

	if (!c->package || c->package->source != SW_WHEEL)
		return;
	if (sw_read(s, &text, tmpf("%s/METADATA", c->package->info), TEXT_MOST) &&
	    (p = strstr(str_text(&text), "Requires-Dist: nvidia-nccl-"))) {
		const char *end = p + strcspn(p, ";\n"), *equal = strstr(p, "==");

		if (equal && equal < end)
			c->nccl_wanted =
				arena_strn(s->arena, equal + 2, strspn(equal + 2, "0123456789."));
	}
	str_release(&text);
}

/* A library that needs libnccl.so.2 takes it from the wheel beside it, or else from
 * where the linker looks; one that does not has it inside, and no exchange of the
 * system's library changes anything. */
static void read_nccl(struct sw_scan *s, const struct kind *k, struct sw_copy *c)
{
	const char *path = k->library ? arena_strf(s->arena, "%s/%s", c->dir, k->library) : NULL;
	struct sw_elf elf;

	read_wanted(s, c);
	if (!path || !sw_there(s, path) || !sw_elf_read(s, &elf, path)) {
		if (!c->cuda || strcmp(c->cuda, "none") != 0)
			take_nccl(s, c, tmpf("%s/nvidia/nccl/lib/libnccl.so.2", c->dir));
		return;
	}
	if (!sw_elf_needs(&elf, "libnccl.so.2")) {
		c->nccl = sw_nccl_version(s, path, &elf);
		c->nccl_from = c->nccl ? arena_strf(s->arena, "inside %s", path) : NULL;
		if (c->nccl || take_nccl(s, c, tmpf("%s/nvidia/nccl/lib/libnccl.so.2", c->dir)))
			return;
	}
	if (take_nccl(s, c, tmpf("%s/nvidia/nccl/lib/libnccl.so.2", c->dir)) ||
	    take_nccl(s, c, tmpf("%s/torch/lib/libnccl.so.2", c->dir)))
		return;
	for (const char *const *dir = sw_library_dirs(s); *dir && !c->nccl_from; dir++)
		take_nccl(s, c, tmpf("%s/libnccl.so.2", *dir));
}

/* --- copies ------------------------------------------------------------------------------ */

/* "pip install -e" leaves the metadata here and the modules where they are worked on. */
static const char *source_of(struct sw_scan *s, const struct kind *k, const struct sw_package *p)
{
	static const char *const below[] = {"", "/src"};
	struct str text = {0};
	struct json_doc doc;
	const char *found = NULL;

	if (sw_read(s, &text, tmpf("%s/direct_url.json", p->info), TEXT_MOST) &&
	    json_parse(&doc, "direct_url", str_text(&text), text.len, JSON_DUPLICATES, NULL) ==
	            ST_OK) {
		const char *url = json_string(doc.root, "url", "");

		if (str_starts(url, "file:///") &&
		    json_bool(json_get(doc.root, "dir_info"), "editable", false))
			for (int i = 0; i < 2 && !found; i++) {
				const char *dir = arena_strf(s->arena, "%s%s", url + 7, below[i]);

				if (sw_there(s, tmpf("%s/%s", dir, k->module)))
					found = dir;
			}
		json_release(&doc);
	}
	str_release(&text);
	return found;
}

static void describe(struct sw_scan *s, const struct kind *k, struct sw_copy *c)
{
	const struct sw_package *p = c->package;
	const char *source = NULL;

	if (p && p->source == SW_WHEEL && !sw_there(s, tmpf("%s/%s", c->dir, k->module)))
		source = source_of(s, k, p);
	c->dir = source ? source : c->dir;
	read_build(s, k, c);
	if (strcmp(k->metric, "sw_jax") == 0)
		read_jax(s, c);
	read_nccl(s, k, c);
	if (p && p->source == SW_WHEEL)
		c->installer = sw_line(s, tmpf("%s/INSTALLER", p->info));
	if (p && p->fault)
		c->fault = p->fault;
	else if (!sw_there(s, tmpf("%s/%s", c->dir, k->module)))
		c->fault = arena_strf(s->arena, "%s is not there", k->module);
}

static struct sw_copy *add_copy(struct sw_framework *f)
{
	return f->n_copies < COPIES_MOST ? &f->copies[f->n_copies++] : NULL;
}

/* conda's package and the dist-info in the same environment are one copy. */
static bool have_copy(const struct sw_framework *f, const struct sw_package *p)
{
	size_t len = strlen(p->dir);

	for (int i = 0; i < f->n_copies; i++)
		if (p->source == SW_CONDA && strncmp(f->copies[i].dir, p->dir, len) == 0 &&
		    f->copies[i].dir[len] == '/')
			return true;
	return false;
}

/* Where the modules of a conda package are. */
static const char *site_of(struct sw_scan *s, const struct sw_package *p)
{
	size_t len = strlen(p->dir);

	for (int i = 0; p->source == SW_CONDA && i < s->n_places; i++)
		if (s->places[i].kind == SW_SITE && strncmp(s->places[i].path, p->dir, len) == 0 &&
		    s->places[i].path[len] == '/')
			return s->places[i].path;
	return p->dir;
}

static void take_packages(struct sw_scan *s, const struct kind *k, struct sw_framework *f)
{
	for (int pass = 0; pass < 2; pass++) /* conda's last: most have a dist-info too */
		for (int i = 0; i < s->n_packages; i++) {
			const struct sw_package *p = &s->packages[i];
			struct sw_copy *c;

			if (p->source >= SW_DEB || (p->source == SW_CONDA) != (pass == 1) ||
			    !is_named(k, p->name) || have_copy(f, p) || !(c = add_copy(f)))
				continue;
			*c = (struct sw_copy){
				.package = p, .version = p->version, .dir = site_of(s, p)};
			describe(s, k, c);
		}
}

/* Without metadata: Debian's and hand-built ones leave only the module. */
static void take_trees(struct sw_scan *s, const struct kind *k, struct sw_framework *f)
{
	for (int i = 0; i < s->n_places; i++) {
		const char *site = s->places[i].path;
		struct str text = {0};
		struct sw_copy *c;
		bool known = s->places[i].kind != SW_SITE ||
		             !sw_there(s, tmpf("%s/%s", site, k->module));

		for (int n = 0; n < f->n_copies && !known; n++)
			known = strcmp(f->copies[n].dir, site) == 0;
		if (known || !(c = add_copy(f)))
			continue;
		*c = (struct sw_copy){.dir = site};
		if (sw_read(s, &text, tmpf("%s/%s", site, k->module), TEXT_MOST))
			c->version = sw_quoted(s->arena, str_text(&text), "__version__");
		str_release(&text);
		describe(s, k, c);
	}
}

void sw_find_frameworks(struct sw_scan *s, struct sw_framework list[SW_FRAMEWORKS])
{
	for (int i = 0; i < SW_FRAMEWORKS; i++) {
		list[i] = (struct sw_framework){
			.metric = kinds[i].metric,
			.title = kinds[i].title,
			.required = kinds[i].required,
			.copies = arena_array(s->arena, COPIES_MOST, sizeof(struct sw_copy)),
		};
		take_packages(s, &kinds[i], &list[i]);
		take_trees(s, &kinds[i], &list[i]);
	}
}
