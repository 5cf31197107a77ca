/* Container images at hand: their names by the stores of the runtimes, and what each
 * configuration tells in its environment and labels about what is inside. Nothing is
 * unpacked or started, no daemon is asked, and of the environment only variables that
 * are known to be versions are looked at: others may be secrets. */
#include <errno.h>
#include <string.h>

#include "software.h"

#define STORE_MOST  ((size_t)32 << 20)
#define CONFIG_MOST ((size_t)1 << 20)
#define BLOBS_MOST  5000 /* looked at in the store of containerd */
#define DEPTH_MOST  4    /* of lists of manifests within lists */

/* --- what a configuration tells -------------------------------------------------------------- */

/* To add one: a row. */
static const char *const versions[] = {
	"PYTORCH_VERSION",    "NVIDIA_PYTORCH_VERSION",
	"TENSORFLOW_VERSION", "NVIDIA_TENSORFLOW_VERSION",
	"JAX_VERSION",        "CUDA_VERSION",
	"NCCL_VERSION",       "CUDNN_VERSION",
	"NV_CUDNN_VERSION",   "NVIDIA_REQUIRE_CUDA",
	"MOFED_VERSION",      "HPCX_VERSION",
	"OPENMPI_VERSION",    "NVIDIA_BUILD_ID",
};
static const char *const labels[] = {
	"org.opencontainers.image.title",
	"org.opencontainers.image.version",
	"org.opencontainers.image.revision",
	"com.nvidia.build.id",
};

static void told(struct str *out, const char *name, const char *value)
{
	str_addf(out, "%s%s ", out->len ? ", " : "", name);
	str_add_printable(out, value, strnlen(value, 80));
}

static void add_environment(struct str *out, const cJSON *environment)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, environment)
	{
		const char *text = cJSON_IsString(item) ? item->valuestring : "";
		size_t len = strcspn(text, "=");

		for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
			if (strlen(versions[i]) == len && strncmp(versions[i], text, len) == 0 &&
			    text[len] == '=' && text[len + 1])
				told(out, versions[i], text + len + 1);
	}
}

/* Whether it is the configuration of an image: {"config":{"Env":[…],"Labels":{…}},"rootfs":…}.
 * What it tells is added to `out`. */
static bool read_config(struct sw_scan *s, const char *path, struct str *out)
{
	struct str text = {0};
	struct json_doc doc;
	bool is_config = false;

	if (sw_read(s, &text, path, CONFIG_MOST) && *str_text(&text) == '{' &&
	    json_parse(&doc, path, text.data, text.len, JSON_DUPLICATES, NULL) == ST_OK) {
		const cJSON *config = json_get(doc.root, "config");

		is_config = cJSON_IsObject(json_get(doc.root, "rootfs")) && cJSON_IsObject(config);
		if (is_config) {
			const cJSON *all = json_get(config, "Labels");

			add_environment(out, json_get(config, "Env"));
			for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
				if (*json_string(all, labels[i], ""))
					told(out, labels[i], json_string(all, labels[i], ""));
		}
		json_release(&doc);
	}
	str_release(&text);
	return is_config;
}

/* "name:tag sha256:0123456789ab (CUDA_VERSION 12.8, …)" */
static void add_image(struct sw_scan *s, struct sw_system *sys, const char *name,
                      const char *digest, const struct str *inside)
{
	sw_add_text(s, &sys->images,
	            inside->len ? tmpf("%s %.19s (%s)", name, digest, inside->data)
	                        : tmpf("%s %.19s", name, digest));
}

static bool is_digest(const char *text)
{
	return str_starts(text, "sha256:") && strlen(text) == 71 &&
	       strspn(text + 7, "0123456789abcdef") == 64;
}

/* A store that is there and closed to us is no empty one. */
static bool is_store(struct sw_scan *s, struct sw_system *sys, const char *path)
{
	struct stat at;

	if (sw_stat(s, path, &at))
		return true;
	if (errno != ENOENT && errno != ENOTDIR)
		sw_add_text(s, &sys->unread, tmpf("%s: %s", path, strerror(errno)));
	return false;
}

/* NULL, and the document is to be released; or why there is none. */
static const char *read_json(struct sw_scan *s, const char *path, size_t most, struct json_doc *doc)
{
	struct str text = {0};
	const char *why = NULL;

	if (!sw_read(s, &text, path, most))
		why = "cannot be read";
	else if (json_parse(doc, path, str_text(&text), text.len, JSON_DUPLICATES, NULL) != ST_OK)
		why = "no JSON";
	str_release(&text);
	return why;
}

/* A file of a store as JSON; what is there and is none is noted. To be released. */
static bool load(struct sw_scan *s, struct sw_system *sys, const char *path, size_t most,
                 struct json_doc *doc)
{
	const char *why;

	if (!is_store(s, sys, path))
		return false;
	why = read_json(s, path, most, doc);
	if (why)
		sw_add_text(s, &sys->unread, tmpf("%s: %s", path, why));
	return !why;
}

