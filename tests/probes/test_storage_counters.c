/* What can contradict fio: counters of disks and network, the round trip, the map
 * of extents, and whether the storage keeps less than it is given. */
#include "tree_kit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/msg.h"
#include "storage_counters.h"
#include "storage_data.h"
#include "storage_extents.h"
#include "storage_reduction.h"

#define NEAR 1e-9

static struct storage_counters counters_of(struct tree *t, const char *root,
                                           const struct storage_place *place)
{
	struct storage_counters c;

	storage_counters_find(&c, &t->arena, root, place);
	return c;
}

/* --- disks --------------------------------------------- */

static void disks_are_summed(void **state)
{
	static const char *const two[] = {"sda", "sdb", NULL};
	struct tree *t = *state;
	struct storage_place place = {.fs = "ext4", .kind = "device", .leaves = two};
	struct storage_counters c;
	struct counted now;

	put_block(t, "sda", NULL, 10, 3);
	put_block(t, "sdb", NULL, 4, 1000000000000);
	put_block(t, "sdc", NULL, 7, 7);
	c = counters_of(t, t->root, &place);
	assert_int_equal(c.kind, COUNTER_BLOCK);
	assert_string_equal(c.names, "sda sdb");
	assert_false(c.all_disks);
	assert_true(storage_counters_read(&c, t->root, &now));
	assert_true(now.read_bytes == 14 * 512);
	assert_true(now.written_bytes == 1000000000003.0 * 512);
	/* One that is gone, or speaks nonsense, spoils the sum. */
	put(t, "/sys/devices/virtual/block/sdb/stat", "1 2 x 4 5 6 7\n");
	assert_false(storage_counters_read(&c, t->root, &now));
	put(t, "/sys/devices/virtual/block/sdb/stat", "1 2 3 4 5 6\n");
	assert_false(storage_counters_read(&c, t->root, &now));
	put(t, "/sys/devices/virtual/block/sdb/stat", "1 2 -3 4 5 6 7\n");
	assert_false(storage_counters_read(&c, t->root, &now));
	unlink(tmpf("%s/sys/devices/virtual/block/sdb/stat", t->root));
	assert_false(storage_counters_read(&c, t->root, &now));
	/* And half of the members is no measure of them. */
	c = counters_of(t, t->root, &place);
	assert_int_equal(c.kind, COUNTER_NONE);
	assert_string_equal(c.names, "");
	assert_false(storage_counters_read(&c, t->root, &now));
}

/* The way down is lost (a container's root, ZFS): no disk can have read more than
 * all of them. */
static void all_disks_when_lost(void **state)
{
	static const char *const disks[] = {"nvme0n1", "nvme0c1n1", "sda", "loop0", "dm-0"};
	struct tree *t = *state;
	struct storage_place place = {.fs = "zfs", .kind = "device"};
	struct storage_counters c;
	struct counted now;

	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		put_block(t, disks[i], NULL, 1 << i, 1);
		if (i < 3)
			put(t, tmpf("/sys/devices/virtual/block/%s/device/x", disks[i]), "");
	}
	c = counters_of(t, t->root, &place);
	assert_int_equal(c.kind, COUNTER_BLOCK);
	assert_string_equal(c.names, "nvme0n1 sda");
	assert_true(c.all_disks);
	assert_true(storage_counters_read(&c, t->root, &now));
	assert_true(now.read_bytes == 5 * 512);
	assert_true(now.written_bytes == 2 * 512);
}

/* --- network --------------------------------------------- */

static void put_nic(struct tree *t, const char *name, bool device, int64_t rx, int64_t tx,
                    int64_t speed)
{
	const char *dir = arena_strf(&t->arena, "/sys/class/net/%s", name);

	put(t, tmpf("%s/statistics/rx_bytes", dir), tmpf("%lld\n", (long long)rx));
	put(t, tmpf("%s/statistics/tx_bytes", dir), tmpf("%lld\n", (long long)tx));
	put(t, tmpf("%s/operstate", dir), "up\n");
	put(t, tmpf("%s/type", dir), "1\n");
	put(t, tmpf("%s/speed", dir), tmpf("%lld\n", (long long)speed));
	if (device)
		put(t, tmpf("%s/device/vendor", dir), "0x15b3\n");
}

