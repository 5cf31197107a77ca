/* The CPU back end of assay/device.h: one socket taken as a card, with its
 * cores as units, memory touched first by the core that will use it, and a
 * BLAS loaded at run time. */
#ifndef ASSAY_HW_DEVICE_CPU_H
#define ASSAY_HW_DEVICE_CPU_H

#include "assay/device.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"

#define CPU_SOCKET_PREFIX "cpu-socket-"

struct device_cpu_request {
	const char *id;                   /* cpu-socket-N */
	const struct clock_source *clock; /* times the work */
	const char *root;                 /* of /proc and /sys */
	const char *lib_dir;              /* or NULL */
	int threads;                      /* 0: one per core of the socket */
	bool blas;                        /* load one: ST_NOTFOUND when there is none */
	const char *family;               /* of BLAS (hw/blas.h); NULL: the fastest found */
};

/* Binds the calling thread to the socket's cores until close(): libraries
 * start their threads inside. Texts go to the arena. ST_UNSUPPORTED: there is
 * no such socket. */
enum status device_cpu_open(struct device **out, struct arena *arena,
                            const struct device_cpu_request *request, struct error *err);

#endif
