/* The plain triad membw is compared with: a[i] = b[i] + s * c[i] in doubles,
 * split over threads, first touch by the thread that uses it. Usage: triad
 * BYTES_PER_ARRAY THREADS SECONDS; prints GB/s of traffic (3 arrays), the
 * median of passes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static size_t count;
static int threads;
static double *a, *b, *c;
static double seconds;
static pthread_barrier_t barrier;
static double rates[100000];
static int passes;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void triad(double *restrict x, const double *restrict y, const double *restrict z, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = y[i] + 3.0 * z[i];
}

static void *work(void *arg)
{
	size_t me = (size_t)arg, from = count * me / (size_t)threads,
	       n = count * (me + 1) / (size_t)threads - from;
	double end = now() + seconds;
	static int go = 1;

	for (size_t i = from; i < from + n; i++)
		a[i] = 0, b[i] = 1, c[i] = 2;
	for (int pass = 0; pass < 100000; pass++) {
		double start;

		pthread_barrier_wait(&barrier);
		if (!go)
			break;
		start = now();
		triad(a + from, b + from, c + from, n);
		pthread_barrier_wait(&barrier);
		if (me == 0) {
			rates[passes++] = 24.0 * (double)count / (now() - start) / 1e9;
			go = now() < end;
		}
	}
	return NULL;
}

static int ascending(const void *x, const void *y)
{
	double d = *(const double *)x - *(const double *)y;

	return (d > 0) - (d < 0);
}

/* Untouched memory, in large pages where the machine allows them: without them
 * the misses of the address translation would be measured too. */
static double *array(void)
{
	void *p = mmap(NULL, count * sizeof(double), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	madvise(p, count * sizeof(double), MADV_HUGEPAGE);
	return p;
}

int main(int argc, char **argv)
{
	pthread_t id[64];

	if (argc != 4 || (threads = atoi(argv[2])) < 1 || threads > 64)
		return 3;
	count = (size_t)atoll(argv[1]) / sizeof(double);
	seconds = atof(argv[3]);
	a = array();
	b = array();
	c = array();
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (size_t i = 0; i < (size_t)threads; i++)
		pthread_create(&id[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	qsort(rates, (size_t)passes, sizeof(*rates), ascending);
	printf("%.3f\n", rates[passes / 2]);
	return 0;
}