/* Words of 4 bytes. */
static void put_port(struct tree *t, const char *name, const char *layer, const char *rate,
                     int64_t received, int64_t sent)
{
	const char *above = arena_strf(&t->arena, "/sys/devices/pci0000:00/0000:00:0%c.0/%s",
	                               name[strlen(name) - 1], name);
	const char *dir = arena_strf(&t->arena, "%s/ports/1", above);

	put(t, tmpf("%s/link_layer", dir), tmpf("%s\n", layer));
	put(t, tmpf("%s/state", dir), "4: ACTIVE\n");
	put(t, tmpf("%s/rate", dir), tmpf("%s\n", rate));
	put(t, tmpf("%s/counters/port_rcv_data", dir), tmpf("%lld\n", (long long)received));
	put(t, tmpf("%s/counters/port_xmit_data", dir), tmpf("%lld\n", (long long)sent));
	put_link(t, tmpf("/sys/class/infiniband/%s", name),
	         tmpf("../../..%s", arena_str(&t->arena, above)));
}

static const char *const nothing[] = {NULL};
static const struct storage_place far = {
	.fs = "nfs", .kind = "remote", .leaves = nothing, .over_network = true};

static void network_counts_each_byte_once(void **state)
{
	struct tree *t = *state;
	struct storage_counters c;
	struct counted now;

	put_nic(t, "lo", false, 1000, 1000, -1);
	put_nic(t, "veth0", false, 1000, 1000, 10000);
	put_nic(t, "bond0", false, 30, 3, 50000);
	put_nic(t, "eth1", true, 10, 1, 25000);
	put_nic(t, "eth2", true, 20, 2, 25000);
	put_link(t, "/sys/class/net/eth1/master", "../bond0");
	put_link(t, "/sys/class/net/eth2/master", "../bond0");
	put_nic(t, "eth3", true, 400, 40, 40000);
	put_nic(t, "vf0", true, 400, 40, 40000);
	put_link(t, "/sys/class/net/vf0/master", "../eth3");
	put_nic(t, "silent", true, 1, 1, 1000);
	unlink(tmpf("%s/sys/class/net/silent/statistics/tx_bytes", t->root));
	put(t, "/sys/class/net/bonding_masters", "bond0\n");
	c = counters_of(t, t->root, &far);
	assert_int_equal(c.kind, COUNTER_NET);
	assert_string_equal(c.names, "eth1 eth2 eth3");
	assert_true(storage_counters_read(&c, t->root, &now));
	assert_true(now.read_bytes == 430);
	assert_true(now.written_bytes == 43);
	/* No disk of this machine is of interest. */
	assert_false(c.all_disks);
	unlink(tmpf("%s/sys/class/net/eth1/statistics/rx_bytes", t->root));
	assert_false(storage_counters_read(&c, t->root, &now));
}

static void rdma_is_counted_beside_it(void **state)
{
	struct tree *t = *state;
	struct storage_counters c;
	struct counted now;

	put_nic(t, "ib0", true, 5000, 500, -1);
	put(t, "/sys/class/net/ib0/type", "32\n");
	put_nic(t, "eth0", true, 7, 3, 100000);
	put(t, "/sys/class/infiniband/rxe0/ports/1/counters/port_rcv_data", "99\n");
	put(t, "/sys/class/infiniband/rxe0/ports/1/counters/port_xmit_data", "99\n");
	/* RoCE: the interface does not count RDMA, and IP over InfiniBand has but
	 * its own counters while there is no InfiniBand port with any. */
	put_port(t, "mlx5_1", "Ethernet", "100 Gb/sec (4X EDR)", 1000, 100);
	c = counters_of(t, t->root, &far);
	assert_string_equal(c.names, "mlx5_1/1 eth0 ib0");
	assert_true(storage_counters_read(&c, t->root, &now));
	assert_true(now.read_bytes == 4000 + 7 + 5000);
	put_port(t, "mlx5_0", "InfiniBand", "400 Gb/sec (4X NDR)", 5000000000, 10);
	c = counters_of(t, t->root, &far);
	assert_string_equal(c.names, "mlx5_0/1 mlx5_1/1 eth0");
	assert_true(storage_counters_read(&c, t->root, &now));
	assert_true(now.read_bytes == 20000000000.0 + 4000 + 7);
	assert_true(now.written_bytes == 40 + 400 + 3);
	/* A counter of 32 bits that has come to its end. */
	put(t, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "4294967295\n");
	assert_false(storage_counters_read(&c, t->root, &now));
	c = counters_of(t, t->root, &far);
	assert_string_equal(c.names, "mlx5_1/1 eth0 ib0");
}

