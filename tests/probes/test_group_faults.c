/* Groups of real processes of which one dies, stops, does not come, lies or leaves:
 * all others name it, in time. */
#include "ring_kit.h"

/* --- tokens ------------------------------------------------------------------------- */

static void spoil(cJSON *offer, const char *key)
{
	cJSON_GetObjectItem(offer, key)->valuestring[5] ^= 1;
}

static void spoil_token(struct member *m, cJSON *offer)
{
	(void)m;
	spoil(offer, "token");
}

static void spoil_answer(struct member *m, cJSON *offer)
{
	(void)m;
	spoil(offer, "answer");
}

static void no_port(struct member *m, cJSON *offer)
{
	(void)m;
	cJSON_ReplaceItemInObject(offer, "port", cJSON_CreateNumber(70000));
}

static int open_only(struct ring *r, int i)
{
	struct group *g;
	struct error err = {0};
	int64_t began = clock_now(&clock_system);
	enum status st = group_open(&r->m[i].ctx, r->m[i].interface, in_s(PATIENT_S), &g, &err);
	int wrong = note(r, i, g, st, &err, began);

	group_close(g);
	return wrong;
}

static struct ring *spoilt(void (*meddle)(struct member *, cJSON *))
{
	struct ring *r = ring_new(3, open_only);

	r->m[1].meddle = meddle;
	ring_start(r);
	return r;
}

/* Neither of the two can know more than that it did not meet the other one. */
static void expect_unmet(struct ring *r, const char *words)
{
	const struct found *f = r->shared->found;

	ring_end(r, -1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(f[i].st, ST_TIMEOUT);
		assert_true(f[i].blamed == 0 || f[i].blamed == 1);
		assert_true(strstr(f[i].text, "joining of 3 nodes: ") == f[i].text);
	}
	assert_int_equal(f[0].blamed, 1);
	if (!strstr(f[0].text, words))
		fail_msg("%s", f[0].text);
	assert_int_equal(f[1].blamed, 0);
	assert_non_null(strstr(f[1].text, "n001 did not connect to n002"));
	ring_free(r);
}

/* --- who is missing ----------------------------------------------------------------------------- */

/* Member 2 is hit by a signal in the middle of a sum. */
static int hit(struct ring *r, int i)
{
	const size_t count = 4000000;
	float *x = calloc(count, sizeof(*x));
	struct group *g;
	struct error err = {0};
	enum status st;
	int64_t began;

	CHECK(x);
	CHECK(group_open(&r->m[i].ctx, "lo", in_s(LIMIT_S), &g, &err) == ST_OK);
	if (i == 2)
		r->m[i].signal = r->m[0].signal;
	r->m[i].after = 40;
	if (i == 0)
		r->m[i].signal = 0;
	began = clock_now(&clock_system);
	st = group_all_reduce_float(g, x, count, in_s(PATIENT_S), &err);
	CHECK(i != 2);
	CHECK(note(r, i, g, st, &err, began) == 0);
	/* It stays broken, and says the same at once. */
	CHECK(group_barrier(g, in_s(LIMIT_S), &err) == st);
	CHECK(strcmp(str_text(&err.text), r->shared->found[i].text) == 0);
	error_release(&err);
	group_close(g);
	free(x);
	return 0;
}

/* Member 1 joins and then has other things to do. */
static int absent(struct ring *r, int i)
{
	struct group *g;
	struct error err = {0};
	int64_t began;
	enum status st;

	CHECK(group_open(&r->m[i].ctx, "lo", in_s(LIMIT_S), &g, &err) == ST_OK);
	while (i == 1)
		pause();
	began = clock_now(&clock_system);
	st = group_barrier(g, in_s(PATIENT_S), &err);
	CHECK(note(r, i, g, st, &err, began) == 0);
	group_close(g);
	return 0;
}

/* Member 3 never comes. */
static int stays_away(struct ring *r, int i)
{
	while (i == 3)
		pause();
	return open_only(r, i);
}

static struct ring *ring_hit(int with)
{
	struct ring *r = ring_new(4, hit);

	/* Taken over by member 2; the others must not feel it before. */
	r->m[0].signal = with;
	r->m[0].after = INT32_MAX;
	ring_start(r);
	return r;
}

/* Nobody waits without end. */
static void release(struct ring *r)
{
	for (int i = 0; i < r->n; i++)
		assert_true(r->shared->found[i].seconds < LIMIT_S);
	ring_free(r);
}

static void expect_hit(struct ring *dead, struct ring *stopped)
{
	ring_end(dead, 2);
	expect(dead, 2, ST_IO, 2, "all-reduce of 4 nodes: n003 is gone: its connection to ");
	release(dead);
	ring_end(stopped, 2);
	expect(stopped, 2, ST_TIMEOUT, 2, "n003 is silent: it did not answer n004, which had");
	release(stopped);
}

static void expect_absent(struct ring *busy)
{
	const struct found *f = busy->shared->found;

	ring_end(busy, 1);
	expect(busy, 1, ST_TIMEOUT, 1, "n002 did not arrive: it did not answer n003, which had");
	assert_non_null(strstr(f[2].text, "known to n003 to have arrived: 1 of 4"));
	assert_non_null(strstr(f[3].text, "known to n004 to have arrived: 2 of 4"));
	assert_non_null(strstr(f[0].text, "known to n001 to have arrived: 3 of 4"));
	release(busy);
}

