/* standin_tree ROOT: writes what /proc and /sys of the node named by
 * ASSAY_STANDIN say about its cards, below ROOT, beside whatever is there. The
 * same reading of the node file as the doubles', so they cannot disagree unless
 * a fault says so. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/standin/standin.h"

static const char *root;

static void make_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			node_bad("%s: %s", path, strerror(errno));
		*p = '/';
	}
}

static void put(const char *folder, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const char *folder, const char *name, const char *fmt, ...)
{
	char path[4096];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
	make_folders(path);
	f = fopen(path, "w");
	if (!f)
		node_bad("%s: %s", path, strerror(errno));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static void put_device(const char *folder, int device, int class_code, int numa)
{
	char link[4096];

	put(folder, "vendor", "0x10de\n");
	put(folder, "device", "0x%04x\n", (unsigned)device);
	put(folder, "subsystem_vendor", "0x10de\n");
	put(folder, "subsystem_device", "0x%04x\n", (unsigned)device);
	put(folder, "revision", "0xa1\n");
	put(folder, "class", "0x%06x\n", (unsigned)class_code);
	put(folder, "numa_node", "%d\n", numa);
	snprintf(link, sizeof(link), "%s%s/driver", root, folder);
	unlink(link);
	if (symlink("../../../bus/pci/drivers/nvidia", link) != 0)
		node_bad("%s: %s", link, strerror(errno));
}

static void put_card(const struct card *card)
{
	static const char *const speeds[] = {"Unknown",       "2.5 GT/s PCIe",  "5.0 GT/s PCIe",
	                                     "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
	                                     "64.0 GT/s PCIe"};
	const struct identity *id = &card->says[LAYER_PCI];
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%04x:%02x:%02x.0",
	         (unsigned)card->domain, (unsigned)card->bus, (unsigned)card->device);
	put_device(folder, id->pci_device >> 16 & 0xffff, 0x030200, card->numa_node);
	put(folder, "current_link_speed", "%s\n", speeds[card->pcie_gen % 7]);
	put(folder, "max_link_speed", "%s\n", speeds[card->pcie_max_gen % 7]);
	put(folder, "current_link_width", "%d\n", card->pcie_width);
	put(folder, "max_link_width", "%d\n", card->pcie_max_width);
}

/* 10.x.y.z by what the node and the adapter are called, or one of the port. */
static void put_gid(const char *folder, int nic)
{
	uint64_t n = hash64(content_digest(node.cards[0].is.uuid, sizeof(node.cards[0].is.uuid)),
	                    (uint64_t)nic);
	unsigned a = (unsigned)(n & 0xff), b = (unsigned)(n >> 8 & 0xffff);

	if (node.nic_roce)
		put(folder, "gids/0", "0000:0000:0000:0000:0000:ffff:0a%02x:%04x\n", a, b);
	else
		put(folder, "gids/0", "fe80:0000:0000:0000:0000:%04x:0000:%04x\n", b, a + 1);
	put(folder, "gid_attrs/types/0", node.nic_roce ? "RoCE v2\n" : "IB/RoCE v1\n");
	if (node.nic_roce)
		put(folder, "gid_attrs/ndevs/0", "eth%d\n", nic);
}

/* An adapter beside each card. */
static void put_nic(int nic)
{
	char link[4096], device[128], folder[160];
	double gbps = node.nic_gbps;

	for (struct fault *f = NULL; (f = fault_next(f, FAULT_SLOW_NIC, -1));)
		if ((f->rank < 0 || f->rank == nic) && strcmp(f->word, "trained") == 0)
			gbps *= f->factor;
	snprintf(device, sizeof(device), "/devices/pci0000:00/0000:%02x:00.1/infiniband/mlx5_%d",
	         (unsigned)(0x17 + 0x13 * nic % 0xe0), nic);
	snprintf(folder, sizeof(folder), "/sys%s/ports/1", device);
	put(folder, "state", "4: ACTIVE\n");
	put(folder, "phys_state", "5: LinkUp\n");
	put(folder, "rate", "%g Gb/sec (4X HDR)\n", gbps);
	put(folder, "link_layer", node.nic_roce ? "Ethernet\n" : "InfiniBand\n");
	put_gid(folder, nic);
	put(folder, "hw_counters/out_of_sequence", "0\n");
	snprintf(link, sizeof(link), "%s/sys/class/infiniband/mlx5_%d", root, nic);
	make_folders(link);
	snprintf(folder, sizeof(folder), "../..%s", device);
	unlink(link);
	if (symlink(folder, link) != 0)
		node_bad("%s: %s", link, strerror(errno));
}

static bool pci_sees(const struct card *card)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_MISSING, card->index));)
		if (strcmp(f->word, "pci") == 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: ASSAY_STANDIN=node.json standin_tree ROOT\n", stderr);
		return 3;
	}
	root = argv[1];
	node_load();
	for (int c = 0; c < node.n_cards; c++)
		if (pci_sees(&node.cards[c]))
			put_card(&node.cards[c]);
	for (int n = 0; n < node.nics; n++)
		put_nic(n);
	/* The switches of a board of eight. */
	for (int s = 0; node.nvswitch && s < 4; s++) {
		char folder[64];

		snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/0000:%02x:00.0",
		         0xc4 + (unsigned)s);
		put_device(folder, 0x22a3, 0x068000, 0);
	}
	put("/sys/module/nvidia", "version", "%s\n", node.driver);
	put("/proc/driver/nvidia", "version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n",
	    node.driver);
	return 0;
}