static void no_network_no_counters(void **state)
{
	struct tree *t = *state;
	struct storage_counters c;
	struct counted now;

	put_nic(t, "lo", false, 1, 1, -1);
	put_nic(t, "eth0", false, 1, 1, 10000);
	c = counters_of(t, t->root, &far);
	assert_int_equal(c.kind, COUNTER_NONE);
	assert_false(storage_counters_read(&c, t->root, &now));
	assert_true(storage_link_bytes_per_s(t->root) == 0);
}

static void speed_of_the_links(void **state)
{
	struct tree *t = *state;

	put_nic(t, "bond0", false, 0, 0, 50000);
	put_nic(t, "eth1", true, 0, 0, 25000);
	put_nic(t, "eth2", true, 0, 0, 25000);
	put_nic(t, "eth3", true, 0, 0, -1);
	put(t, "/sys/class/net/eth3/operstate", "down\n");
	assert_true(fabs(storage_link_bytes_per_s(t->root) - 6.25e9) < 1);
	/* A RoCE port is on a link that is counted; InfiniBand has its own. */
	put_port(t, "mlx5_1", "Ethernet", "25 Gb/sec (1X EDR)", 0, 0);
	assert_true(fabs(storage_link_bytes_per_s(t->root) - 6.25e9) < 1);
	put_nic(t, "ib0", true, 0, 0, -1);
	put(t, "/sys/class/net/ib0/type", "32\n");
	put_port(t, "mlx5_0", "InfiniBand", "100 Gb/sec (4X EDR)", 0, 0);
	assert_true(fabs(storage_link_bytes_per_s(t->root) - 18.75e9) < 1);
	put(t, "/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
	assert_true(fabs(storage_link_bytes_per_s(t->root) - 6.25e9) < 1);
	put(t, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	put(t, "/sys/class/infiniband/mlx5_0/ports/1/rate", "fast\n");
	assert_true(storage_link_bytes_per_s(t->root) == 0);
	put(t, "/sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	put(t, "/sys/class/net/eth3/operstate", "unknown\n");
	assert_true(storage_link_bytes_per_s(t->root) == 0);
}

/* --- believing --------------------------------------------- */

static void written_data_must_show(void **state)
{
	static const struct counted from = {.written_bytes = 1e12};
	static const struct {
		double to, bytes;
		bool seen;
	} rows[] = {
		{1e12 + 100, 100, true}, {1e12 + 90, 100, true},  {1e12 + 89, 100, false},
		{1e12 + 500, 100, true}, {1e12, 100, false},      {0, 100, false},
		{1e12 + 1, 0, false},    {INFINITY, 100, false},  {NAN, 100, false},
		{1e12 + 1, NAN, false},  {1e12 + 1, -100, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct counted to = {.written_bytes = rows[i].to};

		assert_true(storage_counters_see(&from, &to, rows[i].bytes) == rows[i].seen);
	}
}

static void blind_ones_say_so(void **state)
{
	struct tree *t = *state;
	struct probe_ctx ctx = {.arena = &t->arena, .subject_id = "/mnt/data"};
	struct storage_counters c = {.kind = COUNTER_NET, .names = "eth0"};
	struct counted before = {.written_bytes = 0}, after = {.written_bytes = 1 << 20};
	struct reason why;

	storage_counters_blind(&ctx, &why, &c, &before, &after, 1 << 30);
	assert_string_equal(why.code, "storage_counter_blind");
	assert_string_equal(why.text,
	                    "1.0 GiB were written to /mnt/data, and the counters of eth0 saw "
	                    "1.0 MiB: they do not show what this path does");
	storage_counters_blind(&ctx, &why, &c, NULL, NULL, 1 << 30);
	assert_string_equal(why.code, "storage_counter_none");
	c.kind = COUNTER_NONE;
	storage_counters_blind(&ctx, &why, &c, &before, &after, 1 << 30);
	assert_string_equal(why.code, "storage_counter_none");
}

/* --- a real disk --------------------------------------------- */

static void write_bytes(int fd, int64_t bytes, uint64_t seed)
{
	struct storage_data data = {.path = "x", .seed = seed};
	char block[STORAGE_BLOCK] __attribute__((aligned(8)));

	for (int64_t at = 0; at < bytes; at += STORAGE_BLOCK) {
		storage_block(block, &data, at);
		assert_int_equal(fd_write_all(fd, block, STORAGE_BLOCK), ST_OK);
	}
	assert_int_equal(fsync(fd), 0);
}

static int new_file(struct tree *t, const char *name)
{
	int fd = open(tmpf("%s/%s", t->root, name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void a_real_disk_sees_what_is_written(void **state)
{
	struct tree *t = *state;
	struct storage_place place = place_in(t, "", t->root);
	struct storage_counters c = counters_of(t, "", &place);
	struct counted before, after;
	int fd = new_file(t, "data");

	if (!place.device || c.kind != COUNTER_BLOCK || !storage_counters_read(&c, "", &before)) {
		print_message("%s of %s has no counters here\n", t->root, place.fs);
		close(fd);
		skip();
	}
	write_bytes(fd, 8 << 20, 1);
	assert_true(storage_counters_read(&c, "", &after));
	assert_true(storage_counters_see(&before, &after, 8 << 20));
	assert_true(after.read_bytes >= before.read_bytes);
	close(fd);
}

/* --- round trip --------------------------------------------- */

/* A socket bound to a free port of 127.0.0.1. */
static int bound(int *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static enum status trip(struct tree *t, const char *fs, const char *source, const char *options,
                        double *us, const char *said)
{
	struct storage_place place = {.fs = fs, .source = source, .options = options};
	struct error err = {0};
	enum status st;

	*us = NAN;
	st = storage_round_trip(us, &t->arena, &place, &clock_system, &err);
	if (said)
		assert_non_null(strstr(str_text(&err.text), said));
	error_release(&err);
	return st;
}

static void a_round_trip_over_tcp(void **state)
{
	struct tree *t = *state;
	int port, fd = bound(&port);
	const char *options = arena_strf(&t->arena, "rw,addr=127.0.0.1,port=%d", port);
	double us;

	/* Refused is there and back, too. */
	assert_int_equal(trip(t, "nfs", "server:/data", options, &us, NULL), ST_OK);
	assert_true(us > 0 && us < 1e6);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(trip(t, "nfs", "server:/data", options, &us, NULL), ST_OK);
	assert_true(us > 0 && us < 1e6);
	options = arena_strf(&t->arena, "rw,port=%d", port);
	assert_int_equal(trip(t, "nfs4", "127.0.0.1:/data", options, &us, NULL), ST_OK);
	assert_true(us > 0 && us < 1e6);
	close(fd);
}

static void no_round_trip(void **state)
{
	static const struct {
		const char *fs, *source, *options, *said;
	} rows[] = {
		{"lustre", "10.0.0.1@o2ib:/fs", "rw", "10.0.0.1@o2ib:/fs (lustre)"},
		{"fuse.juicefs", NULL, NULL, "fuse.juicefs"},
		{"nfs", "no.such.host:/data", "rw", "no.such.host"},
		{"nfs", "server:/data", "addr=127.0.0.1,port=http", "server:/data"},
		{"nfs", NULL, NULL, "nfs"},
		{"nfs", ":/data", "rw", ":/data"},
		{"nfs", "server:/data", "addr=127.0.0.1,proto=rdma", "RDMA"},
		{"nfs", "server:/data", "addr=::1,proto=rdma6", "RDMA"},
	};
	struct tree *t = *state;
	double us;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(
			trip(t, rows[i].fs, rows[i].source, rows[i].options, &us, rows[i].said),
			ST_UNSUPPORTED);
}

/* A listener whose queue is full answers no more; it gives up by itself. */
static void nobody_answers(void **state)
{
	struct tree *t = *state;
	int port, fd = bound(&port), waiting[8];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	double us;

	at.sin_port = htons((uint16_t)port);
	assert_int_equal(listen(fd, 0), 0);
	for (int i = 0; i < 8; i++) {
		waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(waiting[i], (struct sockaddr *)&at, sizeof(at));
	}
	assert_int_equal(trip(t, "nfs", "server:/data",
	                      arena_strf(&t->arena, "addr=127.0.0.1,port=%d", port), &us,
	                      "127.0.0.1 does not answer"),
	                 ST_TIMEOUT);
	assert_true(isnan(us));
	for (int i = 0; i < 8; i++)
		close(waiting[i]);
	close(fd);
}

/* --- extents --------------------------------------------- */

static void only_what_was_written_counts(void **state)
{
	struct tree *t = *state;
	struct storage_extent_marks marks;
	int fd = new_file(t, "data");

	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	if (isnan(storage_written_share(fd, 1 << 20, &marks))) {
		print_message("%s offers no map of extents\n", t->root);
		close(fd);
		skip();
	}
	assert_true(storage_written_share(fd, 1 << 20, &marks) == 0);
	if (fallocate(fd, 0, 0, 1 << 20) == 0)
		assert_true(storage_written_share(fd, 1 << 20, &marks) == 0);
	write_bytes(fd, 256 << 10, 1);
	assert_true(fabs(storage_written_share(fd, 1 << 20, NULL) - 0.25) < NEAR);
	assert_true(storage_written_share(fd, 256 << 10, &marks) == 1);
	/* Not flushed by us: the map has to see it done. */
	assert_int_equal(pwrite(fd, "x", 1, (768 << 10) + 1), 1);
	assert_true(fabs(storage_written_share(fd, 1 << 20, NULL) - 0.25 - 4096.0 / (1 << 20)) <
	            NEAR);
	assert_true(isnan(storage_written_share(fd, 0, NULL)));
	assert_true(isnan(storage_written_share(-1, 1 << 20, NULL)));
	close(fd);
}

/* More extents than are asked for at once. */
static void many_extents(void **state)
{
	struct tree *t = *state;
	int fd = new_file(t, "data");
	const int64_t step = 8192, pieces = 600;

	for (int64_t i = 0; i < pieces; i++)
		assert_int_equal(pwrite(fd, "x", 1, i * step), 1);
	assert_int_equal(ftruncate(fd, pieces * step), 0);
	if (isnan(storage_written_share(fd, pieces * step, NULL))) {
		print_message("%s offers no map of extents\n", t->root);
		close(fd);
		skip();
	}
	assert_true(fabs(storage_written_share(fd, pieces * step, NULL) - 0.5) < NEAR);
	close(fd);
}

static void memory_has_no_map(void **state)
{
	char path[] = "/dev/shm/assay-extents-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0) {
		print_message("no /dev/shm here\n");
		skip();
	}
	unlink(path);
	write_bytes(fd, STORAGE_BLOCK, 1);
	assert_true(isnan(storage_written_share(fd, STORAGE_BLOCK, NULL)));
	close(fd);
}

/* --- reduction --------------------------------------------- */

enum { MIB_PER_PIECE = 16 };

/* A disk that stores this share of each of the four pieces, told by the clock,
 * which is asked before every MiB. */
struct reducer {
	struct tree *t;
	const double *share;
	int calls;
	double sectors;
};

static int64_t told(void *self)
{
	struct reducer *r = self;
	int piece = r->calls++ / MIB_PER_PIECE;

	if (piece < 4) {
		r->sectors += r->share[piece] * 2048;
		put(r->t, "/sys/devices/virtual/block/sda/stat",
		    tmpf("0 0 0 0 0 0 %.0f 0\n", r->sectors));
	}
	/* Settling ends at once: a step is longer than it lasts. */
	return piece < 4 ? 0 : (int64_t)r->calls * 60 * NS_PER_S;
}

static void no_sleep(void *self, int64_t ns)
{
	(void)self;
	(void)ns;
}

/* Files go to memory where there is any: the test is of the arithmetic. */
static struct storage_reduced reduce(struct tree *t, const char *fs, const double *share)
{
	static const char *const sda[] = {"sda", NULL};
	struct storage_place place = {.fs = fs, .kind = "device", .leaves = sda};
	struct reducer r = {.t = t, .share = share};
	struct clock_source clock = {.now_ns = told, .sleep_ns = no_sleep, .self = &r};
	char dir[] = "/dev/shm/assay-reduce-XXXXXX";
	bool memory = mkdtemp(dir) != NULL;
	struct storage_counters c;
	struct storage_reduced out;

	c = counters_of(t, t->root, &place);
	assert_int_equal(storage_reduction_find(
				 &out,
				 &(struct storage_reduction_job){.dir = memory ? dir : t->root,
	                                                         .root = t->root,
	                                                         .place = &place,
	                                                         .counters = &c,
	                                                         .seed = 5,
	                                                         .clock = &clock,
	                                                         .deadline_ns = INT64_MAX},
				 NULL),
	                 ST_OK);
	/* rmdir: nothing was left behind. */
	assert_int_equal(memory ? rmdir(dir) : 0, 0);
	return out;
}

static void reduction_by_counters(void **state)
{
	static const struct {
		const char *fs;
		double share[4];
		enum storage_reduction result;
		const char *gauge;
	} rows[] = {
		{"ext4", {1, 1, 1, 1}, REDUCTION_NONE, "counters"},
		{"ext4", {1, 0.2, 1, 1.1}, REDUCTION_COMPRESSION, "counters"},
		{"ext4", {1, 1.02, 0.1, 1}, REDUCTION_DEDUPLICATION, "counters"},
		{"ext4", {0.95, 0.2, 0.1, 1}, REDUCTION_BOTH, "counters"},
		{"ext4", {1, 0.8, 1, 1}, REDUCTION_UNKNOWN, "counters"},
		/* Its log is written in full, whatever becomes of the data. */
		{"zfs", {1, 1, 1, 1}, REDUCTION_UNKNOWN, "counters"},
		/* Did not see the control, before or after: the accounts of the file
		 * system are complete, which does not show that nothing is saved. */
		{"ext4", {0.5, 0.1, 0.1, 1}, REDUCTION_UNKNOWN, "blocks"},
		{"ext4", {1, 0.1, 0.1, 0.5}, REDUCTION_UNKNOWN, "blocks"},
	};
	struct tree *t = *state;

	put_block(t, "sda", NULL, 0, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct storage_reduced r;

		put(t, "/sys/devices/virtual/block/sda/stat", "0 0 0 0 0 0 0 0\n");
		r = reduce(t, rows[i].fs, rows[i].share);

		assert_int_equal(r.result, rows[i].result);
		assert_string_equal(r.gauge, rows[i].gauge);
		if (strcmp(r.gauge, "counters") != 0)
			continue;
		assert_true(fabs(r.compressible - rows[i].share[1]) < 0.001);
		assert_true(fabs(r.repeated - rows[i].share[2]) < 0.001);
		assert_true(fabs(r.incompressible - fmin(rows[i].share[0], rows[i].share[3])) <
		            0.001);
	}
}

static struct storage_reduction_job real_job(const struct storage_place *place,
                                             const struct storage_counters *c, const char *dir)
{
	return (struct storage_reduction_job){.dir = dir,
	                                      .root = "",
	                                      .place = place,
	                                      .counters = c,
	                                      .seed = 7,
	                                      .clock = &clock_system,
	                                      .deadline_ns = INT64_MAX};
}

static void reduction_of_a_real_disk(void **state)
{
	struct tree *t = *state;
	struct storage_place place = place_in(t, "", t->root);
	struct storage_counters c = counters_of(t, "", &place);
	struct storage_reduction_job job = real_job(&place, &c, t->root);
	struct storage_reduced r;

	if (strcmp(place.fs, "ext4") != 0 || c.kind != COUNTER_BLOCK) {
		print_message("%s is no ext4 on a disk with counters\n", t->root);
		skip();
	}
	assert_int_equal(storage_reduction_find(&r, &job, NULL), ST_OK);
	assert_int_equal(r.result, REDUCTION_NONE);
	assert_true(r.incompressible >= 0.9);
}

static void reduction_of_a_real_compressor(void **state)
{
	struct tree *t = *state;
	const char *mnt = arena_strf(&t->arena, "%s/mnt", t->root);
	struct storage_place place;
	struct storage_counters c;
	struct storage_reduction_job job;
	struct storage_reduced r;

	if (!may_mount() ||
	    !shell(t, "mkdir mnt ram && mount -t tmpfs none ram && truncate -s 400M ram/image && "
	              "mkfs.btrfs -q ram/image && mount -o loop,compress-force=zstd ram/image mnt"))
		skip();
	place = place_in(t, "", mnt);
	/* By the loop device itself, on which nothing else writes. */
	place.leaves = (const char *const[]){strstr(place.source, "loop"), NULL};
	c = counters_of(t, "", &place);
	job = real_job(&place, &c, mnt);
	assert_int_equal(storage_reduction_find(&r, &job, NULL), ST_OK);
	assert_int_equal(r.result, REDUCTION_COMPRESSION);
	assert_true(r.compressible < 0.5);
	assert_true(r.repeated >= 0.9);
}

static void reduction_gives_up(void **state)
{
	struct tree *t = *state;
	struct storage_place place = {.fs = "ext4", .kind = "device", .leaves = nothing};
	struct storage_counters c = counters_of(t, t->root, &place);
	struct storage_reduction_job job = real_job(&place, &c, t->root);
	struct storage_reduced r;
	struct error err = {0};

	job.deadline_ns = 0;
	assert_int_equal(storage_reduction_find(&r, &job, &err), ST_OK);
	assert_int_equal(r.result, REDUCTION_UNKNOWN);
	assert_null(r.gauge);
	assert_true(isnan(r.incompressible) && isnan(r.compressible) && isnan(r.repeated));
	assert_int_equal(access(tmpf("%s/reduction-0", t->root), F_OK), -1);
	/* Somebody else's file is left alone. */
	put(t, "/reduction-0", "mine");
	assert_int_equal(storage_reduction_find(&r, &job, &err), ST_EXISTS);
	assert_int_equal(access(tmpf("%s/reduction-0", t->root), F_OK), 0);
	error_release(&err);
	job.dir = "/no/such/dir";
	assert_int_equal(storage_reduction_find(&r, &job, &err), ST_NOTFOUND);
	error_release(&err);
	assert_string_equal(storage_reduction_name(REDUCTION_BOTH), "both");
	assert_string_equal(storage_reduction_name(REDUCTION_NONE), "no");
	assert_null(storage_reduction_name(REDUCTION_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(disks_are_summed),
		TREE_TEST(all_disks_when_lost),
		TREE_TEST(network_counts_each_byte_once),
		TREE_TEST(rdma_is_counted_beside_it),
		TREE_TEST(no_network_no_counters),
		TREE_TEST(speed_of_the_links),
		TREE_TEST(written_data_must_show),
		TREE_TEST(blind_ones_say_so),
		TREE_TEST(a_real_disk_sees_what_is_written),
		TREE_TEST(a_round_trip_over_tcp),
		TREE_TEST(no_round_trip),
		TREE_TEST(nobody_answers),
		TREE_TEST(only_what_was_written_counts),
		TREE_TEST(many_extents),
		TREE_TEST(memory_has_no_map),
		TREE_TEST(reduction_by_counters),
		TREE_TEST(reduction_of_a_real_disk),
		TREE_TEST(reduction_of_a_real_compressor),
		TREE_TEST(reduction_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