static void expect_away(struct ring *away)
{
	const struct found *f = away->shared->found;

	ring_end(away, 3);
	expect(away, 3, ST_TIMEOUT, 3, "joining of 4 nodes: n00");
	assert_non_null(strstr(f[2].text, "n003 heard nothing of n004 by way of the coordinator"));
	assert_non_null(strstr(f[0].text, "n004 did not connect to n001"));
	release(away);
}

static void expect_no_interface(struct ring *r)
{
	ring_end(r, -1);
	expect(r, -1, ST_TIMEOUT, 1, "joining of 3 nodes: n002 ");
	assert_non_null(
		strstr(r->shared->found[0].text, "n002 cannot listen for n001: Cannot assign"));
	release(r);
}

static bool take_any(struct group *g, struct group_job *job, const struct group_head *head)
{
	(void)g;
	(void)job;
	(void)head;
	return true;
}

/* A call in which all wait and nobody sends: all answer, so nobody is named. */
static int waits(struct ring *r, int i)
{
	struct group_job job = {.kind = GROUP_BARRIER, .to_recv = 1, .take = take_any};
	struct group *g;
	struct error err = {0};
	int64_t began;
	enum status st;

	CHECK(group_open(&r->m[i].ctx, "lo", in_s(LIMIT_S), &g, &err) == ST_OK);
	began = clock_now(&clock_system);
	st = group_turn(g, &job, in_s(PATIENT_S), &err);
	CHECK(note(r, i, g, st, &err, began) == 0);
	group_close(g);
	return 0;
}

static struct ring *started(struct ring *r)
{
	ring_start(r);
	return r;
}

/* All at the same time: most of it is waiting. */
static void test_in_vain(void **state)
{
	struct ring *dead = ring_hit(SIGKILL), *stopped = ring_hit(SIGSTOP);
	struct ring *busy = started(ring_new(4, absent)), *away = started(ring_new(4, stays_away));
	struct ring *token = spoilt(spoil_token), *answer = spoilt(spoil_answer);
	struct ring *port = spoilt(no_port), *slow = started(ring_new(4, waits));
	struct ring *interface = ring_new(3, open_only);

	(void)state;
	interface->m[1].interface = "none0";
	ring_start(interface);
	expect_hit(dead, stopped);
	expect_absent(busy);
	expect_away(away);
	expect_unmet(token,
	             "n001 and n002 did not meet over TCP: 127.0.0.1 (lo): Connection reset");
	expect_unmet(answer, "127.0.0.1 (lo): Protocol error");
	expect_unmet(port, "n002 cannot listen for n001");
	expect_no_interface(interface);
	ring_end(slow, -1);
	expect(slow, -1, ST_TIMEOUT, -1, "barrier of 4 nodes: not done in time, though all answer");
	release(slow);
}

/* --- who does something else ---------------------------------------------------------------- */

enum oddity { OTHER_CALL, OTHER_SIZE, OTHER_WIDTH, NOISE, LEAVES, ODDITIES };

/* Member 1 is the odd one; which oddity, is in m[0].after. */
static int odd(struct ring *r, int i)
{
	enum oddity what = (enum oddity)r->m[0].after;
	double x[64] = {0};
	struct group *g;
	struct error err = {0};
	int64_t began;
	enum status st;
	size_t count = i == 1 && what == OTHER_SIZE ? 63 : 64;

	CHECK(group_open(&r->m[i].ctx, "lo", in_s(LIMIT_S), &g, &err) == ST_OK);
	began = clock_now(&clock_system);
	if (i == 1 && what == NOISE)
		CHECK(send(g->right_fd, x, sizeof(x), MSG_NOSIGNAL) == sizeof(x));
	if (i == 1 && what == LEAVES)
		st = ST_OK;
	else if (i == 1 && what == OTHER_CALL)
		st = group_barrier(g, in_s(PATIENT_S), &err);
	else if (i == 1 && what == OTHER_WIDTH)
		st = group_all_reduce_float(g, (float *)x, count, in_s(PATIENT_S), &err);
	else
		st = group_all_reduce_double(g, x, count, in_s(PATIENT_S), &err);
	CHECK(note(r, i, g, st, &err, began) == 0);
	group_close(g);
	return 0;
}

/* The odd one sees that its left neighbour differs, as the right one does of it; the
 * first word is believed. */
static void expect_mixed(const struct found *f, int what)
{
	for (int i = 0; i < 4; i++) {
		assert_int_equal(f[i].st, ST_CORRUPT);
		assert_true(f[i].blamed == 1 || (f[i].blamed == 0 && what != NOISE));
		assert_non_null(strstr(f[i].text, "belongs to another call"));
	}
}

static void test_oddities(void **state)
{
	(void)state;
	for (int what = 0; what < ODDITIES; what++) {
		struct ring *r = ring_new(4, odd);
		const struct found *f = r->shared->found;

		r->m[0].after = what;
		ring_start(r);
		ring_end(r, -1);
		if (what == LEAVES) {
			expect(r, 1, ST_IO, 1, "all-reduce of 4 nodes: n002 left the group while ");
			assert_int_equal(f[1].st, ST_OK);
		} else {
			expect_mixed(f, what);
		}
		ring_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_oddities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
