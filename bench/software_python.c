/* Where Python looks for packages on this machine, and what lies there: wheels by
 * their dist-info, older ones by egg-info, conda's by the names in conda-meta. No
 * interpreter is started: importing takes minutes on slow storage, may open the
 * driver, and an image's own Python may hang or lie. */
#include <ctype.h>
#include <string.h>

#include "software.h"

#define PLACES_MOST 4096
#define HEAD_BYTES  16384 /* of METADATA: Name and Version stand at its top */

/* --- places ------------------------------------------------------------------------ */

/* Each directory once, by device and inode: links in circles end here. */
static bool add_place(struct sw_scan *s, struct sw_place **list, int *n, int *cap,
                      enum sw_place_kind kind, const char *path)
{
	struct stat at;

	if (!sw_stat(s, path, &at) || !S_ISDIR(at.st_mode))
		return false;
	for (int i = 0; i < *n; i++)
		if ((*list)[i].inode == at.st_ino && (*list)[i].device == at.st_dev &&
		    (*list)[i].kind == kind)
			return false;
	if (*n >= PLACES_MOST) {
		s->cut = true;
		return false;
	}
	*list = sw_grow(s->arena, *list, *n, cap, sizeof(**list));
	(*list)[(*n)++] = (struct sw_place){kind, arena_str(s->arena, path), at.st_dev, at.st_ino};
	return true;
}

static bool is_interpreter(const char *name)
{
	if (!str_starts(name, "python"))
		return false;
	name += strlen("python");
	return !*name ||
	       ((*name == '2' || *name == '3') && strspn(name, "0123456789.") == strlen(name));
}

static void add_interpreters(struct sw_scan *s, const char *prefix)
{
	const char *bin = arena_strf(s->arena, "%s/bin", prefix);

	for (const char *const *name = sw_names(s, bin); *name; name++)
		if (is_interpreter(*name))
			sw_add_text(s, &s->interpreters, tmpf("%s/%s", bin, *name));
}

static void add_sites_below(struct sw_scan *s, const char *lib)
{
	static const char *const kinds[] = {"site-packages", "dist-packages"};

	for (const char *const *name = sw_names(s, lib); *name; name++)
		for (int k = 0; k < 2 && str_starts(*name, "python"); k++)
			add_place(s, &s->places, &s->n_places, &s->cap_places, SW_SITE,
			          arena_strf(s->arena, "%s/%s/%s", lib, *name, kinds[k]));
}

static void add_prefix(struct sw_scan *s, const char *prefix);

static void add_children(struct sw_scan *s, const char *dir)
{
	const char *const *names = sw_there(s, dir) ? sw_names(s, dir) : NULL;

	for (; names && *names && s->n_prefixes < PLACES_MOST; names++)
		add_prefix(s, arena_strf(s->arena, "%s/%s", dir, *names));
}

static void add_prefix(struct sw_scan *s, const char *prefix)
{
	static const char *const libs[] = {"lib", "lib64", "local/lib"};
	const char *meta = arena_strf(s->arena, "%s/conda-meta", prefix);

	if (!add_place(s, &s->prefixes, &s->n_prefixes, &s->cap_prefixes, SW_ENV, prefix))
		return;
	add_interpreters(s, prefix);
	for (size_t i = 0; i < sizeof(libs) / sizeof(*libs); i++)
		add_sites_below(s, arena_strf(s->arena, "%s/%s", prefix, libs[i]));
	if (!sw_there(s, meta))
		return;
	if (!add_place(s, &s->places, &s->n_places, &s->cap_places, SW_ENV, prefix))
		return;
	add_children(s, arena_strf(s->arena, "%s/envs", prefix));
}

/* What conda itself keeps a list of. */
static void add_listed(struct sw_scan *s, const char *home)
{
	struct str text = {0};
	char *rest = NULL;

	if (sw_read(s, &text, tmpf("%s/.conda/environments.txt", home), 1 << 20) && text.len)
		for (char *line = strtok_r(text.data, "\r\n", &rest); line;
		     line = strtok_r(NULL, "\r\n", &rest))
			if (*line == '/')
				add_prefix(s, line);
	str_release(&text);
}

