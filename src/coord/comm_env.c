/* Which variables keep which MPI library on plain TCP. Each reads its own and
 * ignores the others', so they are set for all, whatever the module. */
#include "coord/comm_env.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

/* To add one: a row, and COMM_ENV_MAX. */
static const char *const settings[][2] = {
	{"OMPI_MCA_pml", "ob1"},
	{"OMPI_MCA_btl", "self,tcp"},
	{"OMPI_MCA_osc", "^ucx"},
	{"OMPI_MCA_coll_hcoll_enable", "0"},
	{"OMPI_MCA_coll_ucc_enable", "0"},
	{"OMPI_MCA_opal_cuda_support", "0"},
	/* hwloc inside MPI: its plug-ins open GPU libraries and look for X servers. */
	{"HWLOC_PLUGINS_PATH", "/dev/null"},
	/* MPICH and its kin over libfabric or UCX */
	{"MPIR_CVAR_OFI_USE_PROVIDER", "tcp"},
	{"I_MPI_OFI_PROVIDER", "tcp"},
	{"MPIR_CVAR_ENABLE_GPU", "0"},
	{"UCX_TLS", "tcp,sm,self"},
	/* No chunk asks the receiver first: a sender may die before it answers, and
	 * UCX aborts when it finds the memory of a dead process gone. */
	{"UCX_RNDV_THRESH", "inf"},
};
#define N_SETTINGS (sizeof(settings) / sizeof(*settings))

_Static_assert(N_SETTINGS + 2 <= COMM_ENV_MAX, "room for all and the two that depend");

/* Networks of containers and virtual machines inside a host. They have the same
 * address on all hosts, and Open MPI takes them for a way from one to another. */
static const char *const inner_networks[] = {
	"docker", "br-",   "virbr", "veth",   "vnet",    "cni",   "flannel",
	"cali",   "lxcbr", "lxdbr", "podman", "nerdctl", "kube-", NULL,
};

static bool is_inner(const char *name)
{
	for (int i = 0; inner_networks[i]; i++)
		if (str_starts(name, inner_networks[i]))
			return true;
	return false;
}

/* NULL: the variable goes. */
static void swap(struct comm_env *env, const char *name, const char *value)
{
	const char *was = getenv(name);

	env->names[env->n] = name;
	env->before[env->n] = was ? strdup(was) : NULL;
	if (was && !env->before[env->n])
		die_nomem();
	env->n++;
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void exclude_networks(struct comm_env *env)
{
	struct if_nameindex *all = if_nameindex();
	struct str list = {0};

	str_add(&list, "127.0.0.1/8,sppp"); /* Open MPI's own, which this replaces */
	for (int i = 0; all && all[i].if_index; i++)
		if (is_inner(all[i].if_name))
			str_addf(&list, ",%s", all[i].if_name);
	if (all)
		if_freenameindex(all);
	swap(env, "OMPI_MCA_btl_tcp_if_exclude", list.data);
	str_release(&list);
}

void comm_env_enter(struct comm_env *env)
{
	const char *device = getenv("UCX_NET_DEVICES");

	env->n = 0;
	for (size_t i = 0; i < N_SETTINGS; i++)
		swap(env, settings[i][0], settings[i][1]);
	/* A site's choice for its fabric (mlx5_0:1) leaves TCP without a device. */
	if (device && strchr(device, ':'))
		swap(env, "UCX_NET_DEVICES", NULL);
	if (!getenv("OMPI_MCA_btl_tcp_if_include") && !getenv("OMPI_MCA_btl_tcp_if_exclude"))
		exclude_networks(env);
}

void comm_env_leave(struct comm_env *env)
{
	while (env->n > 0) {
		int i = --env->n;

		if (env->before[i])
			setenv(env->names[i], env->before[i], 1);
		else
			unsetenv(env->names[i]);
		free(env->before[i]);
	}
}
