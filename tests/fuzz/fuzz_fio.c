/* What fio printed: a figure that counts is finite and positive. */
#include <math.h>

#include "fio.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct fio_result r = {0};

	fio_read(&r, &arena, (const char *)data, len, &(struct fio_asked){.runtime_s = 1});
	if (r.outcome == OUTCOME_MEASURED)
		fuzz_promise(isfinite(r.iops) && r.iops >= 0, "a figure that is none");
	arena_release(&arena);
	return 0;
}