/* Value of "key = value" in a file of settings, its quotes taken off; or NULL. */
static const char *setting(struct sw_scan *s, const char *path, const char *key)
{
	struct str text = {0};
	const char *value = NULL;
	char *rest = NULL;

	if (sw_read(s, &text, path, CONFIG_MOST) && text.len)
		for (char *line = strtok_r(text.data, "\r\n", &rest); line && !value;
		     line = strtok_r(NULL, "\r\n", &rest)) {
			char *p = line + strspn(line, " \t");

			if (!str_starts(p, key))
				continue;
			p += strlen(key);
			p += strspn(p, " \t");
			value = *p == '=' ? sw_quoted(s->arena, p, "=") : NULL;
		}
	str_release(&text);
	return value && *value == '/' ? value : NULL;
}

/* --- docker ------------------------------------------------------------------------------------ */

static void docker_image(struct sw_scan *s, struct sw_system *sys, const char *dir,
                         const cJSON *tag)
{
	struct str inside = {0};

	if (is_digest(tag->valuestring))
		read_config(s,
		            arena_strf(s->arena, "%s/imagedb/content/sha256/%s", dir,
		                       tag->valuestring + 7),
		            &inside);
	add_image(s, sys, tag->string, tag->valuestring, &inside);
	str_release(&inside);
}

/* {"Repositories":{"name":{"name:tag":"sha256:…","name@sha256:…":"sha256:…"}}} */
static void docker_store(struct sw_scan *s, struct sw_system *sys, const char *dir)
{
	const cJSON *repository, *tag;
	struct json_doc doc;

	if (!load(s, sys, arena_strf(s->arena, "%s/repositories.json", dir), STORE_MOST, &doc))
		return;
	cJSON_ArrayForEach(repository, json_get(doc.root, "Repositories"))
	{
		cJSON_ArrayForEach(tag, repository)
		{
			if (tag->string && !strchr(tag->string, '@') && cJSON_IsString(tag))
				docker_image(s, sys, dir, tag);
		}
	}
	json_release(&doc);
}

/* A store for each way to lay files over each other: overlay2, btrfs … */
static void docker_images(struct sw_scan *s, struct sw_system *sys)
{
	const char *root = "/var/lib/docker", *dir;
	struct json_doc doc;

	if (load(s, sys, "/etc/docker/daemon.json", CONFIG_MOST, &doc)) {
		root = arena_str(s->arena, json_string(doc.root, "data-root", root));
		json_release(&doc);
	}
	dir = arena_strf(s->arena, "%s/image", root);
	if (*root != '/' || !is_store(s, sys, dir))
		return;
	for (const char *const *name = sw_names(s, dir); *name; name++)
		docker_store(s, sys, arena_strf(s->arena, "%s/%s", dir, *name));
}

/* --- podman ------------------------------------------------------------------------------------ */

/* Its store names a blob by "=" and the digest in base64. */
static void add_base64(struct str *out, const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i += 3) {
		unsigned bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < len ? (unsigned char)text[i + k] : 0u);
		for (size_t k = 0; k < 4; k++)
			str_addc(out, i + k > len ? '=' : digits[bits >> (18 - 6 * k) & 63]);
	}
}

static void podman_config(struct sw_scan *s, struct sw_system *sys, const char *dir, const char *id,
                          struct str *inside)
{
	struct str name = {0};
	struct json_doc doc;

	if (load(s, sys, arena_strf(s->arena, "%s/%s/manifest", dir, id), CONFIG_MOST, &doc)) {
		const char *digest = json_string(json_get(doc.root, "config"), "digest", "");

		if (is_digest(digest)) {
			str_addf(&name, "%s/%s/=", dir, id);
			add_base64(&name, digest);
			read_config(s, name.data, inside);
		}
		json_release(&doc);
	}
	str_release(&name);
}

static void podman_image(struct sw_scan *s, struct sw_system *sys, const char *dir,
                         const cJSON *image)
{
	const char *id = json_string(image, "id", "");
	struct str inside = {0};
	const cJSON *name;

	if (*id && !strchr(id, '/'))
		podman_config(s, sys, dir, id, &inside);
	cJSON_ArrayForEach(name, json_get(image, "names"))
	{
		if (cJSON_IsString(name))
			add_image(s, sys, name->valuestring, json_string(image, "digest", "?"),
			          &inside);
	}
	str_release(&inside);
}

/* [{"id":"…","names":["…"],"digest":"sha256:…"}] in GRAPHROOT/overlay-images, vfs-images … */
static void podman_images(struct sw_scan *s, struct sw_system *sys)
{
	const char *root = setting(s, "/etc/containers/storage.conf", "graphroot");
	struct json_doc doc;
	const cJSON *image;

	root = root ? root : "/var/lib/containers/storage";
	if (!is_store(s, sys, root))
		return;
	for (const char *const *name = sw_names(s, root); *name; name++) {
		const char *dir = arena_strf(s->arena, "%s/%s", root, *name);

		if (!str_ends(*name, "-images") ||
		    !load(s, sys, arena_strf(s->arena, "%s/images.json", dir), STORE_MOST, &doc))
			continue;
		cJSON_ArrayForEach(image, doc.root) podman_image(s, sys, dir, image);
		json_release(&doc);
	}
}

