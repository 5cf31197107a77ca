/* RDMA ports as the kernel shows them in /sys/class/infiniband, without any
 * library: state, rate, GID table, counters, and which GID to use. Ends of a
 * connection are compared before it is made, for afterwards the hardware only
 * says that nobody answered.
 *
 * Everything lives in the arena. What the kernel does not tell is NULL, -1 or NaN. */
#ifndef ASSAY_HW_RDMA_PORTS_H
#define ASSAY_HW_RDMA_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/msg.h"

#define RDMA_GID_BYTES 16

enum rdma_gid_type { RDMA_GID_UNKNOWN, RDMA_GID_IB, RDMA_GID_ROCE1, RDMA_GID_ROCE2 };

struct rdma_gid {
	int index; /* in the port's table; -1: there is none */
	enum rdma_gid_type type;
	uint8_t raw[RDMA_GID_BYTES];
	const char *netdev; /* RoCE: the interface it is of, or NULL */
};

struct rdma_port {
	const char *device; /* "mlx5_0" */
	int port;           /* from 1 */
	const char *pci;    /* NULL: a software device (rxe, siw) */
	int numa_node;      /* -1: unknown, as in most virtual machines */
	const char *state;  /* "ACTIVE", "DOWN" … */
	const char *link_layer;
	bool infiniband;     /* else Ethernet */
	const char *rate;    /* "400 Gb/sec (4X NDR)" */
	double gbps;         /* that number; NaN */
	int netdev_mtu;      /* of the GID's interface; -1 */
	struct rdma_gid gid; /* the one to use */
};

/* All ports of all devices, mlx5_2 before mlx5_10. *count -1: no /sys to look at. */
const struct rdma_port *rdma_ports_read(struct arena *arena, const char *root, int *count);
bool rdma_port_active(const struct rdma_port *port);

/* The GID table without empty slots; returns how many. */
int rdma_gids_read(struct arena *arena, const char *root, const char *device, int port,
                   const struct rdma_gid **list);
/* The best of them for a link layer: on Ethernet IPv4 before IPv6, routable before
 * link-local, RoCE v2 before v1, then the first (the scoring of perftest); on
 * InfiniBand the first. Index -1: there is none. */
struct rdma_gid rdma_gid_choose(const struct rdma_gid *list, int count, bool infiniband);
bool rdma_gid_is_v4(const uint8_t raw[RDMA_GID_BYTES]);
bool rdma_gid_is_local(const uint8_t raw[RDMA_GID_BYTES]);
/* "::ffff:10.0.0.1", "fe80::…"; and back, also as sysfs writes it. */
const char *rdma_gid_text(struct arena *arena, const uint8_t raw[RDMA_GID_BYTES]);
bool rdma_gid_parse(const char *text, uint8_t raw[RDMA_GID_BYTES]);
const char *rdma_gid_type_name(enum rdma_gid_type type);
bool rdma_gid_type_parse(const char *name, enum rdma_gid_type *type);

/* --- two ends ------------------------------------------------------------------- */

struct rdma_end {
	const char *node;
	struct rdma_port at;
	int mtu; /* bytes of payload in a packet, as the port is set; 0: unknown */
};

/* Why two ends cannot be connected, or should not be as they are. */
struct rdma_mismatch {
	bool found;
	bool fatal; /* no connection; else slower or less than it could be */
	enum msg id;
	const char *args[8]; /* NULL-terminated */
};

struct rdma_mismatch rdma_ends_compare(struct arena *arena, const struct rdma_end ends[2]);

/* Payload rate of a link: rate x mtu / (mtu + what a packet carries besides): on
 * Ethernet preamble and gap 20, frame 18, BTH 12, ICRC 4, and IP 20 or 40 with UDP 8
 * (RoCE v2) or GRH 40 (v1); on InfiniBand 26, of the 8b/10b speeds 8/10. NaN: a
 * figure is unknown. */
double rdma_expected_gbps(const struct rdma_port *port, int mtu);

/* --- counters --------------------------------------------------------------------- */

struct rdma_counter {
	const char *name;
	int64_t value;
};

/* Of counters/ and hw_counters/ of the port; *count 0: the driver has none. */
const struct rdma_counter *rdma_counters_read(struct arena *arena, const char *root,
                                              const char *device, int port, int *count);
/* Whether it counts things that a sound fabric does not have. */
bool rdma_counter_is_error(const char *name);
/* How much it rose; -1: it is not in both, or was reset meanwhile. */
int64_t rdma_counter_rise(const struct rdma_counter *before, int n_before,
                          const struct rdma_counter *after);

#endif
