/* Which counters, reading them, and what the network alone takes. */
#include "storage_counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "hw/host.h"
#include "hw/sysfs.h"

#define BLOCKS "/sys/class/block"
#define NET    "/sys/class/net"
#define RDMA   "/sys/class/infiniband"

#define SECTOR 512
/* IBTA: PortXmitData and PortRcvData count 32-bit words, whatever the lanes. */
#define IB_WORD 4
/* Old adapters have 32 bits and stay at the greatest value. */
#define IB_STUCK 4294967295.0
#define SEEN     0.9
/* linux/if_arp.h: IP over InfiniBand. */
#define TYPE_INFINIBAND 32

/* --- reading one --------------------------------------------- */

/* Word `n` of a file as a number that can be counted in; false: not there. */
static bool read_word(double *value, const char *root, const char *file, int n)
{
	struct str text = {0};
	char *rest = NULL, *word, *end = NULL;
	bool ok = sys_read(&text, root, file) && text.len > 0;

	word = ok ? strtok_r(text.data, " \t\n", &rest) : NULL;
	while (word && n-- > 0)
		word = strtok_r(NULL, " \t\n", &rest);
	ok = word && *word >= '0' && *word <= '9';
	if (ok)
		*value = (double)strtoull(word, &end, 10);
	ok = ok && *end == '\0';
	str_release(&text);
	return ok;
}

static bool read_counter(const struct counter *c, const char *root, struct counted *now)
{
	if (!read_word(&now->read_bytes, root, c->read, c->read_word) ||
	    !read_word(&now->written_bytes, root, c->written, c->written_word))
		return false;
	if (c->unit == IB_WORD && (now->read_bytes == IB_STUCK || now->written_bytes == IB_STUCK))
		return false;
	now->read_bytes *= c->unit;
	now->written_bytes *= c->unit;
	return true;
}

bool storage_counters_read(const struct storage_counters *counters, const char *root,
                           struct counted *now)
{
	struct counted sum = {0}, one;

	for (int i = 0; i < counters->count; i++) {
		if (!read_counter(&counters->list[i], root, &one))
			return false;
		sum.read_bytes += one.read_bytes;
		sum.written_bytes += one.written_bytes;
	}
	*now = sum;
	return counters->count > 0;
}

/* --- finding them --------------------------------------------- */

struct finder {
	struct arena *arena;
	const char *root;
	struct counter *list;
	int count, room;
	struct str names;
};

static bool add(struct finder *f, struct counter c, const char *name)
{
	struct counted now;

	if (!read_counter(&c, f->root, &now))
		return false;
	if (f->count == f->room) {
		struct counter *more;

		f->room = f->room ? 2 * f->room : 16;
		more = arena_array(f->arena, (size_t)f->room, sizeof(*more));
		if (f->count)
			memcpy(more, f->list, (size_t)f->count * sizeof(*more));
		f->list = more;
	}
	f->list[f->count++] = c;
	str_addf(&f->names, "%s%s", f->names.len ? " " : "", name);
	return true;
}

/* Documentation/block/stat.rst: words 2 and 6 are sectors read and written. */
static bool add_disk(struct finder *f, const char *name)
{
	const char *file = arena_strf(f->arena, BLOCKS "/%s/stat", name);

	return add(f,
	           (struct counter){.read = file,
	                            .written = file,
	                            .read_word = 2,
	                            .written_word = 6,
	                            .unit = SECTOR},
	           name);
}

/* Disks with hardware below them. A path of an NVMe multipath device (nvme0c1n1)
 * is counted in its head. */
static void add_all_disks(struct finder *f)
{
	const char *const *names = sys_names(f->arena, f->root, BLOCKS);
	int controller, path, space;

	for (; *names; names++)
		if (sys_exists(f->root, tmpf(BLOCKS "/%s/device", *names)) &&
		    sscanf(*names, "nvme%dc%dn%d", &controller, &path, &space) != 3)
			add_disk(f, *names);
}

/* Not soft RoCE and soft iWARP: they have no PCI parent, and all they send is
 * counted by the interface below them. */
static bool is_hardware(struct finder *f, const char *device)
{
	return sys_pci_parent(f->arena, f->root, RDMA "/%s", device) != NULL;
}

static const char *link_layer(struct finder *f, const char *device, const char *port)
{
	const char *layer =
		sys_text(f->arena, f->root, RDMA "/%s/ports/%s/link_layer", device, port);

	return layer ? layer : "";
}

/* Ports of both link layers. RDMA passes the netdev by, so on RoCE its statistics
 * lack it; in turn the mlx5 driver fills these two counters of an Ethernet port
 * from the vport's received_ib_* and transmitted_ib_* alone, so that nothing is
 * counted twice. On InfiniBand they hold IP over InfiniBand as well: true if such
 * a port was added, and that interface must be left out. */
static bool add_rdma_ports(struct finder *f)
{
	const char *const *devices = sys_names(f->arena, f->root, RDMA), *const * ports;
	bool infiniband = false;

	for (; *devices; devices++) {
		if (!is_hardware(f, *devices))
			continue;
		ports = sys_names(f->arena, f->root, tmpf(RDMA "/%s/ports", *devices));
		for (; *ports; ports++) {
			const char *dir =
				arena_strf(f->arena, RDMA "/%s/ports/%s", *devices, *ports);
			struct counter c = {
				.read = arena_strf(f->arena, "%s/counters/port_rcv_data", dir),
				.written = arena_strf(f->arena, "%s/counters/port_xmit_data", dir),
				.unit = IB_WORD};

			if (add(f, c, tmpf("%s/%s", *devices, *ports)) &&
			    strcmp(link_layer(f, *devices, *ports), "InfiniBand") == 0)
				infiniband = true;
		}
	}
	return infiniband;
}