/* --- containerd -------------------------------------------------------------------------------- */

static const char *blob_path(struct sw_scan *s, const char *root, const char *digest)
{
	return arena_strf(s->arena, "%s/io.containerd.content.v1.content/blobs/sha256/%s", root,
	                  digest + strlen("sha256:"));
}

/* From a manifest, or the first of a list of them that was fetched, to the configuration. */
static void manifest_config(struct sw_scan *s, const char *root, const char *digest,
                            struct str *inside, int depth)
{
	struct json_doc doc;
	const char *config;
	const cJSON *one;

	if (!is_digest(digest) || depth == DEPTH_MOST || inside->len ||
	    read_json(s, blob_path(s, root, digest), CONFIG_MOST, &doc))
		return;
	config = json_string(json_get(doc.root, "config"), "digest", "");
	if (is_digest(config))
		read_config(s, blob_path(s, root, config), inside);
	cJSON_ArrayForEach(one, json_get(doc.root, "manifests"))
	{
		manifest_config(s, root, json_string(one, "digest", ""), inside, depth + 1);
	}
	json_release(&doc);
}

/* Kubernetes gives an image its digests as names too; they tell only where no name does. */
static bool is_alias(const struct sw_named_list *list, int which)
{
	const struct sw_named *n = &list->item[which];

	if (str_starts(n->name, "sha256:"))
		return true;
	for (int i = 0; i < list->count && strchr(n->name, '@'); i++)
		if (!strchr(list->item[i].name, '@') &&
		    !str_starts(list->item[i].name, "sha256:") &&
		    strcmp(list->item[i].digest, n->digest) == 0)
			return true;
	return false;
}

static void named_images(struct sw_scan *s, struct sw_system *sys, const char *root,
                         const struct sw_named_list *list)
{
	struct str inside = {0};

	for (int i = 0; i < list->count && !sw_late(s); i++) {
		if (is_alias(list, i))
			continue;
		str_clear(&inside);
		manifest_config(s, root, list->item[i].digest, &inside, 0);
		add_image(s, sys, list->item[i].name, list->item[i].digest, &inside);
	}
	str_release(&inside);
}

/* Configurations among the blobs are known by what is in them, and blobs of layers by
 * their size. */
static void nameless_images(struct sw_scan *s, struct sw_system *sys, const char *root)
{
	const char *dir =
		arena_strf(s->arena, "%s/io.containerd.content.v1.content/blobs/sha256", root);
	const char *const *names = is_store(s, sys, dir) ? sw_names(s, dir) : NULL;
	struct str inside = {0};

	for (int n = 0; names && names[n] && n < BLOBS_MOST && !sw_late(s); n++) {
		const char *path = arena_strf(s->arena, "%s/%s", dir, names[n]);
		struct stat at;

		str_clear(&inside);
		if (sw_stat(s, path, &at) && at.st_size < (off_t)CONFIG_MOST &&
		    read_config(s, path, &inside))
			add_image(s, sys, "(name not known)", tmpf("sha256:%s", names[n]), &inside);
	}
	str_release(&inside);
}

static void containerd_store(struct sw_scan *s, struct sw_system *sys, const char *root)
{
	const char *names = arena_strf(s->arena, "%s/io.containerd.metadata.v1.bolt/meta.db", root);
	struct sw_named_list list = {0};

	if (!is_store(s, sys, root))
		return;
	if (is_store(s, sys, names) && sw_bolt_images(s, names, &list)) {
		named_images(s, sys, root, &list);
		return;
	}
	sw_add_text(s, &sys->unread, tmpf("%s: names of images are not known", names));
	nameless_images(s, sys, root);
}

static void containerd_images(struct sw_scan *s, struct sw_system *sys)
{
	const char *root = setting(s, "/etc/containerd/config.toml", "root");

	containerd_store(s, sys, root ? root : "/var/lib/containerd");
	containerd_store(s, sys, "/var/lib/rancher/k3s/agent/containerd");
}

/* --- others ------------------------------------------------------------------------------------ */

/* Squash files of enroot and apptainer have no digest but their name. */
static void image_files(struct sw_scan *s, struct sw_system *sys, const char *dir,
                        const char *ending)
{
	if (!sw_there(s, dir))
		return;
	for (const char *const *name = sw_names(s, dir); *name; name++)
		if (str_ends(*name, ending))
			sw_add_text(s, &sys->images, tmpf("%s/%s", dir, *name));
}

void sw_find_images(struct sw_scan *s, struct sw_system *sys)
{
	docker_images(s, sys);
	podman_images(s, sys);
	containerd_images(s, sys);
	image_files(s, sys, "/var/lib/enroot", ".sqsh");
	image_files(s, sys, "/opt/images", ".sqsh");
	image_files(s, sys, "/opt/images", ".sif");
}
