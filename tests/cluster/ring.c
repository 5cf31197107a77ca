/* Ranks that talk through assay/comm.h, for the tests of launchers, modules and
 * loss. `ring [--module M] [--nodes N] [--log FILE] WHAT [NUMBER]`:
 *   hello        joins the world and leaves it
 *   ring         every rank sends to every rank: sizes 0 to 20 MiB, in order, intact
 *   kill V       rank V dies by SIGKILL; the others notice, go on, and end
 *   stop V       the same with SIGSTOP
 *   choke V      the same, and after a second it dies: with much unsent for it
 *   cut V        nobody does anything to V; the test cuts its host off
 *   flood V      all send small messages to rank V as fast as it takes them
 *   idle S       polls for S seconds; tells what that costs
 * Each rank ends with a line on stdout; those of a loss go to FILE, since a launcher
 * that lost a host may drop what the others say. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "coord/comm.h"

#define MAX_RANKS  64
#define POLL_NS    (5 * NS_PER_MS)
#define LOSS_NS    (2000 * NS_PER_MS)
#define LOSS_BEATS 30 /* of each of the others meanwhile */
#define LIMIT_NS   (60 * NS_PER_S)
#define FLOOD_SIZE 200
#define FLOOD_EACH 20000
#define CHOKE      (-1) /* for a signal */

struct state {
	struct comm *comm;
	int64_t got[MAX_RANKS]; /* messages of each rank */
	int64_t heard[MAX_RANKS];
	int since[MAX_RANKS][MAX_RANKS]; /* beats of the second since the last of the first */
	bool lost[MAX_RANKS], bye[MAX_RANKS];
	int64_t faults;
	int64_t longest_ns; /* of all polls */
	const char *log;
};

static const size_t sizes[] = {0,    1,     7,     8,     9,     504,   505,     511,   512,
                               4096, 32751, 32752, 32760, 32768, 65537, 1048576, 131071};
#define N_SIZES (sizeof(sizes) / sizeof(*sizes))
#define LARGEST ((size_t)20 << 20)

static void put(struct state *s, int to, const void *bytes, size_t len)
{
	struct error err = {0};

	if (s->comm->ops->send(s->comm, to, bytes, len, &err) != ST_OK) {
		printf("rank %d: %s\n", s->comm->rank, str_text(&err.text));
		s->faults++;
		error_release(&err);
	}
}

static bool look(struct state *s, void (*take)(void *, int, const void *, size_t))
{
	int64_t start = clock_now(&clock_system);
	struct error err = {0};
	bool moved = false;

	if (s->comm->ops->poll(s->comm, take, s, &moved, &err) != ST_OK) {
		printf("rank %d: poll: %s\n", s->comm->rank, str_text(&err.text));
		s->faults++;
	}
	error_release(&err);
	if (clock_now(&clock_system) - start > s->longest_ns)
		s->longest_ns = clock_now(&clock_system) - start;
	return moved;
}

/* One poll, and when nothing moved a sleep and one more: who slept longer than it
 * meant to takes what came meanwhile before it calls anybody lost. */
static void turn(struct state *s, void (*take)(void *, int, const void *, size_t))
{
	if (look(s, take))
		return;
	clock_sleep(&clock_system, POLL_NS);
	look(s, take);
}

static unsigned char pattern(int from, int64_t n, size_t i)
{
	return (unsigned char)(i * 31 + (i >> 8) * 7 + (size_t)from * 101 + (size_t)n * 13 + 5);
}

static void fill(unsigned char *bytes, size_t len, int from, int64_t n)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = pattern(from, n, i);
}

static void take_word(void *arg, int from, const void *bytes, size_t len)
{
	struct state *s = arg;

	s->bye[from] = true;
	s->faults += len != 3 || memcmp(bytes, "end", 3) != 0;
}

/* All ranks live and have nothing left to say: the last words go to rank 0 and
 * back, then everybody leaves in order. */
static void leave(struct state *s)
{
	const int64_t limit = clock_now(&clock_system) + LIMIT_NS;
	int first = s->comm->rank ? 0 : 1, last = s->comm->rank ? 1 : s->comm->size;

	if (s->comm->rank)
		put(s, 0, "end", 3);
	for (int i = first; i < last; i++)
		while (!s->bye[i] && clock_now(&clock_system) < limit)
			turn(s, take_word);
	for (int i = 1; i < s->comm->size && s->comm->rank == 0; i++)
		put(s, i, "end", 3);
	for (int i = 0; i < s->comm->size; i++)
		while (s->comm->ops->queued(s->comm, i) && clock_now(&clock_system) < limit)
			turn(s, take_word);
	fflush(stdout);
	if (!s->comm->ops->close(s->comm, true, 20, 99))
		_exit(s->faults ? 1 : 0);
}

/* --- ring ------------------------------------------------------------------- */

static size_t size_of(const struct state *s, int from, int to, int64_t n)
{
	if (n < (int64_t)N_SIZES)
		return sizes[n];
	return to == (from + 1) % s->comm->size ? LARGEST : 3;
}

