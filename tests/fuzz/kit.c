#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "import/import.h"
#include "run/line.h"
#include "score/score.h"

#define NAMES     32
#define NAME_MOST 160
#define PATH_ROOM (64 + NAME_MOST)

const char *fuzz_file(const uint8_t *data, size_t len)
{
	static char path[64];
	static int fd = -1;

	if (fd >= 0)
		close(fd);
	fd = memfd_create("input", 0);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* In memory where there is such a place: a file a run wears a disk. */
static char folder[64];
static char names[NAMES][NAME_MOST];
static int n_names;

static void remove_folder(void)
{
	char path[PATH_ROOM];

	for (int i = 0; i < n_names; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", folder, NAME_MOST - 1, names[i]);
		unlink(path);
		for (char *cut; (cut = strrchr(path, '/')) > path + strlen(folder);) {
			*cut = '\0';
			rmdir(path);
		}
	}
	rmdir(folder);
}

const char *fuzz_folder(void)
{
	if (*folder)
		return folder;
	snprintf(folder, sizeof(folder), "%s/assay-fuzz.XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder))
		abort();
	atexit(remove_folder);
	return folder;
}

static void make_folders(char *path)
{
	for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			abort();
	}
}

const char *fuzz_named(const char *name, const void *data, size_t len)
{
	static char path[PATH_ROOM];
	int known = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name);
	while (known < n_names && strcmp(names[known], name) != 0)
		known++;
	if (known == NAMES || strlen(name) >= sizeof(names[0]))
		abort();
	if (known == n_names) {
		snprintf(names[n_names++], sizeof(names[0]), "%s", name);
		make_folders(path);
	}
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		abort();
	return path;
}

void fuzz_run_json(void)
{
	static const char run_json[] =
		"{\"v\":1,\"id\":\"0123456789abcdef\",\"created\":\"2026-12-02T03:04:05.678Z\","
		"\"version\":\"0.1.0\",\"build\":\"b\",\"host\":\"h\",\"command\":\"assay run\","
		"\"vendor\":null,\"profile\":null,\"profile_sha256\":null,\"budget\":\"quick\","
		"\"seed\":\"0123456789abcdef\",\"expected\":{\"nodes\":1,\"cards\":null},"
		"\"storage\":[],\"only\":[],\"skip\":[],\"settings\":[]}\n";
	static int made;

	if (!made++)
		fuzz_named(RUN_FILE, run_json, sizeof(run_json) - 1);
}

const struct metric_set *fuzz_metrics(void)
{
	static const struct metric *tables[64];
	static const struct metric none[] = {{0}};
	static struct metric_set set = {.tables = tables, .planned = none};
	int n = 0;

	while (probe_table[n] && n < 62) {
		tables[n] = probe_table[n]->metrics;
		n++;
	}
	tables[n] = import_metrics;
	return &set;
}

const struct metric *fuzz_metric(const char *name)
{
	return metric_find(fuzz_metrics(), name, NULL);
}

void fuzz_promise(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}
