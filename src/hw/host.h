/* What the kernel says about this machine, from /proc, /sys and a few files of
 * /etc below `root` ("" on a real machine, the folder of a recorded one in
 * tests). Nothing is opened but files; no privilege is needed.
 *
 * Texts are in the arena given. Unknown is NULL for texts, -1 for numbers and
 * NaN for fractions, never 0. */
#ifndef ASSAY_HW_HOST_H
#define ASSAY_HW_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define HOST_UNKNOWN   (-1)
#define HOST_UNLIMITED INT64_MAX

/* --- host.c: processors, memory, identity -------------------------------- */

struct host_cpu {
	const char *model;    /* /proc/cpuinfo; ARM: implementer and part numbers */
	const char *governor; /* of the first CPU; NULL: no frequency scaling seen */
	int online;           /* logical CPUs */
	int cores, sockets;   /* of those online */
	int numa_nodes;
	int smt;         /* 1 more than one thread per core active, 0 not */
	bool hypervisor; /* the CPU says it is virtual (x86) */
};

struct host_memory {
	int64_t total_bytes, available_bytes;
	int64_t swap_bytes;
	int64_t hugepage_bytes; /* reserved */
};

struct host_system {
	const char *hostname;
	const char *kernel;       /* release: 5.15.0-91-generic */
	const char *os;           /* PRETTY_NAME of os-release */
	const char *clocksource;  /* in use */
	const char *clocksources; /* to choose from */
	const char *machine_id, *boot_id;
	const char *product;        /* DMI vendor and product */
	const char *virtualization; /* "none", "vm", "vm QEMU …"; NULL: no way to tell */
	const char *container;      /* "none", "docker", "kubernetes" … */
};

struct host_cpu host_cpu_read(struct arena *arena, const char *root);
struct host_memory host_memory_read(const char *root);
struct host_system host_system_read(struct arena *arena, const char *root);

/* CPUs this thread may run on, ascending; *count is at least 1. On a recorded
 * machine: those online there (0 and NULL when unknown). */
const int *host_allowed_cpus(struct arena *arena, const char *root, int *count);
/* Ids of the sockets of those CPUs, ascending; 0 alone where the kernel has
 * none. *count is at least 1. */
const int *host_socket_ids(struct arena *arena, const char *root, int *count);

/* Time of all CPUs since boot in ticks, from /proc/stat; false: unreadable, or
 * the kernel has no steal column. steal: time a hypervisor gave to others. */
struct host_ticks {
	int64_t total, steal;
};
bool host_ticks_read(struct host_ticks *out, const char *root);

/* --- host_limits.c: what this process may use ----------------------------- */

struct host_mount {
	const char *point, *type, *source;
	const char *root;    /* of the file system, as mounted */
	const char *options; /* of the mount and, after a comma, of the file system */
};

struct host_limits {
	int cgroup;                                   /* version 1 or 2; 0: none mounted */
	double cpus;                                  /* CPU quota in CPUs; NaN: none */
	int64_t memory_bytes;                         /* HOST_UNLIMITED: none */
	int64_t throttled_us;                         /* CPU time refused so far for the quota */
	int64_t memlock_bytes, open_files, processes; /* soft limits */
};

/* Mounts in the order of /proc/self/mountinfo; *count HOST_UNKNOWN: unreadable. */
const struct host_mount *host_mounts_read(struct arena *arena, const char *root, int *count);
struct host_limits host_limits_read(struct arena *arena, const char *root);
/* Memory a process can still get: available memory or less by its cgroup. */
int64_t host_memory_free(const char *root);
/* Name of a statfs magic number ("nfs", "lustre"), or NULL for one not listed. */
const char *statfs_name(int64_t magic);

/* --- host_devices.c: cards and network ------------------------------------ */

struct host_nic {
	const char *name, *driver, *state; /* state: "up", "down" … */
	const char *pci;                   /* NULL: no PCI parent */
	int64_t speed_mbps;                /* of the link as it is up */
	int64_t mtu;
	int numa_node;
	bool is_virtual; /* bridge, bond, veth, loopback: no device below it */
};

struct host_rdma {
	const char *name;
	const char *pci; /* NULL: a software device (rxe, siw) */
	const char *firmware, *board;
	const char *link_layer; /* of port 1: "InfiniBand", "Ethernet" */
	const char *state;      /* of port 1: "ACTIVE" … */
	const char *rate;       /* of port 1, as the kernel says it: "400 Gb/sec (4X NDR)" */
	int ports;
	int numa_node;
};

struct host_pci {
	const char *address;
	const char *driver;            /* NULL: none bound */
	const char *speed, *max_speed; /* "16.0 GT/s PCIe"; idle links sleep low */
	int width, max_width;
	int device, subsystem_vendor, subsystem_device, revision; /* 16-bit ids */
	int class_code;                                           /* 24 bits: 0x030200 */
	int numa_node;
};

struct host_nvidia {
	const struct host_pci *cards; /* PCI class 0x0300 and 0x0302, by address */
	int n_cards;                  /* HOST_UNKNOWN: no /sys to look at */
	int switches;                 /* PCI class 0x0680: NVSwitch; likewise */
	const char *driver;           /* version of the loaded kernel module */
	int open_module;              /* 1 the open kernel module, 0 the proprietary one */
	bool peermem;                 /* nvidia_peermem or nv_peer_mem is loaded */
};

/* *count HOST_UNKNOWN: no /sys to look at. */
const struct host_nic *host_nics_read(struct arena *arena, const char *root, int *count);
const struct host_rdma *host_rdma_read(struct arena *arena, const char *root, int *count);
struct host_nvidia host_nvidia_read(struct arena *arena, const char *root);

#endif
