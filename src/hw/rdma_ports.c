/* RDMA devices by their sysfs entries. The traps are the kernel's: the type file of
 * an empty GID slot exists and gives EINVAL, a driver without counters has no folder
 * for them, and the NUMA node is -1 wherever firmware does not say. */
#include "hw/rdma_ports.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hw/sysfs.h"

#define RDMA     "/sys/class/infiniband"
#define MOST_GID 4096

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

/* --- GIDs --------------------------------------------------------------------------- */

static const char *const type_names[] = {
	[RDMA_GID_UNKNOWN] = "unknown",
	[RDMA_GID_IB] = "IB",
	[RDMA_GID_ROCE1] = "RoCE v1",
	[RDMA_GID_ROCE2] = "RoCE v2",
};

const char *rdma_gid_type_name(enum rdma_gid_type type)
{
	return type_names[type];
}

bool rdma_gid_type_parse(const char *name, enum rdma_gid_type *type)
{
	for (int t = RDMA_GID_UNKNOWN; t <= RDMA_GID_ROCE2; t++) {
		if (strcmp(name, type_names[t]) != 0)
			continue;
		*type = (enum rdma_gid_type)t;
		return true;
	}
	return false;
}

/* The kernel has one word for InfiniBand and RoCE v1: the headers are the same. */
static enum rdma_gid_type type_of(const char *text, bool infiniband)
{
	if (!text)
		return RDMA_GID_UNKNOWN;
	if (strcmp(text, "RoCE v2") == 0)
		return RDMA_GID_ROCE2;
	if (strcmp(text, "IB/RoCE v1") == 0)
		return infiniband ? RDMA_GID_IB : RDMA_GID_ROCE1;
	return RDMA_GID_UNKNOWN;
}

