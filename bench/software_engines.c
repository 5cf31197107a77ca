/* Acceleration engines and NCCL's plug-ins. That one is there is one thing, that NCCL
 * is set to load it another, and that it was used a third, which only a run with
 * NCCL's own log tells: the first two are told apart here, the third never claimed. */
#include <string.h>

#include "software.h"

/* Signs of the engines; sources in README.md. To add one: a row. */
struct sign {
	const char *name, *owner;
	const char *packages[4]; /* of pip or the distribution */
	const char *paths[3];
	const char *variable; /* beginning of names in the environment, or NULL */
	const char *word;     /* in LD_LIBRARY_PATH, LD_PRELOAD or a plug-in's name: loaded */
};

static const struct sign signs[] = {
	{"TCCL", "Tencent", {"tccl"}, {"/opt/tencent/tccl"}, "TCCL_", "tccl"},
	{"AIACC",
         "Alibaba",
         {"acspeed", "aiacc-nccl-plugin", "perseus"},
         {NULL},
         "AIACC_",
         "aiacc"},
	{"DeepNCCL",
         "Alibaba",
         {"deepnccl", "deepncclplugin", "deep-nccl-wrapper"},
         {NULL},
         "DEEPNCCL_",
         "deepnccl"},
	{"ACCL", "Alibaba", {"accl"}, {"/usr/local/accl"}, "ACCL_", "accl"},
	{"BCCL", "Baidu", {"bccl"}, {"/usr/local/bccl"}, "BCCL_", "bccl"},
	{"AIAK", "Baidu", {"aiak-training", "aiak"}, {"/usr/local/aiak"}, "AIAK_", "aiak"},
	{"veCCL", "Volcano", {"veccl"}, {"/opt/veccl"}, "VECCL_", "veccl"},
	{"SHARP",
         "NVIDIA",
         {NULL},
         {"/opt/hpcx/nccl_rdma_sharp_plugin", "/opt/mellanox/sharp"},
         "SHARP_COLL_",
         "sharp"},
	{"aws-ofi-nccl",
         "AWS",
         {"aws-ofi-nccl"},
         {"/opt/aws-ofi-nccl", "/opt/amazon/ofi-nccl"},
         NULL,
         "ofi-nccl"},
	{"gIB", "Google", {"nccl-gib"}, {"/usr/local/gib"}, NULL, "/gib"},
	{"fastsocket", "Google", {"google-fast-socket"}, {NULL}, NULL, "fast-socket"},
	{"MRC", "Microsoft", {NULL}, {"/opt/mrc"}, NULL, "nccl-net-mrc"},
};

static const char *const loading[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "NCCL_NET_PLUGIN",
                                      "NCCL_TUNER_PLUGIN", "NCCL_COLLNET_PLUGIN"};

#define LOADING (sizeof(loading) / sizeof(*loading))

/* --- settings of NCCL ------------------------------------------------------------------------ */

/* Value of a setting by the environment, else by NCCL's files; or NULL. */
static const char *setting(const struct sw_scan *s, const struct sw_engines *e, const char *name)
{
	const char *value = sw_env(s, name);
	size_t len = strlen(name);

	for (int i = 0; i < e->settings.count && !value; i++)
		if (strncmp(e->settings.item[i], name, len) == 0 && e->settings.item[i][len] == '=')
			value = e->settings.item[i] + len + 1;
	return value;
}

static void read_settings(struct sw_scan *s, struct sw_engines *e)
{
	static const char *const files[] = {"/root/.nccl.conf", "/etc/nccl.conf"};
	struct str text = {0};

	for (const char *p = s->environment; p && *p; p += strlen(p) + 1)
		if (str_starts(p, "NCCL_") && strchr(p, '=') &&
		    !sw_is_secret(p, (size_t)(strchr(p, '=') - p)))
			sw_add_text(s, &e->settings, p);
	for (int i = 0; i < 2; i++) {
		char *rest = NULL;

		if (!sw_read(s, &text, files[i], 1 << 20) || !text.len)
			continue;
		for (char *line = strtok_r(text.data, "\r\n", &rest); line;
		     line = strtok_r(NULL, "\r\n", &rest)) {
			const char *equal = strchr(line, '=');

			if (str_starts(line, "NCCL_") && equal &&
			    !sw_is_secret(line, (size_t)(equal - line)))
				sw_add_text(s, &e->settings, line);
		}
	}
	str_release(&text);
}

