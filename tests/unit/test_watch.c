/* The watch on a clock of its own: days in a moment, boots, steps, a full disk, a
 * second watch, cards that fail and peers that go. What it wrote is read back by
 * what judges it. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "service/moment.h"
#include "service/peers.h"
#include "service/watch.h"
#include "tests/unit/service_kit.h"

/* --- a machine that is not there --------------------------------------------------------- */

struct scene {
	struct clock_source clock;
	int64_t mono_ns, ahead_ns; /* wall = mono + ahead */
	int64_t step_at_ns, step_ns;
	int64_t fail_from_ns, fail_to_ns; /* monotonic: peer 0 is away */
	bool nobody;                      /* … and all others with it */
	int64_t full_from_ns, full_to_ns;
	struct probe_facts facts;
	int64_t worse_at_ns; /* from then on the facts are these */
	struct probe_facts worse;
	bool probing;
	int probes, troubles, seals;
	char sealed[64], digest[SHA256_HEX];
	volatile sig_atomic_t stop;
};

static int64_t now_ns(void *self)
{
	return ((struct scene *)self)->mono_ns;
}

static int64_t wall_ns(void *self)
{
	struct scene *s = self;

	return s->mono_ns + s->ahead_ns;
}

/* A file size limit stands for a full disk. */
static void limit_files(bool full)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = full ? 1000 : limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void sleep_ns(void *self, int64_t ns)
{
	struct scene *s = self;
	int64_t before = s->mono_ns;

	s->mono_ns += ns;
	if (before < s->step_at_ns && s->mono_ns >= s->step_at_ns)
		s->ahead_ns += s->step_ns;
	if (s->full_to_ns)
		limit_files(s->mono_ns >= s->full_from_ns && s->mono_ns < s->full_to_ns);
}

static void look(void *arg, bool *reached, int count)
{
	struct scene *s = arg;
	bool away = s->mono_ns >= s->fail_from_ns && s->mono_ns < s->fail_to_ns;

	for (int i = 0; i < count; i++)
		reached[i] = !(away && (i == 0 || s->nobody));
}

static void probe_start(void *arg)
{
	struct scene *s = arg;

	s->probing = true;
	s->probes++;
}

static bool probe_over(void *arg, struct probe_facts *facts)
{
	struct scene *s = arg;

	*facts = s->worse_at_ns && s->mono_ns >= s->worse_at_ns ? s->worse : s->facts;
	s->probing = false;
	return true;
}

static void sealed(void *arg, const char *day, int64_t lines, const char *digest)
{
	struct scene *s = arg;

	s->seals++;
	snprintf(s->sealed, sizeof(s->sealed), "%s %lld", day, (long long)lines);
	memcpy(s->digest, digest, sizeof(s->digest));
}

static void trouble(void *arg, const struct error *err)
{
	assert_true(err->status != ST_OK);
	((struct scene *)arg)->troubles++;
}

static char *dir;
static struct scene scene;
static struct availability a;
static const char *const peers[] = {"n002", "n003"};

static int begin(void **state)
{
	static const struct probe_facts good = {.ended = true,
	                                        .started = true,
	                                        .cards = 8,
	                                        .kernel_ms = 1,
	                                        .xid = 0,
	                                        .ecc = 0,
	                                        .links = 0};

	(void)state;
	dir = fresh_dir();
	a = (struct availability){0};
	scene = (struct scene){.mono_ns = 1000 * S, .facts = good, .worse = good};
	scene.clock = (struct clock_source){now_ns, wall_ns, sleep_ns, &scene};
	scene.ahead_ns = at("2026-11-01T00:00:00Z") - scene.mono_ns;
	return 0;
}

static int end(void **state)
{
	(void)state;
	limit_files(false);
	availability_release(&a);
	dir_remove(dir, NULL);
	free(dir);
	return 0;
}