bool rdma_gid_is_v4(const uint8_t raw[RDMA_GID_BYTES])
{
	return memcmp(raw, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool rdma_gid_is_local(const uint8_t raw[RDMA_GID_BYTES])
{
	if (rdma_gid_is_v4(raw))
		return raw[12] == 169 && raw[13] == 254;
	return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

static bool is_zero(const uint8_t raw[RDMA_GID_BYTES])
{
	static const uint8_t zero[RDMA_GID_BYTES];

	return memcmp(raw, zero, sizeof(zero)) == 0;
}

const char *rdma_gid_text(struct arena *arena, const uint8_t raw[RDMA_GID_BYTES])
{
	char text[INET6_ADDRSTRLEN];

	return arena_str(arena, inet_ntop(AF_INET6, raw, text, sizeof(text)));
}

bool rdma_gid_parse(const char *text, uint8_t raw[RDMA_GID_BYTES])
{
	return text && inet_pton(AF_INET6, text, raw) == 1;
}

static bool is_infiniband(struct arena *arena, const char *root, const char *device, int port)
{
	const char *layer = sys_text(arena, root, RDMA "/%s/ports/%d/link_layer", device, port);

	return layer && strcmp(layer, "InfiniBand") == 0;
}

int rdma_gids_read(struct arena *arena, const char *root, const char *device, int port,
                   const struct rdma_gid **list)
{
	const char *dir = arena_strf(arena, RDMA "/%s/ports/%d/gids", device, port);
	bool infiniband = is_infiniband(arena, root, device, port);
	struct rdma_gid *gids;
	int slots = 0, n = 0;

	for (const char *const *name = sys_names(arena, root, dir); *name; name++)
		slots++;
	gids = arena_array(arena, (size_t)slots + 1, sizeof(*gids));
	for (int i = 0; i < slots && i < MOST_GID; i++) {
		struct rdma_gid *g = &gids[n];

		/* First the GID: of an empty slot the rest cannot be read. */
		if (!rdma_gid_parse(sys_text(arena, root, "%s/%d", dir, i), g->raw) ||
		    is_zero(g->raw))
			continue;
		g->index = i;
		g->type = type_of(sys_text(arena, root, RDMA "/%s/ports/%d/gid_attrs/types/%d",
		                           device, port, i),
		                  infiniband);
		g->netdev = sys_text(arena, root, RDMA "/%s/ports/%d/gid_attrs/ndevs/%d", device,
		                     port, i);
		n++;
	}
	*list = gids;
	return n;
}

static int score_of(const struct rdma_gid *g)
{
	return (rdma_gid_is_v4(g->raw) ? 100 : 0) + (rdma_gid_is_local(g->raw) ? 0 : 10) +
	       (g->type == RDMA_GID_ROCE2 ? 2 : 1);
}

struct rdma_gid rdma_gid_choose(const struct rdma_gid *list, int count, bool infiniband)
{
	const struct rdma_gid *best = NULL;

	for (int i = 0; i < count; i++) {
		if (!infiniband && list[i].type == RDMA_GID_UNKNOWN)
			continue;
		if (!best || (!infiniband && score_of(&list[i]) > score_of(best)))
			best = &list[i];
	}
	return best ? *best : (struct rdma_gid){.index = -1};
}

/* --- ports ----------------------------------------------------------------------------- */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names with numbers in them in the order of the numbers. */
static int names_in_order(struct arena *arena, const char *root, const char *dir,
                          const char ***sorted)
{
	const char *const *names = sys_names(arena, root, dir);
	int n = 0;

	while (names[n])
		n++;
	*sorted = arena_array(arena, (size_t)n + 1, sizeof(**sorted));
	for (int i = 0; i < n; i++)
		(*sorted)[i] = names[i];
	qsort(*sorted, (size_t)n, sizeof(**sorted), by_version);
	return n;
}

/* "4: ACTIVE" */
static const char *word_after_colon(const char *text)
{
	const char *colon = text ? strchr(text, ':') : NULL;

	return colon ? colon + 1 + strspn(colon + 1, " ") : text;
}

static double number_before(const char *text)
{
	char *end;
	double value = text ? strtod(text, &end) : 0;

	return text && end != text && value > 0 && isfinite(value) ? value : NAN;
}

static struct rdma_port port_read(struct arena *arena, const char *root, const char *device,
                                  int number)
{
	struct rdma_port p = {.device = device, .port = number, .numa_node = -1, .netdev_mtu = -1};
	const struct rdma_gid *gids;
	int n;

	p.pci = sys_pci_parent(arena, root, RDMA "/%s", device);
	if (p.pci)
		p.numa_node = (int)sys_number(-1, root, "/sys/bus/pci/devices/%s/numa_node", p.pci);
	p.state =
		word_after_colon(sys_text(arena, root, RDMA "/%s/ports/%d/state", device, number));
	p.link_layer = sys_text(arena, root, RDMA "/%s/ports/%d/link_layer", device, number);
	p.infiniband = p.link_layer && strcmp(p.link_layer, "InfiniBand") == 0;
	p.rate = sys_text(arena, root, RDMA "/%s/ports/%d/rate", device, number);
	p.gbps = number_before(p.rate);
	n = rdma_gids_read(arena, root, device, number, &gids);
	p.gid = rdma_gid_choose(gids, n, p.infiniband);
	if (p.gid.netdev)
		p.netdev_mtu = (int)sys_number(-1, root, "/sys/class/net/%s/mtu", p.gid.netdev);
	return p;
}

const struct rdma_port *rdma_ports_read(struct arena *arena, const char *root, int *count)
{
	const char **devices, ***ports;
	int n_devices = names_in_order(arena, root, RDMA, &devices), *n_ports, n = 0;
	struct rdma_port *list;

	*count = sys_exists(root, "/sys/class") ? 0 : -1;
	ports = arena_array(arena, (size_t)n_devices + 1, sizeof(*ports));
	n_ports = arena_array(arena, (size_t)n_devices + 1, sizeof(*n_ports));
	for (int d = 0; d < n_devices; d++) {
		n_ports[d] = names_in_order(
			arena, root, arena_strf(arena, RDMA "/%s/ports", devices[d]), &ports[d]);
		n += n_ports[d];
	}
	list = arena_array(arena, (size_t)n + 1, sizeof(*list));
	for (int d = 0; d < n_devices; d++)
		for (int i = 0; i < n_ports[d]; i++)
			list[(*count)++] = port_read(arena, root, devices[d], atoi(ports[d][i]));
	return list;
}

bool rdma_port_active(const struct rdma_port *port)
{
	return port->state && strcmp(port->state, "ACTIVE") == 0;
}

/* --- two ends ----------------------------------------------------------------------------- */

/* Both ends, each as {node, device, what}. */
static struct rdma_mismatch differ(const struct rdma_end ends[2], enum msg id, bool fatal,
                                   const char *a, const char *b)
{
	return (struct rdma_mismatch){
		.found = true,
		.fatal = fatal,
		.id = id,
		.args = {ends[0].node, ends[0].at.device, a, ends[1].node, ends[1].at.device, b}};
}

/* One end lacks something: {node, device, what}. */
static struct rdma_mismatch lacks(const struct rdma_end *end, enum msg id, const char *what)
{
	return (struct rdma_mismatch){
		.found = true, .fatal = true, .id = id, .args = {end->node, end->at.device, what}};
}

static const char *family(const struct rdma_gid *g)
{
	return rdma_gid_is_v4(g->raw) ? "IPv4" : rdma_gid_is_local(g->raw) ? "link-local" : "IPv6";
}

static struct rdma_mismatch compare_roce(struct arena *arena, const struct rdma_end ends[2])
{
	const struct rdma_gid *a = &ends[0].at.gid, *b = &ends[1].at.gid;
	const char *text[2];

	for (int e = 0; e < 2; e++) {
		const struct rdma_gid *g = &ends[e].at.gid;

		text[e] = arena_strf(arena, "%s, %s, GID %d %s", rdma_gid_type_name(g->type),
		                     family(g), g->index, rdma_gid_text(arena, g->raw));
	}
	if (a->type != b->type)
		return differ(ends, MSG_rdma_differ_type, true, text[0], text[1]);
	if (strcmp(family(a), family(b)) != 0)
		return differ(ends, MSG_rdma_differ_family, true, text[0], text[1]);
	/* Version 1 has no IP header: nothing routes it. Of IPv4 sysfs tells no prefix. */
	if (a->type == RDMA_GID_ROCE1 && !rdma_gid_is_v4(a->raw) && memcmp(a->raw, b->raw, 8) != 0)
		return differ(ends, MSG_rdma_differ_subnet, true, text[0], text[1]);
	return (struct rdma_mismatch){0};
}

static struct rdma_mismatch compare_ib(struct arena *arena, const struct rdma_end ends[2])
{
	const uint8_t *a = ends[0].at.gid.raw, *b = ends[1].at.gid.raw;

	if (memcmp(a, b, 8) == 0)
		return (struct rdma_mismatch){0};
	return differ(ends, MSG_rdma_differ_subnet, true, rdma_gid_text(arena, a),
	              rdma_gid_text(arena, b));
}

struct rdma_mismatch rdma_ends_compare(struct arena *arena, const struct rdma_end ends[2])
{
	struct rdma_mismatch m;

	for (int e = 0; e < 2; e++) {
		const struct rdma_port *p = &ends[e].at;

		if (!rdma_port_active(p))
			return lacks(&ends[e], MSG_rdma_port_down, p->state ? p->state : "?");
		if (p->gid.index < 0)
			return lacks(&ends[e], MSG_rdma_no_gid, tmpf("%d", p->port));
	}
	if (ends[0].at.infiniband != ends[1].at.infiniband)
		return differ(ends, MSG_rdma_differ_layer, true, ends[0].at.link_layer,
		              ends[1].at.link_layer);
	m = ends[0].at.infiniband ? compare_ib(arena, ends) : compare_roce(arena, ends);
	if (!m.found && ends[0].mtu != ends[1].mtu)
		m = differ(ends, MSG_rdma_differ_mtu, false, arena_strf(arena, "%d", ends[0].mtu),
		           arena_strf(arena, "%d", ends[1].mtu));
	if (!m.found && isfinite(ends[0].at.gbps) && isfinite(ends[1].at.gbps) &&
	    fabs(ends[0].at.gbps - ends[1].at.gbps) > 0.01 * ends[0].at.gbps)
		m = differ(ends, MSG_rdma_differ_rate, false, ends[0].at.rate, ends[1].at.rate);
	return m;
}

/* Speeds that the kernel tells before 8b/10b coding took its share. */
static bool is_8b10b(const char *rate)
{
	return rate && (strstr(rate, "SDR") || strstr(rate, " DDR") || strstr(rate, "QDR"));
}

double rdma_expected_gbps(const struct rdma_port *port, int mtu)
{
	bool v4 = rdma_gid_is_v4(port->gid.raw);
	int besides = 20 + 18 + 12 + 4;

	if (mtu <= 0)
		return NAN;
	if (port->infiniband)
		return port->gbps * (is_8b10b(port->rate) ? 0.8 : 1) * mtu / (mtu + 26);
	besides += port->gid.type == RDMA_GID_ROCE1 ? 40 : 8 + (v4 ? 20 : 40);
	return port->gbps * mtu / (mtu + besides);
}

/* --- counters ---------------------------------------------------------------------------------- */

/* What a sound, lossless fabric does not show while it is loaded. Marks of congestion
 * (CNP, pause) are not among them: they are how such a fabric works. */
static const char *const errors =
	"symbol_error|link_downed|link_error_recovery|port_rcv_errors|"
	"port_rcv_remote_physical_errors|port_xmit_discards|local_link_integrity_errors|"
	"excessive_buffer_overrun_errors|local_ack_timeout_err|out_of_sequence|packet_seq_err|"
	"implied_nak_seq_err|rnr_nak_retry_err|req_transport_retries_exceeded|out_of_buffer|"
	"rx_icrc_encapsulated|duplicate_request|out_of_seq_request|rcvd_seq_err|"
	"completer_retry_err|retry_exceeded_err|retry_rnr_exceeded_err|send_err";

bool rdma_counter_is_error(const char *name)
{
	return word_in(errors, name);
}

const struct rdma_counter *rdma_counters_read(struct arena *arena, const char *root,
                                              const char *device, int port, int *count)
{
	static const char *const dirs[] = {"counters", "hw_counters"};
	const char *const *names[2];
	const char *dir[2];
	struct rdma_counter *list;
	size_t most = 1;

	for (int d = 0; d < 2; d++) {
		dir[d] = arena_strf(arena, RDMA "/%s/ports/%d/%s", device, port, dirs[d]);
		names[d] = sys_names(arena, root, dir[d]);
		for (int i = 0; names[d][i]; i++)
			most++;
	}
	list = arena_array(arena, most, sizeof(*list));
	*count = 0;
	for (int d = 0; d < 2; d++)
		for (int i = 0; names[d][i]; i++) {
			int64_t value = sys_number(-1, root, "%s/%s", dir[d], names[d][i]);

			if (value >= 0)
				list[(*count)++] = (struct rdma_counter){names[d][i], value};
		}
	return list;
}

int64_t rdma_counter_rise(const struct rdma_counter *before, int n_before,
                          const struct rdma_counter *after)
{
	for (int i = 0; i < n_before; i++)
		if (strcmp(before[i].name, after->name) == 0)
			return after->value >= before[i].value ? after->value - before[i].value
			                                       : -1;
	return -1;
}
