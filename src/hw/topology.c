/* The one file that knows hwloc. Its plugins are kept out: on Debian they pull
 * OpenCL and X11 into the process, which costs 25 ms and opens GPU drivers
 * behind our back. */
#include "hw/topology.h"

#include <hwloc.h>
#include <stdlib.h>

#include "hw/host.h"

/* A plugin path that can hold no plugin. */
#define NO_PLUGINS "/dev/null"

static enum status load(hwloc_topology_t *topology, const char *root, struct error *err)
{
	setenv("HWLOC_PLUGINS_PATH", NO_PLUGINS, 1);
	if (root[0])
		setenv("HWLOC_FSROOT", root, 1);
	else
		unsetenv("HWLOC_FSROOT");
	if (hwloc_topology_init(topology) != 0)
		return error_set(err, ST_NOMEM, MSG_topology_failed);
	hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(*topology) != 0) {
		hwloc_topology_destroy(*topology);
		return error_set(err, ST_UNSUPPORTED, MSG_topology_failed);
	}
	return ST_OK;
}

/* Narrows a set to the CPUs the scheduler lets us use: hwloc honours the
 * cgroup, not taskset. */
static void keep_allowed(hwloc_bitmap_t set, struct arena *arena, const char *root)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	int count;
	const int *cpus = host_allowed_cpus(arena, root, &count);

	for (int i = 0; i < count; i++)
		hwloc_bitmap_set(allowed, (unsigned)cpus[i]);
	hwloc_bitmap_and(set, set, allowed);
	hwloc_bitmap_free(allowed);
}

static int64_t last_level_bytes(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
	static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
	                                          HWLOC_OBJ_L2CACHE};
	int64_t bytes = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels) && bytes == 0; i++) {
		hwloc_obj_t cache = NULL;

		while ((cache = hwloc_get_next_obj_by_type(topology, levels[i], cache)))
			if (hwloc_bitmap_intersects(cache->cpuset, set))
				bytes += (int64_t)cache->attr->cache.size;
	}
	return bytes;
}

/* Fills one socket from the allowed CPUs in `set`. */
static void read_socket(struct socket_info *s, struct arena *arena, hwloc_topology_t topology,
                        int id, hwloc_const_cpuset_t set)
{
	int *cpus = arena_array(arena, (size_t)hwloc_bitmap_weight(set), sizeof(*cpus));
	hwloc_bitmap_t left = hwloc_bitmap_dup(set);
	int cpu;

	*s = (struct socket_info){.id = id, .cpus = cpus, .threads = hwloc_bitmap_weight(set)};
	while ((cpu = hwloc_bitmap_first(left)) >= 0) {
		hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu);
		hwloc_obj_t core =
			pu ? hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu) : NULL;

		cpus[s->cores++] = cpu;
		if (core)
			hwloc_bitmap_andnot(left, left, core->cpuset);
		hwloc_bitmap_clr(left, (unsigned)cpu);
	}
	s->llc_bytes = last_level_bytes(topology, set);
	hwloc_bitmap_free(left);
}

static void read_sockets(struct topology *out, struct arena *arena, hwloc_topology_t topology,
                         hwloc_const_cpuset_t allowed)
{
	int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);

	out->sockets =
		arena_array(arena, packages > 0 ? (size_t)packages : 1, sizeof(*out->sockets));
	for (int i = 0; i < packages; i++) {
		hwloc_obj_t package =
			hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
		hwloc_bitmap_t set = hwloc_bitmap_dup(package->cpuset);
		int id = package->os_index == HWLOC_UNKNOWN_INDEX ? i : (int)package->os_index;

		hwloc_bitmap_and(set, set, allowed);
		if (!hwloc_bitmap_iszero(set))
			read_socket(&out->sockets[out->n_sockets++], arena, topology, id, set);
		hwloc_bitmap_free(set);
	}
	/* Some virtual machines show no packages at all. */
	if (packages <= 0 && !hwloc_bitmap_iszero(allowed))
		read_socket(&out->sockets[out->n_sockets++], arena, topology, 0, allowed);
}

enum status topology_read(struct topology *out, struct arena *arena, const char *root,
                          struct error *err)
{
	unsigned version = hwloc_get_api_version();
	hwloc_topology_t topology;
	hwloc_bitmap_t allowed;
	enum status st;

	*out = (struct topology){0};
	st = load(&topology, root, err);
	if (st != ST_OK)
		return st;
	allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
	keep_allowed(allowed, arena, root);
	read_sockets(out, arena, topology, allowed);
	out->numa_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
	out->library = arena_strf(arena, "hwloc %u.%u", version >> 16, version >> 8 & 0xff);
	hwloc_bitmap_free(allowed);
	hwloc_topology_destroy(topology);
	if (out->n_sockets == 0)
		return error_set(err, ST_UNSUPPORTED, MSG_topology_failed);
	return ST_OK;
}

const struct socket_info *topology_socket(const struct topology *t, int id)
{
	for (int i = 0; i < t->n_sockets; i++)
		if (t->sockets[i].id == id)
			return &t->sockets[i];
	return NULL;
}