static void watch_for(double seconds, const char *boot, int n_peers)
{
	const struct watch_hooks hooks = {&scene.clock, look,    probe_start, probe_over,
	                                  sealed,       trouble, &scene};
	const struct watch_options options = {.dir = dir,
	                                      .node = "n001",
	                                      .boot_id = boot,
	                                      .agent = true,
	                                      .peers = peers,
	                                      .n_peers = n_peers,
	                                      .period_s = 10,
	                                      .probe_s = 300,
	                                      .cards = -1,
	                                      .slow_share = NAN,
	                                      .for_s = seconds,
	                                      .stop = &scene.stop};
	struct error err = {0};

	if (watch_run(&options, &hooks, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static void judge(void)
{
	static const struct availability_options usual = {
		.target = 0.999, .days = 30, .repair_min = 30};
	const char *const paths[] = {dir};
	struct error err = {0};

	if (availability_read(&a, paths, 1, &usual, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

/* --- the node itself ---------------------------------------------------------------------- */

static void an_hour(void **state)
{
	(void)state;
	watch_for(3600, "b1", 0);
	judge();
	near(a.up_s, 3600, 0.01);
	near(a.unknown_s, 0, 0);
	assert_int_equal(scene.probes, 12);
	assert_int_equal(a.n_nodes, 1);
}

static void days_are_sealed(void **state)
{
	(void)state;
	scene.mono_ns += 86400 * S - 35 * S;
	watch_for(60, "b1", 0);
	assert_int_equal(scene.seals, 1);
	/* start, beats at 0, 10, 20, 30 */
	assert_string_equal(scene.sealed, "2026-11-01 5");
	judge();
	near(a.up_s, 60, 0.01);
}

static void a_reboot_is_down_and_counts_once(void **state)
{
	(void)state;
	watch_for(600, "b1", 0);
	/* The farewell is cut off, as a crash would have it; half a beat stays. */
	{
		struct str text = {0};
		const char *path = tmpf("%s/n001%s", dir, HEARTBEAT_ENDING);

		file_read(&text, path, 1 << 20, NULL);
		text.data[text.len - 1] = '\0';
		text.len = (size_t)(strrchr(text.data, '\n') - text.data) + 31;
		file_write(path, text.data, text.len, NULL);
		str_release(&text);
	}
	scene.ahead_ns += scene.mono_ns + 300 * S - 50 * S;
	scene.mono_ns = 50 * S;
	watch_for(600, "b2", 0);
	judge();
	near(a.down_s, 310, 0.01);
	near(a.up_s, 590 + 600, 0.01);
	assert_int_equal(a.n_outages, 1);
	assert_int_equal(a.n_notes, 0);
}

static void clock_steps(void **state)
{
	(void)state;
	scene.step_at_ns = scene.mono_ns + 600 * S;
	scene.step_ns = -1800 * S;
	watch_for(3600, "b1", 0);
	judge();
	assert_int_equal(a.nodes[0].steps, 1);
	near(a.down_s, 0, 0);
	assert_true(a.up_s + a.unknown_s < 3600);
	assert_true(a.unknown_s > 1700 && a.unknown_s < 1900);
}

static void a_full_disk_loses_no_time(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	scene.full_from_ns = scene.mono_ns + 600 * S;
	scene.full_to_ns = scene.mono_ns + 1800 * S;
	watch_for(3600, "b1", 0);
	judge();
	assert_true(scene.troubles > 100);
	near(a.up_s, 3600, 0.01);
	near(a.unknown_s, 0, 0);
	assert_true(a.nodes[0].lost_beats >= 119 && a.nodes[0].lost_beats <= 121);
}

static void two_watches_do_not_share_a_log(void **state)
{
	struct heartbeat_log one, two;
	struct error err = {0};

	(void)state;
	assert_int_equal(heartbeat_log_open(&one, dir, "n001", NULL), ST_OK);
	assert_int_equal(heartbeat_log_open(&two, dir, "n001", &err), ST_EXISTS);
	assert_non_null(strstr(str_text(&err.text), "another watch"));
	error_release(&err);
	heartbeat_log_close(&one);
}

static void an_altered_log_is_not_gone_on_with(void **state)
{
	struct heartbeat_log log;
	struct str text = {0};
	struct error err = {0};
	const char *path = tmpf("%s/n001%s", dir, HEARTBEAT_ENDING);

	(void)state;
	watch_for(60, "b1", 0);
	file_read(&text, path, 1 << 20, NULL);
	*strstr(text.data, ",beat,") = ';';
	file_write(path, text.data, text.len, NULL);
	str_release(&text);
	assert_true(heartbeat_log_open(&log, dir, "n001", &err) != ST_OK);
	error_release(&err);
}

/* --- cards -------------------------------------------------------------------------------- */

static void degraded_from(const struct probe_facts *worse, double want_s)
{
	scene.worse = *worse;
	scene.worse_at_ns = scene.mono_ns + 1000 * S;
	watch_for(3600, "b1", 0);
	judge();
	near(a.degraded_s, want_s, 10.01);
	near(a.degraded_s + a.up_s, 3600, 0.01);
	near(a.down_s, 0, 0);
}

static void a_card_less_is_degraded(void **state)
{
	struct probe_facts f = scene.facts;

	(void)state;
	f.cards = 7;
	degraded_from(&f, 3600 - 1210);
}

static void a_probe_that_hangs_is_degraded(void **state)
{
	struct probe_facts f = scene.facts;

	(void)state;
	f.ended = false;
	degraded_from(&f, 3600 - 1210);
}

static void a_probe_that_cannot_start_is_not(void **state)
{
	struct probe_facts f = scene.facts;

	(void)state;
	f.ended = f.started = false;
	degraded_from(&f, 0);
}

/* New errors count for the time between two probes, old ones do not. */
static void new_errors_are_degraded_once(void **state)
{
	struct probe_facts f = scene.facts;

	(void)state;
	f.xid = 3;
	degraded_from(&f, 300);
}

static void slower_kernels_are_recorded_alone(void **state)
{
	struct probe_facts f = scene.facts;

	(void)state;
	f.kernel_ms = 50;
	degraded_from(&f, 0);
}

static void readings_become_facts(void **state)
{
	struct probe_facts f;

	(void)state;
	probe_facts_read(
		&f,
		"{\"metric\":\"heartbeat_cpu_ms\",\"value\":9,\"outcome\":\"measured\"}\n"
		"{\"metric\":\"heartbeat_kernel_ms\",\"value\":0.5,\"outcome\":\"measured\"}\n"
		"{\"metric\":\"heartbeat_kernel_ms\",\"value\":0.7,\"outcome\":\"measured\"}\n"
		"{\"metric\":\"heartbeat_kernel_ms\",\"value\":null,\"outcome\":\"lost\"}\n"
		"{\"metric\":\"heartbeat_ecc\",\"value\":2,\"outcome\":\"measured\"}\n"
		"{\"metric\":\"heartbeat_ecc\",\"value\":1,\"outcome\":\"measured\"}\n"
		"not json\n"
		"{\"metric\":\"heartbeat_xids\",\"value\":null,\"outcome\":\"not_measured\"}\n");
	assert_int_equal(f.cards, 2);
	assert_int_equal(f.bad_cards, 1);
	near(f.kernel_ms, 0.7, 0);
	assert_int_equal(f.ecc, 3);
	assert_int_equal(f.xid, -1);
	probe_facts_read(&f,
	                 "{\"metric\":\"heartbeat_cpu_ms\",\"value\":9,\"outcome\":\"measured\"}");
	assert_int_equal(f.cards, -1);
	near(f.kernel_ms, 9, 0);
}

/* --- others ---------------------------------------------------------------------------------- */

static void a_peer_that_goes_is_down(void **state)
{
	(void)state;
	scene.fail_from_ns = scene.mono_ns + 1000 * S;
	scene.fail_to_ns = scene.mono_ns + 1300 * S;
	watch_for(3600, "b1", 2);
	judge();
	assert_int_equal(a.n_nodes, 3);
	near(a.down_s, 300, 10);
	assert_int_equal(a.n_outages, 1);
	assert_string_equal(a.nodes[a.outages[0].node].name, "n002");
	near(a.unknown_s, 0, 0.01);
}

static void nobody_reached_may_be_us(void **state)
{
	(void)state;
	scene.fail_from_ns = scene.mono_ns + 1000 * S;
	scene.fail_to_ns = scene.mono_ns + 1300 * S;
	scene.nobody = true;
	watch_for(3600, "b1", 2);
	judge();
	near(a.down_s, 0, 0);
	near(a.unknown_s, 600, 20);
	assert_int_equal(a.n_outages, 0);
}

static int listening(int *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void looks_at_sockets(void **state)
{
	struct arena arena = {0};
	struct peers p;
	bool reached[2] = {false};
	int port, fd = listening(&port);
	const char *text;

	(void)state;
	/* One listens; the other refuses, which somebody must be there to do. */
	text = tmpf("open=127.0.0.1:%d,shut=[127.0.0.1]:1", port);
	assert_int_equal(peers_parse(&p, &arena, text, NULL), ST_OK);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.names[0], "open");
	assert_int_equal(peers_resolve(&p, NULL), ST_OK);
	peers_look(&p, 2000, reached);
	assert_true(reached[0] && reached[1]);
	close(fd);
	arena_release(&arena);
}

static void bad_peers(const char *text, const char *words)
{
	struct arena arena = {0};
	struct error err = {0};
	struct peers p;

	assert_int_equal(peers_parse(&p, &arena, text, &err), ST_USAGE);
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), words);
	error_release(&err);
	arena_release(&arena);
}

static void names_of_peers(void **state)
{
	static const char hosts[] =
		"# rack 1\nn001 slots=8\n\nn002=10.0.0.2:2222\r\n  n003 # spare\n";
	const char *file = tmpf("%s/hosts", dir);
	struct arena arena = {0};
	struct peers p;

	(void)state;
	assert_int_equal(file_write(file, hosts, strlen(hosts), NULL), ST_OK);
	assert_int_equal(peers_parse(&p, &arena, file, NULL), ST_OK);
	assert_int_equal(p.count, 3);
	assert_string_equal(p.names[1], "n002");
	assert_string_equal(p.names[2], "n003");
	arena_release(&arena);
	bad_peers("n001,n001:22", "n001 twice");
	bad_peers("n001:", "\"n001:\" is not");
	bad_peers("=10.0.0.1", "is not");
	bad_peers(",", "no host");
	bad_peers("[fe80::1", "is not");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_hour),
		TEST(days_are_sealed),
		TEST(a_reboot_is_down_and_counts_once),
		TEST(clock_steps),
		TEST(a_full_disk_loses_no_time),
		TEST(two_watches_do_not_share_a_log),
		TEST(an_altered_log_is_not_gone_on_with),
		TEST(a_card_less_is_degraded),
		TEST(a_probe_that_hangs_is_degraded),
		TEST(a_probe_that_cannot_start_is_not),
		TEST(new_errors_are_degraded_once),
		TEST(slower_kernels_are_recorded_alone),
		TEST(readings_become_facts),
		TEST(a_peer_that_goes_is_down),
		TEST(nobody_reached_may_be_us),
		TEST(looks_at_sockets),
		TEST(names_of_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
