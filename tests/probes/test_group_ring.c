/* Sums round rings of real processes, bit for bit, and strangers who knock. */
#include "ring_kit.h"

#include <arpa/inet.h>

#include "net_link.h"

/* --- as it should be --------------------------------------------------------------------- */

/* Of many magnitudes, so that another order of adding shows. */
static double value(int node, size_t k)
{
	uint64_t h = ((uint64_t)node * 1000003 + k + 1) * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 29;
	return (double)(int64_t)(h * 0xbf58476d1ce4e5b9ULL) / (double)(1ULL << (h >> 58));
}

static double whole(int node, size_t k)
{
	return (double)((k * 7 + (size_t)node * 13) % 1000) - 500;
}

static int segment_of(size_t k, size_t count, int n)
{
	size_t longer = count % (size_t)n, base = count / (size_t)n;

	return (int)(k < longer * (base + 1) ? k / (base + 1)
	                                     : longer + (k - longer * (base + 1)) / base);
}

static double sum_double(double (*x)(int, size_t), size_t k, size_t count, int n)
{
	int s = segment_of(k, count, n);
	double sum = x(s, k);

	for (int i = 1; i < n; i++)
		sum += x((s + i) % n, k);
	return sum;
}

static float sum_float(double (*x)(int, size_t), size_t k, size_t count, int n)
{
	int s = segment_of(k, count, n);
	float sum = (float)x(s, k);

	for (int i = 1; i < n; i++)
		sum += (float)x((s + i) % n, k);
	return sum;
}

/* Guards stand on both sides of the array. */
static int try_sums(struct ring *r, struct group *g, int i, size_t count, double (*x)(int, size_t))
{
	float *f = malloc((count + 2) * sizeof(*f));
	double *d = malloc((count + 2) * sizeof(*d));
	struct error err = {0};

	CHECK(f && d);
	f[0] = f[count + 1] = 1234.5f;
	d[0] = d[count + 1] = 1234.5;
	for (size_t k = 0; k < count; k++) {
		f[k + 1] = (float)x(i, k);
		d[k + 1] = x(i, k);
	}
	CHECK(group_all_reduce_float(g, f + 1, count, in_s(LIMIT_S), &err) == ST_OK);
	CHECK(group_all_reduce_double(g, d + 1, count, in_s(LIMIT_S), &err) == ST_OK);
	for (size_t k = 0; k < count; k++) {
		float ef = sum_float(x, k, count, r->n);
		double ed = sum_double(x, k, count, r->n);

		CHECK(memcmp(&ef, &f[k + 1], sizeof(ef)) == 0);
		CHECK(memcmp(&ed, &d[k + 1], sizeof(ed)) == 0);
	}
	CHECK(f[0] == 1234.5f && f[count + 1] == 1234.5f);
	CHECK(d[0] == 1234.5 && d[count + 1] == 1234.5);
	free(f);
	free(d);
	return 0;
}

/* Exact whatever the order: against another formula than the ring's. */
static int try_whole(struct ring *r, struct group *g, int i, size_t count)
{
	double *d = malloc((count + 1) * sizeof(*d));
	struct error err = {0};

	CHECK(d);
	for (size_t k = 0; k < count; k++)
		d[k] = whole(i, k);
	CHECK(group_all_reduce_double(g, d, count, in_s(LIMIT_S), &err) == ST_OK);
	for (size_t k = 0; k < count; k++) {
		int64_t sum = 0;

		for (int node = r->n - 1; node >= 0; node--)
			sum += (int64_t)whole(node, k);
		CHECK(d[k] == (double)sum);
	}
	free(d);
	return 0;
}

static int try_barriers(struct ring *r, struct group *g)
{
	struct error err = {0};

	for (int k = 0; k < ROUNDS; k++) {
		atomic_fetch_add(&r->shared->arrived[k], 1);
		CHECK(group_barrier(g, in_s(LIMIT_S), &err) == ST_OK);
		CHECK(atomic_load(&r->shared->arrived[k]) == r->n);
	}
	return 0;
}

static int all_calls(struct ring *r, int i)
{
	const size_t n = (size_t)r->n;
	const size_t sizes[] = {0, 1, n - 1, n, n + 1, 1001, 1000007};
	struct group *g;
	struct error err = {0};
	int wrong = 0;

	CHECK(group_open(&r->m[i].ctx, r->m[i].interface, in_s(LIMIT_S), &g, &err) == ST_OK);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes) && !wrong; k++) {
		wrong = try_sums(r, g, i, sizes[k], value);
		if (!wrong)
			wrong = try_whole(r, g, i, sizes[k]);
	}
	if (!wrong)
		wrong = try_barriers(r, g);
	group_close(g);
	return wrong;
}

static void test_all_calls(void **state)
{
	static const int sizes[] = {1, 2, 3, 4, 8};

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct ring *r = ring_new(sizes[k], all_calls);

		ring_start(r);
		ring_end(r, -1);
		ring_free(r);
	}
}

/* --- strangers --------------------------------------------------------------------- */

static int stranger_dial(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		exit(41);
	return fd;
}

/* Before the left one knows the port: one with another token, who stays, one with
 * the right token who goes again, as after too long a wait, and one who is no node. */
static void strangers(struct member *m, cJSON *offer)
{
	int port = cJSON_GetObjectItem(offer, "port")->valueint;
	int fd = stranger_dial(port);
	char other[NET_TOKEN + 1];

	m->meddle = NULL;
	memset(other, '7', NET_TOKEN);
	m->stranger = fd;
	net_frame_send(fd, NET_CONTROL, 0, other);
	fd = stranger_dial(port);
	net_frame_send(fd, NET_CONTROL, 0, cJSON_GetObjectItem(offer, "token")->valuestring);
	close(fd);
	fd = stranger_dial(port);
	net_frame_send(fd, NET_STREAM, 0, cJSON_GetObjectItem(offer, "token")->valuestring);
	close(fd);
}

static int among_strangers(struct ring *r, int i)
{
	struct group *g;
	struct error err = {0};
	float x[3] = {1, 2, (float)i};
	char byte;

	if (i == 1)
		r->m[i].meddle = strangers;
	CHECK(group_open(&r->m[i].ctx, "lo", in_s(LIMIT_S), &g, &err) == ST_OK);
	CHECK(group_all_reduce_float(g, x, 3, in_s(LIMIT_S), &err) == ST_OK);
	CHECK(x[0] == 3 && x[1] == 6 && x[2] == 3);
	/* It was shown the door and told nothing. */
	CHECK(i != 1 || recv(r->m[i].stranger, &byte, 1, 0) <= 0);
	if (i == 1)
		close(r->m[i].stranger);
	group_close(g);
	return 0;
}

static void test_strangers(void **state)
{
	struct ring *r = ring_new(3, among_strangers);

	(void)state;
	ring_start(r);
	ring_end(r, -1);
	ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_calls),
		cmocka_unit_test(test_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
