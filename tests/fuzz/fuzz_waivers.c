/* Waivers that were granted to a run: none without a rule and a reason, and none that were
 * granted for another record. */
#include "fuzz.h"

#include <string.h>

#include "run/waivers.h"

#define DIGEST "0000000000000000000000000000000000000000000000000000000000000000"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct rundir run = {0};
	struct waiver_list list = {0};
	struct error err = {0};
	char path[256];

	strcpy(path, fuzz_named(WAIVERS_FILE, data, len));
	*strrchr(path, '/') = '\0';
	run.path = path;
	run.digest = DIGEST;
	if (waivers_of_run(&list, &arena, &run, true, &err) == ST_OK)
		for (int i = 0; i < list.n; i++)
			fuzz_promise(list.items[i].rule && list.items[i].reason &&
			                     strspn(list.items[i].reason, " \t") <
			                             strlen(list.items[i].reason),
			             "a waiver without rule or reason");
	error_release(&err);
	arena_release(&arena);
	return 0;
}
