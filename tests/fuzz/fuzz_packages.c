/* What a node's disks say is installed: the data bases of rpm in its three containers,
 * dpkg's list, what Python and conda keep, and the stores of images. Each input stands
 * in the place of all. */
#include "fuzz.h"

#include <stdio.h>

#include "base/clock.h"
#include "software.h"

static void find_images(struct sw_scan *s)
{
	struct sw_system sys = {0};

	sw_find_images(s, &sys);
	for (int i = 0; i < sys.images.count; i++)
		fuzz_promise(sys.images.item[i] != NULL, "an image without a name");
}

#define CONTAINERD "var/lib/containerd/io.containerd."
#define DIGEST     "0000000000000000000000000000000000000000000000000000000000000007"

/* Each below a root of its own, or the first would hide the others. */
static const struct {
	const char *root, *file;
	void (*find)(struct sw_scan *s);
} kinds[] = {
	{"a", "var/lib/rpm/rpmdb.sqlite", sw_find_rpm},
	{"b", "var/lib/rpm/Packages.db", sw_find_rpm},
	{"c", "var/lib/rpm/Packages", sw_find_rpm},
	{"d", "var/lib/dpkg/status", sw_find_deb},
	{"e", "usr/lib/python3/dist-packages/x-1.dist-info/METADATA", sw_find_python},
	{"f", "opt/conda/conda-meta/x-1-0.json", sw_find_python},
	{"g", "root/.conda/environments.txt", sw_find_python},
	{"h", "etc/docker/daemon.json", find_images},
	{"i", "var/lib/docker/image/overlay2/repositories.json", find_images},
	{"i", "var/lib/docker/image/overlay2/imagedb/content/sha256/" DIGEST, find_images},
	{"j", "etc/containers/storage.conf", find_images},
	{"k", "var/lib/containers/storage/vfs-images/images.json", find_images},
	{"l", "etc/containerd/config.toml", find_images},
	{"m", CONTAINERD "metadata.v1.bolt/meta.db", find_images},
	{"n", CONTAINERD "content.v1.content/blobs/sha256/" DIGEST, find_images},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char root[128], file[160];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct arena arena = {0};
		struct probe_ctx ctx = {.arena = &arena, .clock = &clock_system, .sys_root = root};
		struct sw_scan s = {.ctx = &ctx,
		                    .arena = &arena,
		                    .root = root,
		                    .until_ns = INT64_MAX,
		                    .environment = "\0"};

		snprintf(root, sizeof(root), "%s/%s", fuzz_folder(), kinds[k].root);
		snprintf(file, sizeof(file), "%s/%s", kinds[k].root, kinds[k].file);
		fuzz_named(file, data, len);
		kinds[k].find(&s);
		for (int i = 0; i < s.n_packages; i++)
			fuzz_promise(s.packages[i].name && *s.packages[i].name &&
			                     (s.packages[i].version || s.packages[i].fault),
			             "a package without name, or without version and why");
		arena_release(&arena);
	}
	return 0;
}