/* A real, virtual-function or virtio interface. One that serves another of them
 * (a VF below netvsc, a standby pair) is counted in its master already; a bond or
 * bridge has no device, so there the members count. */
static bool is_counted(struct arena *arena, const char *root, const char *name, bool infiniband)
{
	const char *master = sys_link_name(arena, root, NET "/%s/master", name);

	if (!sys_exists(root, tmpf(NET "/%s/device", name)))
		return false;
	if (master && sys_exists(root, tmpf(NET "/%s/device", master)))
		return false;
	return !infiniband || sys_number(-1, root, NET "/%s/type", name) != TYPE_INFINIBAND;
}

static void add_network(struct finder *f)
{
	bool infiniband = add_rdma_ports(f);
	const char *const *names = sys_names(f->arena, f->root, NET);

	for (; *names; names++) {
		const char *dir = arena_strf(f->arena, NET "/%s/statistics", *names);
		struct counter c = {.read = arena_strf(f->arena, "%s/rx_bytes", dir),
		                    .written = arena_strf(f->arena, "%s/tx_bytes", dir),
		                    .unit = 1};

		if (is_counted(f->arena, f->root, *names, infiniband))
			add(f, c, *names);
	}
}

void storage_counters_find(struct storage_counters *out, struct arena *arena, const char *root,
                           const struct storage_place *place)
{
	struct finder f = {.arena = arena, .root = root};
	bool complete = true;

	*out = (struct storage_counters){.all_disks = !place->leaves};
	for (const char *const *leaf = place->leaves; leaf && *leaf; leaf++)
		complete = add_disk(&f, *leaf) && complete;
	if (!place->leaves)
		add_all_disks(&f);
	out->kind = f.count ? COUNTER_BLOCK : COUNTER_NONE;
	if (place->over_network) {
		add_network(&f);
		out->kind = f.count && !out->kind ? COUNTER_NET : out->kind;
	}
	/* A part of the members is no measure of the whole. */
	if (!complete) {
		str_clear(&f.names);
		f.count = 0;
		out->kind = COUNTER_NONE;
	}
	out->names = arena_str(arena, str_text(&f.names));
	out->list = f.list;
	out->count = f.count;
	str_release(&f.names);
}

/* --- believing them --------------------------------------------- */

bool storage_counters_see(const struct counted *before, const struct counted *after, double bytes)
{
	double grown = after->written_bytes - before->written_bytes;

	return isfinite(grown) && bytes > 0 && grown >= SEEN * bytes;
}

void storage_counters_blind(struct probe_ctx *ctx, struct reason *reason,
                            const struct storage_counters *counters, const struct counted *before,
                            const struct counted *after, double bytes)
{
	if (counters->kind == COUNTER_NONE || !before || !after) {
		reason_set(ctx, reason, MSG_storage_counter_none, ctx->subject_id);
		return;
	}
	reason_set(ctx, reason, MSG_storage_counter_blind, fmt_bytes((int64_t)bytes),
	           ctx->subject_id, counters->names,
	           fmt_bytes((int64_t)fmax(after->written_bytes - before->written_bytes, 0)));
}

/* --- how fast the network is --------------------------------------------- */

/* "100 Gb/sec (4X EDR)" in bytes/s; NaN: anything else. */
static double rate_of(const char *text)
{
	char *end;
	double gigabits = text ? strtod(text, &end) : NAN;

	if (!isfinite(gigabits) || gigabits <= 0 || !str_starts(end, " Gb/sec"))
		return NAN;
	return gigabits * 1e9 / 8;
}

/* InfiniBand ports that are up; a RoCE port shares its link with an interface.
 * NaN: one of them does not say. */
static double infiniband_speed(struct finder *f, bool *any)
{
	const char *const *devices = sys_names(f->arena, f->root, RDMA), *const * ports;
	double sum = 0;

	*any = false;
	for (; *devices; devices++) {
		ports = sys_names(f->arena, f->root, tmpf(RDMA "/%s/ports", *devices));
		for (; *ports; ports++) {
			const char *dir = tmpf(RDMA "/%s/ports/%s", *devices, *ports);
			const char *state = sys_text(f->arena, f->root, "%s/state", dir);

			if (strcmp(link_layer(f, *devices, *ports), "InfiniBand") != 0)
				continue;
			*any = true;
			if (state && strstr(state, "ACTIVE"))
				sum += rate_of(sys_text(f->arena, f->root, RDMA "/%s/ports/%s/rate",
				                        *devices, *ports));
		}
	}
	return sum;
}

/* Drivers without a carrier to report say "unknown" while they work. */
static bool is_down(const char *state)
{
	return state && word_in("down|notpresent|lowerlayerdown|dormant", state);
}

static double ethernet_speed(struct finder *f, bool infiniband)
{
	int count;
	const struct host_nic *nics = host_nics_read(f->arena, f->root, &count);
	double sum = 0;

	for (int i = 0; i < count; i++)
		if (is_counted(f->arena, f->root, nics[i].name, infiniband) &&
		    !is_down(nics[i].state))
			sum += nics[i].speed_mbps > 0 ? (double)nics[i].speed_mbps * 1e6 / 8 : NAN;
	return sum;
}

double storage_link_bytes_per_s(const char *root)
{
	struct arena arena = {0};
	struct finder f = {.arena = &arena, .root = root};
	bool infiniband;
	double sum = infiniband_speed(&f, &infiniband);

	sum += ethernet_speed(&f, infiniband);
	arena_release(&arena);
	return isfinite(sum) ? sum : 0;
}