/* --- engines ----------------------------------------------------------------------------------- */

static const char *found_by(struct sw_scan *s, const struct sign *g)
{
	size_t len = g->variable ? strlen(g->variable) : 0;

	for (int i = 0; i < 4 && g->packages[i]; i++) {
		const struct sw_package *p = sw_package_find(s, g->packages[i], SW_ANY, NULL);

		if (p)
			return arena_strf(s->arena, "package %s %s in %s", p->name,
			                  p->version ? p->version : "?", p->dir);
	}
	for (int i = 0; i < 3 && g->paths[i]; i++)
		if (sw_there(s, g->paths[i]))
			return g->paths[i];
	for (const char *p = s->environment; len && p && *p; p += strlen(p) + 1)
		if (strncmp(p, g->variable, len) == 0)
			return arena_strf(s->arena, "variable %.*s", (int)strcspn(p, "="), p);
	return NULL;
}

static void add_engine(struct sw_scan *s, struct sw_engines *e, const struct sign *g)
{
	const char *sign = found_by(s, g), *how = NULL;

	for (size_t i = 0; i < LOADING && !how; i++) {
		const char *value = setting(s, e, loading[i]);

		if (value && strcasestr(value, g->word))
			how = arena_strf(s->arena, "%s=%s", loading[i], value);
	}
	if (!sign && !how)
		return;
	e->engines =
		sw_grow(s->arena, e->engines, e->n_engines, &e->cap_engines, sizeof(*e->engines));
	e->engines[e->n_engines++] =
		(struct sw_engine){g->name, g->owner, sign ? sign : how, how != NULL, how};
}

/* --- plug-ins ------------------------------------------------------------------------------------ */

static const struct {
	const char *kind, *file; /* libnccl-net.so, libnccl-net-x.so */
	const char *variable;
	const char *symbols[2];
} plugin_kinds[] = {
	{"net", "libnccl-net", "NCCL_NET_PLUGIN", {"ncclNetPlugin_v", "ncclNet_v"}},
	{"tuner", "libnccl-tuner", "NCCL_TUNER_PLUGIN", {"ncclTunerPlugin_v", "ncclTuner_v"}},
	{"profiler",
         "libnccl-profiler",
         "NCCL_PROFILER_PLUGIN",
         {"ncclProfiler_v", "ncclProfilerPlugin_v"}},
	{"env", "libnccl-env", "NCCL_ENV_PLUGIN", {"ncclEnvPlugin_v", "ncclEnv_v"}},
	{"gin", "libnccl-gin", "NCCL_GIN_PLUGIN", {"ncclGinPlugin_v", "ncclGin_v"}},
};

#define PLUGIN_KINDS (int)(sizeof(plugin_kinds) / sizeof(*plugin_kinds))

/* NCCL takes the file named plainly if the linker finds it, another only if told to. */
static void say_loaded(struct sw_scan *s, const struct sw_engines *e, struct sw_plugin *p, int k,
                       const char *dir, const char *name)
{
	const char *variable = plugin_kinds[k].variable, *value = setting(s, e, variable);
	const char *plain = tmpf("%s.so", plugin_kinds[k].file);
	bool linked = false;

	if (value) {
		const char *word = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;

		p->loaded = strcmp(value, p->path) == 0 || strcmp(word, name) == 0 ||
		            strcmp(tmpf("%s-%s.so", plugin_kinds[k].file, value), name) == 0;
		p->how = p->loaded ? arena_strf(s->arena, "%s=%s", variable, value) : NULL;
		return;
	}
	for (const char *const *d = sw_library_dirs(s); *d; d++)
		linked = linked || strcmp(*d, dir) == 0;
	p->loaded = linked && strcmp(name, plain) == 0;
	p->how = p->loaded ? "the linker finds it by its plain name" : NULL;
}

static void add_plugin(struct sw_scan *s, struct sw_engines *e, const char *dir, const char *name)
{
	struct sw_plugin *p;
	struct sw_elf elf;

	for (int k = 0; k < PLUGIN_KINDS; k++) {
		size_t len = strlen(plugin_kinds[k].file);

		if (strncmp(name, plugin_kinds[k].file, len) != 0 || !strchr(".-", name[len]) ||
		    !str_ends(name, ".so"))
			continue;
		e->plugins =
			sw_grow(s->arena, e->plugins, e->n_plugins, &e->cap_plugins, sizeof(*p));
		p = &e->plugins[e->n_plugins++];
		*p = (struct sw_plugin){.path = arena_strf(s->arena, "%s/%s", dir, name),
		                        .kind = plugin_kinds[k].kind};
		if (sw_elf_read(s, &elf, p->path)) {
			p->soname = elf.soname;
			for (int i = 0; i < 2; i++) {
				int v = sw_elf_highest(&elf, plugin_kinds[k].symbols[i]);

				p->version = v > p->version ? v : p->version;
			}
		}
		say_loaded(s, e, p, k, dir, name);
	}
}

