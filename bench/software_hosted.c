/* Who hands out the cards here: scheduler, container runtimes and the images at hand,
 * by their configuration and stores. No daemon is asked: a hung one would hang us. */
#include <string.h>

#include "software.h"

#define STORE_MOST ((size_t)32 << 20)

/* --- scheduler ---------------------------------------------------------------------------- */

static const char *const slurm_dirs[] = {"/etc/slurm", "/etc/slurm-llnl", "/usr/local/etc",
                                         "/run/slurm/conf"};

/* Whether a line of the file begins with the word (any case). */
static bool has_line(struct sw_scan *s, const char *path, const char *word)
{
	struct str text = {0};
	bool found = false;

	if (sw_read(s, &text, path, 1 << 20))
		for (const char *p = str_text(&text); *p && !found; p++) {
			p += strspn(p, " \t");
			found = strncasecmp(p, word, strlen(word)) == 0;
			p += strcspn(p, "\n");
			if (!*p)
				break;
		}
	str_release(&text);
	return found;
}

static void find_slurm(struct sw_scan *s, struct sw_system *sys)
{
	const char *conf = NULL, *gres = NULL, *version = NULL;
	const struct sw_package *deb = sw_package_find(s, "slurmd", SW_DEB, NULL);

	for (size_t i = 0; i < sizeof(slurm_dirs) / sizeof(*slurm_dirs) && !conf; i++)
		if (sw_there(s, tmpf("%s/slurm.conf", slurm_dirs[i])))
			conf = slurm_dirs[i];
	if (!conf && !deb && !sw_there(s, "/usr/sbin/slurmd"))
		return;
	if (conf && (has_line(s, tmpf("%s/gres.conf", conf), "AutoDetect=nv") ||
	             has_line(s, tmpf("%s/gres.conf", conf), "Name=gpu") ||
	             has_line(s, tmpf("%s/gres.conf", conf), "NodeName=")))
		gres = "gpu in gres.conf";
	else if (conf && has_line(s, tmpf("%s/slurm.conf", conf), "GresTypes=gpu"))
		gres = "GresTypes=gpu and no gres.conf";
	if (deb)
		version = deb->version;
	sys->scheduler = arena_strf(s->arena, "Slurm%s%s (%s%s)", version ? " " : "",
	                            version ? version : "", gres ? gres : "no GPU in its gres",
	                            sw_process_runs(s, "slurmd") ? "" : ", slurmd does not run");
	sw_add_item(s, sys, "slurm", version, conf ? conf : "/usr/sbin/slurmd");
}

static void find_kubernetes(struct sw_scan *s, struct sw_system *sys)
{
	const struct sw_package *deb = sw_package_find(s, "kubelet", SW_DEB, NULL);
	bool inside = sw_env(s, "KUBERNETES_SERVICE_HOST") != NULL;
	bool plugin = sw_there(s, "/var/lib/kubelet/device-plugins/nvidia-gpu.sock") ||
	              sw_there(s, "/var/lib/kubelet/device-plugins/nvidia.sock");
	const char *gpus = plugin   ? "NVIDIA device plugin"
	                   : inside ? "seen from a pod"
	                            : "no NVIDIA device plugin";

	if (!deb && !inside && !sw_there(s, "/etc/kubernetes/kubelet.conf") &&
	    !sw_there(s, "/var/lib/kubelet/config.yaml"))
		return;
	sys->scheduler = arena_strf(s->arena, "%s%sKubernetes%s%s (%s)",
	                            sys->scheduler ? sys->scheduler : "",
	                            sys->scheduler ? "; " : "", deb && deb->version ? " " : "",
	                            deb && deb->version ? deb->version : "", gpus);
	sw_add_item(s, sys, "kubernetes", deb ? deb->version : NULL,
	            inside ? "KUBERNETES_SERVICE_HOST" : "/var/lib/kubelet");
}

/* --- containers ---------------------------------------------------------------------------- */

/* {"Repositories":{"name":{"name:tag":"sha256:…","name@sha256:…":"sha256:…"}}} */
static void docker_images(struct sw_scan *s, struct sw_system *sys, const char *path)
{
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
					sw_add_text(
						s, &sys->images,
						tmpf("%s %.19s", tag->string, tag->valuestring));
			}
		}
		json_release(&doc);
	} else {
		sw_add_text(s, &s->unreadable, tmpf("%s: no JSON", path));
	}
	str_release(&text);
}

/* [{"id":"…","names":["…"],"digest":"sha256:…"}] */
static void podman_images(struct sw_scan *s, struct sw_system *sys, const char *path)
{
	const cJSON *image, *name;
	struct str text = {0};
	struct json_doc doc;

	if (sw_read(s, &text, path, STORE_MOST) &&
	    json_parse(&doc, path, str_text(&text), text.len, JSON_DUPLICATES, NULL) == ST_OK) {
		cJSON_ArrayForEach(image, doc.root)
		{
			cJSON_ArrayForEach(name, json_get(image, "names"))
			{
				if (cJSON_IsString(name))
					sw_add_text(s, &sys->images,
					            tmpf("%s %.19s", name->valuestring,
					                 json_string(image, "digest", "?")));
			}
		}
		json_release(&doc);
	}
	str_release(&text);
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

static void find_containers(struct sw_scan *s, struct sw_system *sys)
{
	static const struct {
		const char *name, *path;
	} rows[] = {
		{"docker", "/usr/bin/dockerd"},      {"containerd", "/usr/bin/containerd"},
		{"podman", "/usr/bin/podman"},       {"enroot", "/usr/bin/enroot"},
		{"apptainer", "/usr/bin/apptainer"}, {"singularity", "/usr/bin/singularity"},
		{"cri-o", "/usr/bin/crio"},          {"docker socket", "/run/docker.sock"},
		{"CDI", "/etc/cdi/nvidia.yaml"},     {"CDI", "/run/cdi/nvidia.yaml"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (sw_there(s, rows[i].path))
			sw_add_text(s, &sys->runtimes, rows[i].name);
	docker_images(s, sys, "/var/lib/docker/image/overlay2/repositories.json");
	podman_images(s, sys, "/var/lib/containers/storage/overlay-images/images.json");
	image_files(s, sys, "/var/lib/enroot", ".sqsh");
	image_files(s, sys, "/opt/images", ".sqsh");
	image_files(s, sys, "/opt/images", ".sif");
}

/* Environment modules and Spack: what `module load` offers is said, not opened. */
static void find_modules(struct sw_scan *s, struct sw_system *sys)
{
	const char *path = sw_env(s, "MODULEPATH");

	if (path)
		sw_add_item(s, sys, "modules", NULL, path);
	if (sw_there(s, "/opt/spack/opt/spack/.spack-db/index.json"))
		sw_add_item(s, sys, "spack", NULL, "/opt/spack");
}

void sw_find_hosted(struct sw_scan *s, struct sw_system *sys)
{
	find_slurm(s, sys);
	find_kubernetes(s, sys);
	find_containers(s, sys);
	find_modules(s, sys);
}
