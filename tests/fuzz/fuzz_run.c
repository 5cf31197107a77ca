/* A run directory with any journal: opened or refused; a journal that says it is intact
 * has a digest. */
#include "fuzz.h"
#include "run/line.h"
#include "run/rundir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rundir run;
	struct error err = {0};

	fuzz_run_json();
	fuzz_named(JOURNAL_FILE, data, len);
	if (rundir_open(&run, fuzz_folder(), RUNDIR_CHAIN | RUNDIR_RAW, &err) == ST_OK) {
		fuzz_promise(run.state != JOURNAL_INTACT || *run.digest, "intact without a digest");
		rundir_effective(&run);
		rundir_close(&run);
	}
	error_release(&err);
	return 0;
}
