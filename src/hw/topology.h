/* Sockets, cores and memory nodes of this machine as hwloc sees them: what the
 * CPU back end takes as its "cards". Only the CPUs this process may use are
 * listed. Never called for list or --help: loading costs milliseconds. */
#ifndef ASSAY_HW_TOPOLOGY_H
#define ASSAY_HW_TOPOLOGY_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct socket_info {
	int id;          /* as the kernel counts packages; 0 where it does not */
	const int *cpus; /* one logical CPU per core, ascending */
	int cores;
	int threads;       /* logical CPUs of all its cores */
	int64_t llc_bytes; /* all last-level caches of the socket; 0: unknown */
};

struct topology {
	struct socket_info *sockets;
	int n_sockets;
	int numa_nodes;
	const char *library; /* "hwloc 2.9.0" */
};

/* Reads the machine below `root` ("" for the real one). ST_UNSUPPORTED when no
 * usable CPU is found. Everything is allocated from the arena. */
enum status topology_read(struct topology *out, struct arena *arena, const char *root,
                          struct error *err);

/* The socket with that id, or NULL. */
const struct socket_info *topology_socket(const struct topology *t, int id);

#endif