static void take_ring(void *arg, int from, const void *bytes, size_t len)
{
	struct state *s = arg;
	const unsigned char *p = bytes;
	int64_t n = s->got[from];

	if (n > (int64_t)N_SIZES) {
		take_word(arg, from, bytes, len);
		return;
	}
	s->got[from]++;
	if (len != size_of(s, from, s->comm->rank, n))
		s->faults++;
	for (size_t i = 0; i < len; i++)
		if (p[i] != pattern(from, n, i)) {
			s->faults++;
			break;
		}
}

static bool ring_over(const struct state *s)
{
	for (int i = 0; i < s->comm->size; i++)
		if (s->got[i] < (int64_t)N_SIZES + 1 || s->comm->ops->queued(s->comm, i))
			return false;
	return true;
}

static void ring(struct state *s)
{
	unsigned char *bytes = malloc(LARGEST);
	int64_t limit = clock_now(&clock_system) + LIMIT_NS;

	for (int64_t n = 0; n <= (int64_t)N_SIZES; n++)
		for (int to = 0; to < s->comm->size; to++) {
			size_t len = size_of(s, s->comm->rank, to, n);

			fill(bytes, len, s->comm->rank, n);
			put(s, to, bytes, len);
		}
	free(bytes);
	while (!ring_over(s) && clock_now(&clock_system) < limit)
		turn(s, take_ring);
	s->faults += !ring_over(s);
	printf("rank %d of %d: ring %s\n", s->comm->rank, s->comm->size,
	       s->faults ? "BROKEN" : "ok");
	leave(s);
}

/* --- loss --------------------------------------------------------------------- */

static void take_beat(void *arg, int from, const void *bytes, size_t len)
{
	struct state *s = arg;

	if (s->lost[from]) /* forgotten is forgotten */
		s->faults++;
	s->heard[from] = clock_now(&clock_system);
	s->got[from]++;
	for (int i = 0; i < s->comm->size; i++) {
		s->since[i][from]++;
		s->since[from][i] = 0;
	}
	if (len == 3 && memcmp(bytes, "end", 3) == 0)
		s->bye[from] = true;
}

static void beat(struct state *s, const void *bytes, size_t len)
{
	for (int i = 0; i < s->comm->size; i++)
		if (i != s->comm->rank)
			put(s, i, bytes, len);
}

/* Not for long, or the others have not said more either: then nobody gets his turn. */
static bool is_waited_for(const struct state *s, int i, int64_t now)
{
	if (now - s->heard[i] <= LOSS_NS)
		return true;
	for (int k = 0; k < s->comm->size; k++)
		if (k != i && k != s->comm->rank && !s->lost[k] && !s->bye[k] &&
		    s->since[i][k] < LOSS_BEATS)
			return true;
	return false;
}

static bool watch(struct state *s)
{
	int64_t now = clock_now(&clock_system);
	bool all_gone = true;

	for (int i = 0; i < s->comm->size; i++) {
		if (i == s->comm->rank || s->lost[i] || s->bye[i])
			continue;
		if (!is_waited_for(s, i, now)) {
			s->lost[i] = true;
			s->comm->ops->forget(s->comm, i);
		} else {
			all_gone = false;
		}
	}
	return all_gone;
}

static bool flushed(const struct state *s)
{
	for (int i = 0; i < s->comm->size; i++)
		if (s->comm->ops->queued(s->comm, i))
			return false;
	return true;
}

