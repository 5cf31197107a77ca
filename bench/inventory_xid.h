/* Xids: what the driver wrote into the kernel's log about a card since boot. */
#ifndef ASSAY_BENCH_INVENTORY_XID_H
#define ASSAY_BENCH_INVENTORY_XID_H

#include <stdbool.h>

#include "base/arena.h"

struct xid {
	const char *pci; /* 0000:17:00.0 */
	int number;
	const char *text; /* what follows the number */
};

struct xid_log {
	const char *source; /* "/dev/kmsg", "journal"; NULL: neither can be read */
	struct xid *list;   /* in the order of time */
	int n;
};

/* root: of a recorded machine, "" here. The journal is asked here only. */
struct xid_log xid_read(struct arena *arena, const char *root);
/* The same from a text of many lines. */
void xid_parse(struct xid_log *log, struct arena *arena, const char *text);
/* False for those that a program alone causes (13, 31, 43 …). */
bool xid_blames_card(int number);

#endif
