/* An archive from anyone: nothing is written outside the folder it is unpacked to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "run/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char outer[] = "/tmp/assay-fuzz.XXXXXX", inner[64];
	struct arena arena = {0};
	struct error err = {0};
	const char *top = NULL;
	struct stat info;

	if (!mkdtemp(outer))
		abort();
	snprintf(inner, sizeof(inner), "%s/in", outer);
	if (mkdir(inner, 0700) != 0)
		abort();
	if (archive_unpack(fuzz_file(data, len), inner, &arena, &top, &err) == ST_OK)
		fuzz_promise(top && !strchr(top, '/') && strcmp(top, "..") != 0,
		             "a top that leads out");
	archive_remove(inner);
	fuzz_promise(stat(inner, &info) != 0, "left something");
	fuzz_promise(rmdir(outer) == 0, "something was written beside the folder");
	error_release(&err);
	arena_release(&arena);
	return 0;
}