static void add_home(struct sw_scan *s, const char *home)
{
	static const char *const rows[] = {".local",     "miniconda3", "anaconda3", "miniforge3",
	                                   "mambaforge", "venv",       ".venv",     "micromamba"};
	static const char *const parents[] = {".conda/envs", "micromamba/envs", ".virtualenvs",
	                                      ".pyenv/versions", ".local/share/uv/python"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		add_prefix(s, arena_strf(s->arena, "%s/%s", home, rows[i]));
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++)
		add_children(s, arena_strf(s->arena, "%s/%s", home, parents[i]));
	add_listed(s, home);
}

/* "/opt/x/bin:/usr/bin": what stands above a bin is a prefix. */
static void add_path(struct sw_scan *s, const char *path)
{
	while (path && *path) {
		size_t len = strcspn(path, ":");
		const char *dir = arena_strn(s->arena, path, len);

		/* /bin itself is /usr/bin, or has no Python. */
		if (*dir == '/' && str_ends(dir, "/bin") && len > 4)
			add_prefix(s, arena_strn(s->arena, dir, len - 4));
		path += len + (path[len] == ':');
	}
}

/* In the order in which Python takes them, as far as there is one for all. */
static void find_places(struct sw_scan *s)
{
	static const char *const variables[] = {"CONDA_PREFIX", "VIRTUAL_ENV"};
	const char *list;

	for (list = sw_env(s, "PYTHONPATH"); list && *list;) {
		size_t len = strcspn(list, ":");

		if (*list == '/')
			add_place(s, &s->places, &s->n_places, &s->cap_places, SW_SITE,
			          arena_strn(s->arena, list, len));
		list += len + (list[len] == ':');
	}
	for (int i = 0; i < 2; i++)
		if (sw_env(s, variables[i]))
			add_prefix(s, sw_env(s, variables[i]));
	if (sw_env(s, "HOME") && *sw_env(s, "HOME") == '/')
		add_prefix(s, arena_strf(s->arena, "%s/.local", sw_env(s, "HOME")));
	add_path(s, sw_env(s, "PATH"));
	add_prefix(s, "/usr/local");
	add_prefix(s, "/usr");
	add_children(s, "/opt");
	add_home(s, "/root");
	if (sw_env(s, "HOME") && *sw_env(s, "HOME") == '/')
		add_home(s, sw_env(s, "HOME"));
	if (sw_there(s, "/home"))
		for (const char *const *user = sw_names(s, "/home"); *user && !sw_late(s); user++)
			add_home(s, arena_strf(s->arena, "/home/%s", *user));
}

/* --- packages ------------------------------------------------------------------------ */

/* "nvidia_nccl_cu12-2.21.5" -> name and version; the last '-' before a digit parts them. */
static void split_name(struct sw_scan *s, struct sw_package *p, const char *stem, size_t len)
{
	size_t at = len;

	for (size_t i = 1; i + 1 < len; i++)
		if (stem[i] == '-' && isdigit((unsigned char)stem[i + 1])) {
			at = i;
			break;
		}
	p->name = sw_normal(s->arena, stem, at);
	if (at < len) {
		size_t end = at + 1 + strcspn(stem + at + 1, "-");

		p->version = arena_strn(s->arena, stem + at + 1, (end < len ? end : len) - at - 1);
	}
}

