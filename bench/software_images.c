/* Container images at hand: their names by the stores of the runtimes, and what each
 * configuration tells in its environment and labels about what is inside. Nothing is
 * unpacked or started, no daemon is asked, and of the environment only variables that
 * are known to be versions are looked at: others may be secrets. */
#include <string.h>

#include "software.h"

#define STORE_MOST  ((size_t)32 << 20)
#define CONFIG_MOST ((size_t)1 << 20)
#define BLOBS_MOST  5000 /* looked at in the store of containerd */

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

/* --- docker ------------------------------------------------------------------------------------ */

static const char docker_dir[] = "/var/lib/docker/image/overlay2";

static bool is_digest(const char *text)
{
	return str_starts(text, "sha256:") && strlen(text) == 71 &&
	       strspn(text + 7, "0123456789abcdef") == 64;
}

static void docker_image(struct sw_scan *s, struct sw_system *sys, const cJSON *tag)
{
	struct str inside = {0};

	if (is_digest(tag->valuestring))
		read_config(s,
		            arena_strf(s->arena, "%s/imagedb/content/sha256/%s", docker_dir,
		                       tag->valuestring + 7),
		            &inside);
	add_image(s, sys, tag->string, tag->valuestring, &inside);
	str_release(&inside);
}

/* {"Repositories":{"name":{"name:tag":"sha256:…","name@sha256:…":"sha256:…"}}} */
static void docker_images(struct sw_scan *s, struct sw_system *sys)
{
	const char *path = arena_strf(s->arena, "%s/repositories.json", docker_dir);
	const cJSON *repository, *tag;
	struct str text = {0};
	struct json_doc doc;

	if (!sw_read(s, &text, path, STORE_MOST)) {
		str_release(&text);
		return;
	}
	if (json_parse(&doc, path, str_text(&text), text.len, JSON_DUPLICATES, NULL) == ST_OK) {
		cJSON_ArrayForEach(repository, json_get(doc.root, "Repositories"))
		{
			cJSON_ArrayForEach(tag, repository)
			{
				if (tag->string && !strchr(tag->string, '@') && cJSON_IsString(tag))
					docker_image(s, sys, tag);
			}
		}
		json_release(&doc);
	} else {
		sw_add_text(s, &s->unreadable, tmpf("%s: no JSON", path));
	}
	str_release(&text);
}

/* --- podman ------------------------------------------------------------------------------------ */

static const char podman_dir[] = "/var/lib/containers/storage/overlay-images";

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

static void podman_config(struct sw_scan *s, const char *id, struct str *inside)
{
	const char *path = arena_strf(s->arena, "%s/%s/manifest", podman_dir, id);
	struct str text = {0}, name = {0};
	struct json_doc doc;

	if (sw_read(s, &text, path, CONFIG_MOST) &&
	    json_parse(&doc, path, str_text(&text), text.len, JSON_DUPLICATES, NULL) == ST_OK) {
		const char *digest = json_string(json_get(doc.root, "config"), "digest", "");

		if (is_digest(digest)) {
			str_addf(&name, "%s/%s/=", podman_dir, id);
			add_base64(&name, digest);
			read_config(s, name.data, inside);
		}
		json_release(&doc);
	}
	str_release(&text);
	str_release(&name);
}

static void podman_image(struct sw_scan *s, struct sw_system *sys, const cJSON *image)
{
	const char *id = json_string(image, "id", "");
	struct str inside = {0};
	const cJSON *name;

	if (*id && !strchr(id, '/'))
		podman_config(s, id, &inside);
	cJSON_ArrayForEach(name, json_get(image, "names"))
	{
		if (cJSON_IsString(name))
			add_image(s, sys, name->valuestring, json_string(image, "digest", "?"),
			          &inside);
	}
	str_release(&inside);
}

/* [{"id":"…","names":["…"],"digest":"sha256:…"}] */
static void podman_images(struct sw_scan *s, struct sw_system *sys)
{
	const char *path = arena_strf(s->arena, "%s/images.json", podman_dir);
	struct str text = {0};
	struct json_doc doc;
	const cJSON *image;

	if (sw_read(s, &text, path, STORE_MOST) &&
	    json_parse(&doc, path, str_text(&text), text.len, JSON_DUPLICATES, NULL) == ST_OK) {
		cJSON_ArrayForEach(image, doc.root) podman_image(s, sys, image);
		json_release(&doc);
	}
	str_release(&text);
}

/* --- others ------------------------------------------------------------------------------------ */

/* Names of containerd's images lie in a data base of its own; configurations among its
 * blobs are known by what is in them, and blobs of layers by their size. */
static void containerd_images(struct sw_scan *s, struct sw_system *sys)
{
	static const char dir[] =
		"/var/lib/containerd/io.containerd.content.v1.content/blobs/sha256";
	const char *const *names = sw_there(s, dir) ? sw_names(s, dir) : NULL;
	struct str inside = {0};

	for (int n = 0; names && names[n] && n < BLOBS_MOST && !sw_late(s); n++) {
		const char *path = arena_strf(s->arena, "%s/%s", dir, names[n]);
		struct stat at;

		str_clear(&inside);
		if (sw_stat(s, path, &at) && at.st_size < (off_t)CONFIG_MOST &&
		    read_config(s, path, &inside))
			add_image(s, sys, "containerd", tmpf("sha256:%s", names[n]), &inside);
	}
	str_release(&inside);
}

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