/* In one write: the lines of ranks must not mix. */
static void tell(const struct state *s, const struct str *line)
{
	int fd = s->log ? open(s->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : 1;

	if (fd < 0 || write(fd, line->data, line->len) != (ssize_t)line->len)
		perror(s->log);
	if (s->log && fd >= 0)
		close(fd);
}

static void tell_loss(const struct state *s, int victim)
{
	struct str line = {0};

	str_addf(&line, "rank %d: lost", s->comm->rank);
	for (int i = 0; i < s->comm->size; i++)
		if (s->lost[i])
			str_addf(&line, " %d", i);
	str_addf(&line, ", %d faults, broken %d, longest poll %.1f ms\n", (int)s->faults,
	         s->comm->ops->broken(s->comm, victim), (double)s->longest_ns / NS_PER_MS);
	tell(s, &line);
	str_release(&line);
}

/* mpiexec may end them all when the first one leaves: nobody does before all have told. */
static bool all_told(const struct state *s)
{
	struct str text = {0};
	int lines = 0;

	if (!s->log)
		return true;
	if (file_read(&text, s->log, 1 << 20, NULL) == ST_OK)
		for (size_t i = 0; i < text.len; i++)
			lines += text.data[i] == '\n';
	str_release(&text);
	return lines >= s->comm->size - 1;
}

/* By a signal; CHOKE stops, and has itself killed a second later. */
static void fall(int how)
{
	pid_t me = getpid();

	if (how == CHOKE && fork() == 0) {
		clock_sleep(&clock_system, NS_PER_S);
		kill(me, SIGKILL);
		_exit(0);
	}
	raise(how == CHOKE ? SIGSTOP : how);
}

/* Beats with a load of 100 KB, so that something large is under way at death. */
static void loss(struct state *s, int victim, int signal_number)
{
	static char load[100000];
	int64_t start = clock_now(&clock_system), next = start, left = -1;
	int me = s->comm->rank, beats = 0;

	for (int i = 0; i < s->comm->size; i++)
		s->heard[i] = start + 5 * NS_PER_S; /* hosts start one after the other */
	printf("rank %d: pid %d\n", me, (int)getpid());
	fflush(stdout);
	for (;;) {
		int64_t now = clock_now(&clock_system);
		bool over = watch(s);

		if (now >= next) {
			next = now + 50 * NS_PER_MS;
			beats++;
			if (me == victim && beats == 20 && signal_number)
				fall(signal_number);
			if (left != 0)
				beat(s, load, sizeof(load));
			if (left > 0 && --left == 0)
				beat(s, "end", 3);
		}
		/* The loss is noticed: 20 beats more with those that are left. */
		if (left < 0 && s->lost[victim])
			left = 20;
		turn(s, take_beat);
		if ((left == 0 && over && flushed(s)) || now - start > LIMIT_NS)
			break;
	}
	/* What was sent may still be on its way out of MPI. */
	for (int i = 0; i < 40; i++)
		turn(s, take_beat);
	tell_loss(s, victim);
	while (!all_told(s) && clock_now(&clock_system) - start < LIMIT_NS)
		turn(s, take_beat);
	s->comm->ops->close(s->comm, false, 0, 0);
	_exit(s->faults ? 1 : 0);
}

/* --- cost ---------------------------------------------------------------------- */

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void idle(struct state *s, double seconds)
{
	struct rusage u;
	double before = cpu_s();
	int64_t start = clock_now(&clock_system);

	while (clock_now(&clock_system) - start < (int64_t)(seconds * NS_PER_S))
		turn(s, take_beat);
	getrusage(RUSAGE_SELF, &u);
	printf("rank %d: idle %.2f %% of a core, %.1f MB\n", s->comm->rank,
	       100 * (cpu_s() - before) / seconds, (double)u.ru_maxrss / 1024);
	leave(s);
}

static void flood(struct state *s, int to)
{
	char bytes[FLOOD_SIZE] = "";
	int64_t start = clock_now(&clock_system), want = 0;

	if (s->comm->rank != to) {
		for (int i = 0; i < FLOOD_EACH; i++)
			put(s, to, bytes, sizeof(bytes));
		while (s->comm->ops->queued(s->comm, to))
			turn(s, take_beat);
	} else {
		for (int64_t all = FLOOD_EACH * (int64_t)(s->comm->size - 1); want < all;) {
			turn(s, take_beat);
			want = 0;
			for (int i = 0; i < s->comm->size; i++)
				want += s->got[i];
		}
		printf("rank %d: flood %.0f messages/s\n", to,
		       (double)want * 1e9 / (double)(clock_now(&clock_system) - start));
	}
	leave(s);
}

static int act(struct state *s, const char *what, const char *number)
{
	double n = number ? strtod(number, NULL) : 0;

	if (strcmp(what, "ring") == 0)
		ring(s);
	else if (strcmp(what, "kill") == 0)
		loss(s, (int)n, SIGKILL);
	else if (strcmp(what, "stop") == 0)
		loss(s, (int)n, SIGSTOP);
	else if (strcmp(what, "choke") == 0)
		loss(s, (int)n, CHOKE);
	else if (strcmp(what, "cut") == 0)
		loss(s, (int)n, 0);
	else if (strcmp(what, "idle") == 0)
		idle(s, n);
	else if (strcmp(what, "flood") == 0)
		flood(s, (int)n);
	else
		leave(s);
	return s->faults ? 1 : 0;
}

static int cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
}

int main(int argc, char **argv)
{
	struct comm_request request = {0};
	static struct state s;
	struct error err = {0};
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
		if (strcmp(argv[i], "--module") == 0)
			request.module = argv[i + 1];
		else if (strcmp(argv[i], "--log") == 0)
			s.log = argv[i + 1];
		else
			request.nodes = atoi(argv[i + 1]);
	if (comm_open(&s.comm, &request, &err) != ST_OK) {
		if (err.text.len)
			fprintf(stderr, "assay: %s\n", str_text(&err.text));
		error_release(&err);
		return EXIT_USAGE;
	}
	if (s.comm->rank == 0)
		printf("world of %d, %s, %s, recovery %d, %d CPUs\n", s.comm->size, s.comm->kind,
		       s.comm->library, (int)s.comm->recovery, cpus());
	fflush(stdout);
	return i < argc && s.comm->size <= MAX_RANKS ? act(&s, argv[i], argv[i + 1]) : 1;
}
