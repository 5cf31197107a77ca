/* Preloaded into a node's processes: its wall clock is SKEW_S seconds ahead, as where
 * nobody keeps time. All else of the clock is the machine's. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*real)(clockid_t id, struct timespec * t);
	const char *skew = getenv("SKEW_S");
	int failed;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	failed = real(id, t);
	if (!failed && skew && id == CLOCK_REALTIME)
		t->tv_sec += atoi(skew);
	return failed;
}
