/* What a node's disks say is installed: the data bases of rpm in its three containers,
 * dpkg's list, and what Python and conda keep. Each input stands in the place of all. */
#include "fuzz.h"

#include <stdio.h>

#include "base/clock.h"
#include "software.h"

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
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char root[128], file[128];

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
