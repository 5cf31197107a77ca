/* A run directory with any journal: opened or refused; a journal that says it is intact
 * has a digest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz.h"
#include "run/rundir.h"

static const char run_json[] =
	"{\"v\":1,\"id\":\"0123456789abcdef\",\"created\":\"2026-12-02T03:04:05.678Z\","
	"\"version\":\"0.1.0\",\"build\":\"b\",\"host\":\"h\",\"command\":\"assay run\","
	"\"vendor\":null,\"profile\":null,\"profile_sha256\":null,\"budget\":\"quick\","
	"\"seed\":\"0123456789abcdef\",\"expected\":{\"nodes\":1,\"cards\":null},"
	"\"storage\":[],\"only\":[],\"skip\":[],\"settings\":[]}\n";

static char dir[] = "/tmp/assay-fuzz.XXXXXX";

static void remove_dir(void)
{
	static const char *const files[] = {"run.json", "readings.jsonl"};
	char path[256];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void put(const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int made;
	struct rundir run;
	struct error err = {0};

	if (!made) {
		if (!mkdtemp(dir))
			abort();
		atexit(remove_dir);
		put("run.json", run_json, sizeof(run_json) - 1);
		made = 1;
	}
	put("readings.jsonl", data, len);
	if (rundir_open(&run, dir, RUNDIR_CHAIN | RUNDIR_RAW, &err) == ST_OK) {
		fuzz_promise(run.state != JOURNAL_INTACT || *run.digest, "intact without a digest");
		rundir_effective(&run);
		rundir_close(&run);
	}
	error_release(&err);
	return 0;
}
