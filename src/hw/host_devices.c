/* Network adapters, RDMA devices and NVIDIA cards as the PCI bus shows them:
 * without any driver or library, so that a card its driver does not list is
 * still counted. Software RDMA devices are told apart by having no PCI parent. */
#include "hw/host.h"

#include <stdlib.h>
#include <string.h>

#include "hw/sysfs.h"

#define NET           "/sys/class/net"
#define RDMA          "/sys/class/infiniband"
#define PCI           "/sys/bus/pci/devices"
#define VENDOR_NVIDIA 0x10de

static int count_names(const char *const *names)
{
	int n = 0;

	while (names[n])
		n++;
	return n;
}

static int numa_of(const char *root, const char *pci)
{
	return pci ? (int)sys_number(HOST_UNKNOWN, root, PCI "/%s/numa_node", pci) : HOST_UNKNOWN;
}

/* --- network ------------------------------------------------------------------- */

const struct host_nic *host_nics_read(struct arena *arena, const char *root, int *count)
{
	const char *const *names = sys_names(arena, root, NET);
	struct host_nic *nics = arena_array(arena, (size_t)count_names(names) + 1, sizeof(*nics));
	struct str path = {0};

	*count = sys_exists(root, "/sys/class") ? 0 : HOST_UNKNOWN;
	for (; *names; names++) {
		const char *name = *names;

		str_clear(&path);
		str_addf(&path, NET "/%s/operstate", name);
		if (!sys_exists(root, path.data))
			continue; /* bonding_masters is a file among the directories */
		str_clear(&path);
		str_addf(&path, NET "/%s/device", name);
		nics[*count] = (struct host_nic){
			.name = name,
			.driver = sys_link_name(arena, root, NET "/%s/device/driver", name),
			.state = sys_text(arena, root, NET "/%s/operstate", name),
			.pci = sys_pci_parent(arena, root, NET "/%s/device", name),
			/* A link that is down reads as -1 or as an error. */
			.speed_mbps = sys_number(HOST_UNKNOWN, root, NET "/%s/speed", name),
			.mtu = sys_number(HOST_UNKNOWN, root, NET "/%s/mtu", name),
			.is_virtual = !sys_exists(root, path.data),
		};
		if (nics[*count].speed_mbps <= 0)
			nics[*count].speed_mbps = HOST_UNKNOWN;
		nics[*count].numa_node = numa_of(root, nics[*count].pci);
		++*count;
	}
	str_release(&path);
	return nics;
}

/* "4: ACTIVE" */
static const char *state_word(const char *text)
{
	const char *colon = text ? strchr(text, ':') : NULL;

	return colon ? colon + 1 + strspn(colon + 1, " ") : text;
}

const struct host_rdma *host_rdma_read(struct arena *arena, const char *root, int *count)
{
	const char *const *names = sys_names(arena, root, RDMA);
	struct host_rdma *list;

	*count = sys_exists(root, "/sys/class") ? count_names(names) : HOST_UNKNOWN;
	list = arena_array(arena, (size_t)count_names(names) + 1, sizeof(*list));
	for (int i = 0; i < *count; i++) {
		const char *name = names[i];

		list[i] = (struct host_rdma){
			.name = name,
			.pci = sys_pci_parent(arena, root, RDMA "/%s", name),
			.firmware = sys_text(arena, root, RDMA "/%s/fw_ver", name),
			.board = sys_text(arena, root, RDMA "/%s/board_id", name),
			.link_layer = sys_text(arena, root, RDMA "/%s/ports/1/link_layer", name),
			.state = state_word(sys_text(arena, root, RDMA "/%s/ports/1/state", name)),
			.rate = sys_text(arena, root, RDMA "/%s/ports/1/rate", name),
			.ports = count_names(
				sys_names(arena, root, arena_strf(arena, RDMA "/%s/ports", name))),
		};
		list[i].numa_node = numa_of(root, list[i].pci);
	}
	return list;
}

/* --- NVIDIA on the PCI bus --------------------------------------------------------- */

static struct host_pci read_pci(struct arena *arena, const char *root, const char *address)
{
	return (struct host_pci){
		.address = address,
		.driver = sys_link_name(arena, root, PCI "/%s/driver", address),
		.speed = sys_text(arena, root, PCI "/%s/current_link_speed", address),
		.max_speed = sys_text(arena, root, PCI "/%s/max_link_speed", address),
		.width = (int)sys_number(-1, root, PCI "/%s/current_link_width", address),
		.max_width = (int)sys_number(-1, root, PCI "/%s/max_link_width", address),
		.device = (int)sys_number(-1, root, PCI "/%s/device", address),
		.subsystem_vendor = (int)sys_number(-1, root, PCI "/%s/subsystem_vendor", address),
		.subsystem_device = (int)sys_number(-1, root, PCI "/%s/subsystem_device", address),
		.revision = (int)sys_number(-1, root, PCI "/%s/revision", address),
		.class_code = (int)sys_number(-1, root, PCI "/%s/class", address),
		.numa_node = numa_of(root, address),
	};
}

static void read_bus(struct host_nvidia *nv, struct arena *arena, const char *root)
{
	const char *const *names = sys_names(arena, root, PCI);
	struct host_pci *cards = arena_array(arena, (size_t)count_names(names) + 1, sizeof(*cards));

	if (!sys_exists(root, "/sys/bus"))
		nv->n_cards = nv->switches = HOST_UNKNOWN;
	for (; *names; names++) {
		int base;

		if (sys_number(-1, root, PCI "/%s/vendor", *names) != VENDOR_NVIDIA)
			continue;
		base = (int)sys_number(-1, root, PCI "/%s/class", *names) >> 8;
		if (base == 0x0300 || base == 0x0302)
			cards[nv->n_cards++] = read_pci(arena, root, *names);
		nv->switches += base == 0x0680;
	}
	nv->cards = cards;
}

/* The version is the first word of the module's line that looks like
 * 535.161.08; the rest of that line differs between the two modules. */
static const char *driver_version(struct arena *arena, const char *line)
{
	char *copy = arena_str(arena, line), *rest = NULL;

	for (char *word = copy ? strtok_r(copy, " ", &rest) : NULL; word;
	     word = strtok_r(NULL, " ", &rest))
		if (strchr(word, '.') && strspn(word, "0123456789.") == strlen(word))
			return word;
	return NULL;
}

struct host_nvidia host_nvidia_read(struct arena *arena, const char *root)
{
	const char *line = sys_text(arena, root, "/proc/driver/nvidia/version");
	struct host_nvidia nv = {
		.driver = sys_text(arena, root, "/sys/module/nvidia/version"),
		.open_module = HOST_UNKNOWN,
		.peermem = sys_exists(root, "/sys/module/nvidia_peermem") ||
	                   sys_exists(root, "/sys/module/nv_peer_mem"),
	};

	if (!nv.driver)
		nv.driver = driver_version(arena, line);
	if (line)
		nv.open_module = strstr(line, "Open Kernel Module") != NULL;
	read_bus(&nv, arena, root);
	return nv;
}
