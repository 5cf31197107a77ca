/* The pair probe: two real ends on one machine, and what can come between them. */
#include "net_kit.h"

#include <fcntl.h>
#include <math.h>
#include <net/if.h>

#include "net.h"

static const char *const one_way[] = {"net_tcp_gbps", "net_tcp_worst_second"};
static const char *const both_ways[] = {"net_tcp_latency_us", "net_tcp_p99_us"};

static void expect_all(const struct pair *p, enum outcome outcome, const char *code)
{
	for (int m = 0; m < 2; m++) {
		for (int d = 0; d < 2; d++)
			pair_expect(p, one_way[m], d, outcome, code);
		pair_expect(p, both_ways[m], 0, outcome, code);
	}
	assert_int_equal(p->end[0].h.n_readings, 6);
}

/* --- as it should be ----------------------------------------------------------------------------- */

/* Bytes and seconds of the raw file. */
static double raw_gbps(const struct harness *h, const char *name)
{
	const struct harness_raw *raw = harness_raw(h, name);
	double bytes = 0, end = 0;
	const char *line;

	assert_non_null(raw);
	line = strstr(raw->data, "end_s,bytes\n");
	assert_non_null(line);
	while ((line = strchr(line, '\n')) && line[1]) {
		double s;
		unsigned long long n;

		assert_int_equal(sscanf(++line, "%lf,%llu", &s, &n), 2);
		assert_true(s > end);
		end = s;
		bytes += (double)n;
	}
	assert_true(end > 0.15);
	return 8 * bytes / end / 1e9;
}

static void expect_latency(const struct pair *p)
{
	const struct reading *r = pair_expect(p, "net_tcp_latency_us", 0, OUTCOME_MEASURED, NULL);
	const char *raw = harness_raw(&p->end[0].h, "tcp-pings.csv")->data;
	int lines = -1; /* the head */

	assert_true(r->value > 0 && r->value == r->stats[STAT_P50]);
	assert_true(r->stats[STAT_MIN] <= r->value && r->stats[STAT_P99_9] <= r->stats[STAT_MAX]);
	assert_true(r->stats[STAT_N] == 50);
	for (; *raw; raw++)
		lines += *raw == '\n';
	assert_int_equal(lines, 50);
	assert_true(pair_expect(p, "net_tcp_p99_us", 0, OUTCOME_MEASURED, NULL)->value ==
	            r->stats[STAT_P99]);
}

static void both_directions_are_measured(void **state)
{
	static const char *const raws[] = {"tcp-there.csv", "tcp-back.csv"};
	struct pair *p = *state;
	struct harness *h = &p->end[0].h;

	pair_run(p);
	assert_int_equal(h->n_readings, 6);
	for (int d = 0; d < 2; d++) {
		const struct reading *r = pair_expect(p, "net_tcp_gbps", d, OUTCOME_MEASURED, NULL);
		double raw = raw_gbps(h, raws[d]);

		assert_true(r->value > 0);
		assert_true(fabs(r->value - raw) < 1e-4 * raw);
		assert_int_equal(r->subject.n_ends, 2);
		assert_string_equal(r->subject.ends[0].node, d ? "n002" : "n001");
		assert_string_equal(r->subject.ends[1].node, d ? "n001" : "n002");
		assert_true(r->stats[STAT_N] >= 1 && r->stats[STAT_MIN] >= 0);
		assert_true(harness_param(r, "streams") == 4 &&
		            harness_param(r, "block") == 131072);
		assert_true(harness_param(r, "mss") > 0 && harness_param(r, "retransmits") >= 0);
		assert_true(harness_param(r, "sender_cpu_s_per_gb") >= 0);
		assert_true(harness_param(r, "receiver_cpu_s_per_gb") >= 0);
		assert_true(strlen(harness_param_text(h, r, "congestion_control")) > 0);
		assert_non_null(strstr(r->params, "\"address\":\""));
		/* 0.2 s have no second. */
		pair_expect(p, "net_tcp_worst_second", d, OUTCOME_NOT_MEASURED, "net_no_second");
	}
	expect_latency(p);
}

