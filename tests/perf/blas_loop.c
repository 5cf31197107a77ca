/* The bare loop gemm is compared with: cblas_sgemm or cblas_dgemm over and over,
 * nothing else. Usage: blas_loop LIBRARY fp32|fp64 N THREADS SECONDS; prints
 * GFLOP/s of the median of windows of about half a second. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm32(int, int, int, int, int, int, float, const float *, int, const float *, int,
                    float, float *, int);
typedef void gemm64(int, int, int, int, int, int, double, const double *, int, const double *, int,
                    double, double *, int);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	void *library, *a, *b, *c;
	int wide, n, windows = 0;
	double seconds, end, rates[1000];
	void (*set_threads)(int);
	void *entry;

	if (argc != 6 || !(library = dlopen(argv[1], RTLD_NOW)))
		return 3;
	wide = strcmp(argv[2], "fp64") == 0;
	n = atoi(argv[3]);
	seconds = atof(argv[5]);
	*(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
	if (set_threads)
		set_threads(atoi(argv[4]));
	entry = dlsym(library, wide ? "cblas_dgemm" : "cblas_sgemm");
	a = malloc((size_t)n * n * 8);
	b = malloc((size_t)n * n * 8);
	c = calloc((size_t)n * n, 8);
	if (!entry || !a || !b || !c)
		return 3;
	for (int i = 0; i < n * n; i++) {
		double x = rand() / (double)RAND_MAX - 0.5, y = rand() / (double)RAND_MAX - 0.5;

		if (wide) {
			((double *)a)[i] = x;
			((double *)b)[i] = y;
		} else {
			((float *)a)[i] = (float)x;
			((float *)b)[i] = (float)y;
		}
	}
	end = now() + seconds;
	for (int window = -1; windows < 1000 && (now() < end || windows == 0); window++) {
		double start = now(), took;
		int calls = 0;

		do {
			if (wide)
				((gemm64 *)entry)(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
			else
				((gemm32 *)entry)(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
			calls++;
			took = now() - start;
		} while (took < 0.5);
		if (window >= 0)
			rates[windows++] = 2.0 * n * n * n * calls / took / 1e9;
	}
	qsort(rates, (size_t)windows, sizeof(*rates), ascending);
	printf("%.3f\n", rates[windows / 2]);
	return 0;
}
