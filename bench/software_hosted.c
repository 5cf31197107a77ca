/* Who hands out the cards here: scheduler, container runtimes and the images at hand,
 * by their configuration and stores. No daemon is asked: a hung one would hang us. */
#include <string.h>

#include "software.h"

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
	const struct sw_package *package = sw_package_find(s, "slurmd", SW_SYSTEM, NULL);

	if (!package) /* as the rpm is called */
		package = sw_package_find(s, "slurm-slurmd", SW_SYSTEM, NULL);
	for (size_t i = 0; i < sizeof(slurm_dirs) / sizeof(*slurm_dirs) && !conf; i++)
		if (sw_there(s, tmpf("%s/slurm.conf", slurm_dirs[i])))
			conf = slurm_dirs[i];
	if (!conf && !package && !sw_there(s, "/usr/sbin/slurmd"))
		return;
	if (conf && (has_line(s, tmpf("%s/gres.conf", conf), "AutoDetect=nv") ||
	             has_line(s, tmpf("%s/gres.conf", conf), "Name=gpu") ||
	             has_line(s, tmpf("%s/gres.conf", conf), "NodeName=")))
		gres = "gpu in gres.conf";
	else if (conf && has_line(s, tmpf("%s/slurm.conf", conf), "GresTypes=gpu"))
		gres = "GresTypes=gpu and no gres.conf";
	if (package)
		version = package->version;
	sys->scheduler = arena_strf(s->arena, "Slurm%s%s (%s%s)", version ? " " : "",
	                            version ? version : "", gres ? gres : "no GPU in its gres",
	                            sw_process_runs(s, "slurmd") ? "" : ", slurmd does not run");
	sw_add_item(s, sys, "slurm", version, conf ? conf : "/usr/sbin/slurmd");
}

static void find_kubernetes(struct sw_scan *s, struct sw_system *sys)
{
	const struct sw_package *package = sw_package_find(s, "kubelet", SW_SYSTEM, NULL);
	bool inside = sw_env(s, "KUBERNETES_SERVICE_HOST") != NULL;
	bool plugin = sw_there(s, "/var/lib/kubelet/device-plugins/nvidia-gpu.sock") ||
	              sw_there(s, "/var/lib/kubelet/device-plugins/nvidia.sock");
	const char *gpus = plugin   ? "NVIDIA device plugin"
	                   : inside ? "seen from a pod"
	                            : "no NVIDIA device plugin";

	if (!package && !inside && !sw_there(s, "/etc/kubernetes/kubelet.conf") &&
	    !sw_there(s, "/var/lib/kubelet/config.yaml"))
		return;
	sys->scheduler = arena_strf(
		s->arena, "%s%sKubernetes%s%s (%s)", sys->scheduler ? sys->scheduler : "",
		sys->scheduler ? "; " : "", package && package->version ? " " : "",
		package && package->version ? package->version : "", gpus);
	sw_add_item(s, sys, "kubernetes", package ? package->version : NULL,
	            inside ? "KUBERNETES_SERVICE_HOST" : "/var/lib/kubelet");
}

/* --- containers ---------------------------------------------------------------------------- */

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
	sw_find_images(s, sys);
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