static void a_named_interface_is_used_on_both_ends(void **state)
{
	struct pair *p = *state;
	struct harness *h = &p->end[0].h;
	const struct reading *r;

	pair_set(p, "interface", "lo");
	pair_set(p, "streams", "1");
	pair_run(p);
	r = pair_expect(p, "net_tcp_gbps", 1, OUTCOME_MEASURED, NULL);
	assert_string_equal(r->subject.ends[0].nic, "lo");
	assert_string_equal(r->subject.ends[1].nic, "lo");
	assert_non_null(strstr(r->params, "\"interface\":\"lo\""));
	assert_true(harness_param(r, "streams") == 1);
	assert_int_equal(harness_count(h, "net_tcp_gbps"), 2);
}

/* Pings of 5 ms there and 5 ms back: half of one is said, so that all of them fit
 * into the time that passed, however slow the machine is. */
static void expect_halves(const struct pair *p, int64_t began_ns)
{
	const struct reading *r = pair_expect(p, "net_tcp_latency_us", 0, OUTCOME_MEASURED, NULL);
	double passed_us = (double)(clock_now(&clock_system) - began_ns) / 1e3;

	assert_true(r->stats[STAT_N] >= 10 && r->stats[STAT_N] <= 100);
	assert_true(r->value >= 5000);
	assert_true(2 * r->stats[STAT_N] * r->stats[STAT_MIN] <= passed_us);
}

static void latency_over_a_long_way(void **state)
{
	struct pair *p = *state;
	int64_t began = clock_now(&clock_system);

	pair_set(p, "pings", "100");
	pair_relay(p, (struct relay){.delay_s = 0.005});
	pair_run(p);
	expect_halves(p, began);
	pair_expect(p, "net_tcp_gbps", 0, OUTCOME_MEASURED, NULL);
}

/* --- data that come otherwise ------------------------------------------------------------------------- */

static void spoil(struct pair *p, enum harm harm, bool to_second, size_t after)
{
	const struct reading *r;

	pair_relay(p, (struct relay){.harm = harm, .to_second = to_second, .after = after});
	pair_run(p);
	r = pair_expect(p, "net_tcp_gbps", !to_second, OUTCOME_FAILED, "net_wrong");
	assert_string_equal(r->reason.args[0], to_second ? "n001" : "n002");
	assert_string_equal(r->reason.args[1], to_second ? "n002" : "n001");
	pair_expect(p, "net_tcp_worst_second", !to_second, OUTCOME_FAILED, "net_wrong");
	/* The other direction and the latency stand. */
	pair_expect(p, "net_tcp_gbps", to_second, OUTCOME_MEASURED, NULL);
	pair_expect(p, "net_tcp_latency_us", 0, OUTCOME_MEASURED, NULL);
}

static void a_flipped_bit_is_wrong(void **state)
{
	struct pair *p = *state;
	const struct reading *r;

	/* In the first block, which is compared whole: behind the hello, not in a stamp. */
	pair_set(p, "streams", "1");
	spoil(p, HARM_FLIP, true, 100);
	r = pair_reading(p, "net_tcp_gbps", 0);
	assert_string_equal(r->reason.args[2], "0");
	assert_string_equal(r->reason.args[3], "0");
	assert_string_equal(r->reason.args[4], "100");
}

static void a_flipped_bit_is_wrong_on_the_way_back(void **state)
{
	/* The byte of a stamp of the second block, behind the hellos of two streams. */
	pair_set(*state, "streams", "1");
	spoil(*state, HARM_FLIP, false, 2 * 64 + 131072 + 4096 + 3);
}

static void a_missing_byte_is_wrong(void **state)
{
	spoil(*state, HARM_DROP, true, 1000000);
}

/* --- nobody there ---------------------------------------------------------------------------------------- */

static void do_nothing(struct end *e)
{
	char text[PEER_TEXT_MAX + 1];

	/* Until the first has closed. */
	while (recv(e->texts, text, sizeof(text), 0) > 0)
		continue;
}