static void add_metadata(struct sw_scan *s, struct str *text, enum sw_source source,
                         const char *site, const char *entry)
{
	const char *ending = strrchr(entry, '.'),
		   *file = source == SW_WHEEL ? "METADATA" : "PKG-INFO";
	struct sw_package *p = sw_add_package(s, source);
	const char *name, *version;
	bool read;

	p->dir = site;
	p->info = arena_strf(s->arena, "%s/%s", site, entry);
	split_name(s, p, entry, (size_t)(ending - entry));
	read = sw_read(s, text, tmpf("%s/%s", p->info, file), HEAD_BYTES);
	if (!read && source == SW_EGG)
		read = sw_read(s, text, p->info, HEAD_BYTES); /* the file itself */
	if (*entry == '~')
		p->fault = "left over by pip";
	else if (!read)
		p->fault = arena_strf(s->arena, "no %s", file);
	if (!read)
		return;
	name = sw_header(s->arena, str_text(text), "Name");
	version = sw_header(s->arena, str_text(text), "Version");
	if (!p->fault && (!name || !version))
		p->fault = arena_strf(s->arena, "%s without Name or Version", file);
	if (name)
		p->name = sw_normal(s->arena, name, strlen(name));
	if (version)
		p->version = version;
}

static void add_site(struct sw_scan *s, struct str *text, const char *site)
{
	int first = s->n_packages;

	for (const char *const *name = sw_names(s, site); *name; name++) {
		if (s->n_packages % 256 == 0 && sw_late(s))
			return;
		if (str_ends(*name, ".dist-info"))
			add_metadata(s, text, SW_WHEEL, site, *name);
		else if (str_ends(*name, ".egg-info"))
			add_metadata(s, text, SW_EGG, site, *name);
	}
	/* Sorted by file name, so two of one name are neighbours but for odd spellings. */
	for (int i = first + 1; i < s->n_packages; i++) {
		const struct sw_package *a = &s->packages[i - 1], *b = &s->packages[i];

		if (!a->fault && !b->fault && strcmp(a->name, b->name) == 0)
			sw_add_text(s, &s->twice,
			            tmpf("%s %s and %s in %s", a->name,
			                 a->version ? a->version : "?",
			                 b->version ? b->version : "?", site));
	}
}

/* "name-with-dashes-1.2-py310_0.json": build and version hold no dash. */
static void add_conda(struct sw_scan *s, const char *env)
{
	const char *meta = arena_strf(s->arena, "%s/conda-meta", env);

	for (const char *const *name = sw_names(s, meta); *name; name++) {
		const char *end = *name + strlen(*name) - strlen(".json"), *build, *version;
		struct sw_package *p;

		if (s->n_packages % 256 == 0 && sw_late(s))
			return;
		if (!str_ends(*name, ".json"))
			continue;
		p = sw_add_package(s, SW_CONDA);
		p->dir = env;
		p->info = arena_strf(s->arena, "%s/%s", meta, *name);
		build = memrchr(*name, '-', (size_t)(end - *name));
		version = build ? memrchr(*name, '-', (size_t)(build - *name)) : NULL;
		if (!version) {
			p->name = sw_normal(s->arena, *name, (size_t)(end - *name));
			p->fault = "a name without version and build";
			continue;
		}
		p->name = sw_normal(s->arena, *name, (size_t)(version - *name));
		p->version = arena_strn(s->arena, version + 1, (size_t)(build - version - 1));
		p->build = arena_strn(s->arena, build + 1, (size_t)(end - build - 1));
	}
}

void sw_find_python(struct sw_scan *s)
{
	struct str text = {0};

	find_places(s);
	for (int i = 0; i < s->n_places && !s->cut; i++) {
		if (s->places[i].kind == SW_SITE)
			add_site(s, &text, s->places[i].path);
		else
			add_conda(s, s->places[i].path);
	}
	str_release(&text);
}

const struct sw_package *sw_package_find(const struct sw_scan *s, const char *name, int source,
                                         const struct sw_package *from)
{
	for (int i = from ? (int)(from - s->packages) + 1 : 0; i < s->n_packages; i++)
		if (strcmp(s->packages[i].name, name) == 0 &&
		    (source == SW_ANY || (int)s->packages[i].source == source ||
		     (source == SW_SYSTEM && s->packages[i].source >= SW_DEB)))
			return &s->packages[i];
	return NULL;
}