static void find_plugins(struct sw_scan *s, struct sw_engines *e)
{
	static const char *const more[] = {
		"/opt/hpcx/nccl_rdma_sharp_plugin/lib",
		"/opt/hpcx/ncclnet_plugin/lib",
		"/opt/aws-ofi-nccl/lib",
		"/opt/amazon/ofi-nccl/lib",
		"/usr/local/gib/lib64",
		"/opt/tencent/tccl/lib",
		"/usr/local/bccl/lib",
	};

	for (const char *const *dir = sw_library_dirs(s); *dir; dir++)
		for (const char *const *name = sw_names(s, *dir); *name; name++)
			if (str_starts(*name, "libnccl-"))
				add_plugin(s, e, *dir, *name);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		bool seen = !sw_there(s, more[i]);

		for (const char *const *dir = sw_library_dirs(s); *dir; dir++)
			seen = seen || strcmp(*dir, more[i]) == 0;
		for (const char *const *name = seen ? NULL : sw_names(s, more[i]); name && *name;
		     name++)
			if (str_starts(*name, "libnccl-"))
				add_plugin(s, e, more[i], *name);
	}
}

void sw_find_engines(struct sw_scan *s, struct sw_engines *e)
{
	read_settings(s, e);
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		add_engine(s, e, &signs[i]);
	find_plugins(s, e);
}

/* --- where the linker looks ------------------------------------------------------------------------ */

static void add_dir(struct sw_scan *s, const char **dirs, int *n, int most, const char *dir,
                    size_t len)
{
	const char *path = arena_strn(s->arena, dir, len);
	struct stat at, other;

	if (*n >= most || *path != '/' || !sw_stat(s, path, &at) || !S_ISDIR(at.st_mode))
		return;
	for (int i = 0; i < *n; i++)
		if (sw_stat(s, dirs[i], &other) && other.st_ino == at.st_ino &&
		    other.st_dev == at.st_dev)
			return;
	dirs[(*n)++] = path;
}

static void add_conf_dirs(struct sw_scan *s, const char **dirs, int *n, int most)
{
	const char *const *names =
		sw_there(s, "/etc/ld.so.conf.d") ? sw_names(s, "/etc/ld.so.conf.d") : NULL;
	struct str text = {0};

	for (; names && *names; names++) {
		char *rest = NULL;

		if (!str_ends(*names, ".conf") ||
		    !sw_read(s, &text, tmpf("/etc/ld.so.conf.d/%s", *names), 65536) || !text.len)
			continue;
		for (char *line = strtok_r(text.data, " \t\r\n", &rest); line;
		     line = strtok_r(NULL, " \t\r\n", &rest))
			add_dir(s, dirs, n, most, line, strlen(line));
	}
	str_release(&text);
}

const char *const *sw_library_dirs(struct sw_scan *s)
{
	static const char *const usual[] = {"/lib/x86_64-linux-gnu",
	                                    "/usr/lib/x86_64-linux-gnu",
	                                    "/lib/aarch64-linux-gnu",
	                                    "/usr/lib/aarch64-linux-gnu",
	                                    "/lib64",
	                                    "/usr/lib64",
	                                    "/usr/lib",
	                                    "/lib"};
	const int most = 128;
	const char **dirs = arena_array(s->arena, (size_t)most + 1, sizeof(*dirs));
	const char *list = sw_env(s, "LD_LIBRARY_PATH");
	int n = 0;

	if (s->library_dirs)
		return s->library_dirs;
	while (list && *list) {
		size_t len = strcspn(list, ":");

		add_dir(s, dirs, &n, most, list, len);
		list += len + (list[len] == ':');
	}
	add_conf_dirs(s, dirs, &n, most);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		add_dir(s, dirs, &n, most, usual[i], strlen(usual[i]));
	s->library_dirs = dirs;
	return dirs;
}