static void a_peer_that_never_comes(void **state)
{
	struct pair *p = *state;
	const struct reading *r;

	p->instead = do_nothing;
	pair_set(p, "meet_s", "0.2");
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_peer");
	r = pair_reading(p, "net_tcp_gbps", 0);
	assert_string_equal(r->reason.args[0], "n001");
	assert_string_equal(r->reason.args[1], "n002");
	assert_non_null(strstr(r->reason.args[2], "): Connection timed out"));
}

static void go_away(struct end *e)
{
	(void)e;
}

static void a_peer_that_went_before(void **state)
{
	struct pair *p = *state;

	p->instead = go_away;
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_peer");
}

static void talk_nonsense(struct end *e)
{
	static const char *const texts[] = {"", "nonsense", "[]", "{}",
	                                    "{\"flows\":[1,2],\"fault\":{\"outcome\":\"failed\"}}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		kit_send(&e->h.ctx, 0, texts[i]);
	do_nothing(e);
}

static void nonsense_is_no_peer(void **state)
{
	struct pair *p = *state;

	p->instead = talk_nonsense;
	pair_set(p, "meet_s", "0.5");
	pair_run(p);
	assert_int_equal(p->end[0].h.n_readings, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(p->end[0].h.readings[i].outcome, OUTCOME_NOT_MEASURED);
}

static void other_token(struct end *e, cJSON *offer)
{
	cJSON_ReplaceItemInObject(offer, "token",
	                          cJSON_CreateString("00000000000000000000000000000000"));
	e->meddle = NULL;
}

static void a_wrong_token_opens_nothing(void **state)
{
	struct pair *p = *state;
	const struct reading *r;

	p->end[0].meddle = other_token;
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_peer");
	r = pair_reading(p, "net_tcp_gbps", 0);
	/* The second tells what it tried. */
	assert_string_equal(r->reason.args[0], "n002");
	assert_non_null(strstr(r->reason.args[2], "): Connection reset by peer"));
}

static void other_answer(struct end *e, cJSON *offer)
{
	cJSON *places = cJSON_GetObjectItem(offer, "addresses");

	while (cJSON_GetArraySize(places) > 1)
		cJSON_DeleteItemFromArray(places, 1);
	cJSON_ReplaceItemInObject(offer, "answer",
	                          cJSON_CreateString("00000000000000000000000000000000"));
	e->meddle = NULL;
}

static void a_stranger_on_the_port_is_not_believed(void **state)
{
	struct pair *p = *state;

	/* The first thinks it has met the second, which does not trust it. */
	p->end[0].meddle = other_answer;
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_peer");
	assert_non_null(
		strstr(pair_reading(p, "net_tcp_gbps", 0)->reason.args[2], "): Protocol error"));
}

static void nobody_listens(struct end *e, cJSON *offer)
{
	/* A port that is somebody's who does not listen. */
	cJSON_ReplaceItemInObject(offer, "port", cJSON_CreateNumber(1));
	e->meddle = NULL;
}

static void what_was_tried_is_named(void **state)
{
	struct pair *p = *state;
	const struct reading *r;

	pair_set(p, "interface", "lo");
	p->end[0].meddle = nobody_listens;
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_peer");
	r = pair_reading(p, "net_tcp_latency_us", 0);
	assert_non_null(strstr(r->reason.args[2], "127.0.0.1 (lo): Connection refused"));
}

static void an_interface_that_is_not_there(void **state)
{
	struct pair *p = *state;

	pair_set(p, "interface", "nonesuch0");
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_address");
	assert_string_equal(pair_reading(p, "net_tcp_gbps", 0)->reason.args[0], "n001");
}

static void an_interface_that_the_second_lacks(void **state)
{
	struct pair *p = *state;

	harness_set(&p->end[1].h, "interface", "nonesuch0");
	pair_run(p);
	expect_all(p, OUTCOME_NOT_MEASURED, "net_no_address");
	assert_string_equal(pair_reading(p, "net_tcp_gbps", 0)->reason.args[0], "n002");
}

/* --- gone in the middle --------------------------------------------------------------------------------------- */

static void a_peer_that_dies(void **state)
{
	struct pair *p = *state;

	p->end[0].kill_on_measuring = 1;
	pair_run(p);
	for (int d = 0; d < 2; d++)
		pair_expect(p, "net_tcp_gbps", d, OUTCOME_NOT_MEASURED, "net_peer_gone");
	/* What was known by then is kept. */
	pair_expect(p, "net_tcp_latency_us", 0, OUTCOME_MEASURED, NULL);
}

static void a_stream_that_is_cut(void **state)
{
	struct pair *p = *state;

	pair_relay(p, (struct relay){.harm = HARM_CUT, .to_second = true, .after = 1 << 20});
	pair_run(p);
	pair_expect(p, "net_tcp_gbps", 0, OUTCOME_NOT_MEASURED, "net_peer_gone");
	pair_expect(p, "net_tcp_gbps", 1, OUTCOME_MEASURED, NULL);
}

static void freeze(struct pair *p, bool all)
{
	pair_set(p, "silence_s", "0.3");
	pair_set(p, "seconds", "1");
	pair_relay(p,
	           (struct relay){
			   .harm = HARM_FREEZE, .to_second = true, .all = all, .after = 1 << 20});
	pair_run(p);
	pair_expect(p, "net_tcp_gbps", 0, OUTCOME_TIMED_OUT, "net_stalled");
}

static void data_that_stop_on_the_way(void **state)
{
	struct pair *p = *state;

	/* As where an MTU is wrong: small frames pass, so both directions are told. */
	freeze(p, false);
	pair_expect(p, "net_tcp_gbps", 1, OUTCOME_TIMED_OUT, "net_stalled");
	assert_string_equal(pair_reading(p, "net_tcp_gbps", 1)->reason.args[0], "n002");
}

static void a_network_that_stops(void **state)
{
	freeze(*state, true);
	pair_expect(*state, "net_tcp_gbps", 1, OUTCOME_NOT_MEASURED, "net_peer_gone");
}

static void figures_without_an_end_are_dropped(void **state)
{
	struct pair *p = *state;

	/* To the first go a hello, 60 pongs, three frames of the first direction;
	 * not the one that ends the second. */
	pair_set(p, "silence_s", "0.3");
	pair_relay(p, (struct relay){.harm = HARM_MUTE, .after = (1 + 60 + 3) * 64});
	pair_run(p);
	pair_expect(p, "net_tcp_gbps", 0, OUTCOME_MEASURED, NULL);
	pair_expect(p, "net_tcp_gbps", 1, OUTCOME_NOT_MEASURED, "net_peer_gone");
	/* What had come is kept for who wants to see. */
	assert_non_null(harness_raw(&p->end[0].h, "tcp-back.csv"));
}

/* --- a shaped network -------------------------------------------------------------------------------------------- */

static int own_network(void)
{
	int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (before >= 0 && unshare(CLONE_NEWNET) == 0)
		return before;
	print_message("no network of our own: %s\n", strerror(errno));
	if (before >= 0)
		close(before);
	return -1;
}

/* Two networks and a wire: `shape` at the first's end. Skips where that is not to
 * be had. Returns the network we came from. */
static int wire(struct pair *p, const char *shape)
{
	int home = own_network(), first;
	struct str command = {0};

	if (home < 0)
		skip();
	first = open("/proc/self/ns/net", O_RDONLY); /* for the commands too */
	assert_true(first >= 0 && unshare(CLONE_NEWNET) == 0);
	p->net_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	/* We are in the second's: the wire is laid from here. */
	str_addf(&command,
	         "exec 2>&1; ip link add w1 type veth peer name w0 netns /proc/self/fd/%d &&"
	         " ip addr add 10.99.0.2/24 dev w1 && ip link set w1 up && ip link set lo up &&"
	         " nsenter --net=/proc/self/fd/%d sh -c 'ip addr add 10.99.0.1/24 dev w0 &&"
	         " ip link set w0 up && ip link set lo up && tc qdisc add dev w0 root %s'%s &&"
	         /* The kernel takes its time to see that both ends are plugged in. */
	         " for i in $(seq 100); do { ip link show w1 && nsenter --net=/proc/self/fd/%d"
	         " ip link show w0; } | grep -c 'state UP' | grep -q 2 && exit 0;"
	         " sleep 0.02; done; exit 1",
	         first, first, shape,
	         strstr(shape, "delay") ? " && tc qdisc add dev w1 root netem delay 5ms" : "",
	         first);
	p->no_wire = system(command.data) != 0;
	if (p->no_wire)
		print_message("no network of our own with: %s\n", shape);
	str_release(&command);
	assert_int_equal(setns(first, CLONE_NEWNET), 0);
	close(first);
	return home;
}

static void go_home(struct pair *p, int home)
{
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	if (p->no_wire)
		skip();
}

static void a_slow_link_shows_its_rate(void **state)
{
	struct pair *p = *state;
	int home = wire(p, "tbf rate 20mbit burst 64kb latency 50ms");
	const struct reading *there, *back;

	pair_set(p, "seconds", "0.6");
	if (!p->no_wire)
		pair_run(p);
	go_home(p, home);
	there = pair_expect(p, "net_tcp_gbps", 0, OUTCOME_MEASURED, NULL);
	back = pair_expect(p, "net_tcp_gbps", 1, OUTCOME_MEASURED, NULL);
	/* A hundred times less on a quiet machine. */
	print_message("shaped to 0.02 Gb/s: %.4f there, %.2f back\n", there->value, back->value);
	assert_true(there->value > 0 && there->value < back->value);
	assert_string_equal(there->subject.ends[0].nic, "w0");
	assert_string_equal(there->subject.ends[1].nic, "w1");
	assert_non_null(strstr(there->params, "10.99.0.2"));
}

static void a_long_link_shows_its_latency(void **state)
{
	struct pair *p = *state;
	int home = wire(p, "netem delay 5ms");
	int64_t began = clock_now(&clock_system);

	pair_set(p, "pings", "100");
	if (!p->no_wire)
		pair_run(p);
	go_home(p, home);
	expect_halves(p, began);
}

/* --- arithmetic ------------------------------------------------------------------------------------------------------ */

static struct net made(struct pair *p, int seconds, const double *gbps)
{
	struct net n = {.ctx = &p->end[0].h.ctx, .other = 1};

	for (int d = 0; d < 2; d++) {
		struct net_flow *f = &n.flows[d];
		uint64_t bytes = 0;

		f->points = arena_array(&p->end[0].h.arena, (size_t)seconds * 10 + 1,
		                        sizeof(*f->points));
		f->n_points = seconds * 10 + 1;
		for (int i = 0; i < f->n_points; i++) {
			f->points[i] = (struct net_point){i * NET_TICK_NS, bytes};
			bytes += (uint64_t)(gbps[i / 10] * 1e9 / 80);
		}
	}
	return n;
}

static void the_worst_second_is_the_lowest(void **state)
{
	static const double gbps[] = {10, 10, 2, 10, 8, 0};
	struct pair *p = *state;
	struct net n = made(p, 5, gbps);
	const struct reading *r;

	samples_add(&n.latency, 30);
	assert_int_equal(net_emit(&n), ST_OK);
	assert_true(fabs(pair_reading(p, "net_tcp_gbps", 0)->value - 8) < 1e-9);
	r = pair_expect(p, "net_tcp_worst_second", 1, OUTCOME_MEASURED, NULL);
	assert_true(fabs(r->value - 0.25) < 1e-9);
	assert_non_null(r->raw.file);
	samples_release(&n.latency);
}

static void two_minutes_fit_into_a_text(void **state)
{
	struct pair *p = *state;
	double gbps[121];
	struct net n;
	const char *text;

	for (int i = 0; i < 121; i++)
		gbps[i] = 1600;
	n = made(p, 120, gbps);
	n.flows[0].n_points = 0;
	n.ctx = &p->end[1].h.ctx;
	n.self = 1;
	n.other = 0;
	net_tell(&n);
	n = (struct net){.ctx = &p->end[0].h.ctx, .other = 1};
	assert_int_equal(kit_recv(n.ctx, 1, 1, &text), ST_OK);
	assert_false(net_hear(&n, "{"));
	assert_true(net_hear(&n, text));
	/* Points are told of the direction that the second receives. */
	assert_int_equal(n.flows[1].n_points, 0);
	assert_true(strlen(text) < PEER_TEXT_MAX);
}

static void address(struct net_address *a, const char *text, int prefix)
{
	assert_true(net_address_parse(a, text));
	a->text = text;
	a->prefix = (uint8_t)prefix;
}

static void near_addresses_come_first(void **state)
{
	struct net_address mine[4] = {0}, theirs[5] = {0};
	struct net_addresses ours = {mine, 3}, list = {theirs, 5};

	(void)state;
	address(&mine[0], "172.17.0.1", 16);
	address(&mine[1], "10.1.2.3", 23);
	address(&mine[2], "fd00:1::2", 64);
	address(&theirs[0], "172.17.0.1", 0);
	address(&theirs[1], "192.168.7.7", 0);
	address(&theirs[2], "10.1.4.1", 0);
	address(&theirs[3], "10.1.3.9", 0);
	address(&theirs[4], "fd00:1::77", 0);
	net_addresses_order(&list, &ours);
	assert_string_equal(theirs[0].text, "10.1.3.9");
	assert_string_equal(theirs[1].text, "fd00:1::77");
	assert_string_equal(theirs[2].text, "192.168.7.7");
	assert_string_equal(theirs[3].text, "10.1.4.1");
	assert_string_equal(theirs[4].text, "172.17.0.1");
	assert_false(net_address_parse(&mine[3], "node7"));
	assert_false(net_address_parse(&mine[3], "10.1.2.3.4"));
}

static void alone_there_is_only_loopback(void **state)
{
	struct pair *p = *state;
	int home = own_network();
	struct net_addresses all;

	if (home < 0)
		skip();
	assert_int_equal(system("ip link set lo up"), 0);
	all = net_addresses_read(&p->end[0].h.arena, "", NULL);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	assert_true(all.count >= 1);
	assert_string_equal(all.list[0].text, "127.0.0.1");
	assert_string_equal(all.list[0].interface, "lo");
	assert_int_equal(all.list[0].prefix, 8);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, pair_set_up, pair_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(both_directions_are_measured),
		PAIR_TEST(a_named_interface_is_used_on_both_ends),
		PAIR_TEST(latency_over_a_long_way),
		PAIR_TEST(a_flipped_bit_is_wrong),
		PAIR_TEST(a_flipped_bit_is_wrong_on_the_way_back),
		PAIR_TEST(a_missing_byte_is_wrong),
		PAIR_TEST(a_peer_that_never_comes),
		PAIR_TEST(a_peer_that_went_before),
		PAIR_TEST(nonsense_is_no_peer),
		PAIR_TEST(a_wrong_token_opens_nothing),
		PAIR_TEST(a_stranger_on_the_port_is_not_believed),
		PAIR_TEST(what_was_tried_is_named),
		PAIR_TEST(an_interface_that_is_not_there),
		PAIR_TEST(an_interface_that_the_second_lacks),
		PAIR_TEST(a_peer_that_dies),
		PAIR_TEST(a_stream_that_is_cut),
		PAIR_TEST(data_that_stop_on_the_way),
		PAIR_TEST(a_network_that_stops),
		PAIR_TEST(figures_without_an_end_are_dropped),
		PAIR_TEST(a_slow_link_shows_its_rate),
		PAIR_TEST(a_long_link_shows_its_latency),
		PAIR_TEST(the_worst_second_is_the_lowest),
		PAIR_TEST(two_minutes_fit_into_a_text),
		PAIR_TEST(near_addresses_come_first),
		PAIR_TEST(alone_there_is_only_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
