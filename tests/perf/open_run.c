/* Times opening a run directory with the whole chain checked, as score does,
 * and what memory it takes: the part of the performance bars that reading is.
 *
 *     open_run DIR
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "run/rundir.h"

int main(int argc, char **argv)
{
	struct error err = {0};
	struct rundir run;
	struct rusage usage;
	int64_t start, opened, merged;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return EXIT_USAGE;
	}
	start = clock_now(&clock_system);
	if (rundir_open(&run, argv[1], RUNDIR_CHAIN, &err) != ST_OK) {
		fprintf(stderr, "%s\n", str_text(&err.text));
		error_release(&err);
		return EXIT_USAGE;
	}
	opened = clock_now(&clock_system);
	rundir_effective(&run);
	merged = clock_now(&clock_system);
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRId64 " readings, %.1f MB, state %d: open %.3f s, effective %.3f s, %ld MB\n",
	       run.n_readings, (double)run.map_len / 1e6, (int)run.state,
	       (double)(opened - start) / NS_PER_S, (double)(merged - opened) / NS_PER_S,
	       usage.ru_maxrss / 1024);
	rundir_close(&run);
	return 0;
}
