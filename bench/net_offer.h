/* What one who listens tells the one who is to connect, by way of the coordinator's
 * texts: addresses, port, and two tokens. They prove both sides, since private
 * addresses occur twice in a cluster and a port may be somebody else's. */
#ifndef ASSAY_BENCH_NET_OFFER_H
#define ASSAY_BENCH_NET_OFFER_H

#include <stdbool.h>

#include "base/json.h"
#include "net_link.h"

struct net_offer {
	int port; /* 0: nobody listens */
	/* Of who connects, and of who answers. */
	char token[NET_TOKEN + 1], answer[NET_TOKEN + 1];
	struct net_addresses addresses; /* the arena's */
};

/* New tokens; false: the kernel has no random numbers yet. */
bool net_offer_tokens(struct net_offer *offer);
/* As members of an object that is open. */
void net_offer_put(struct json_out *j, const struct net_offer *offer);
/* False: that is none, or nobody listens. Addresses that are none are left out. */
bool net_offer_read(struct net_offer *offer, struct arena *arena, const cJSON *root);

/* Adds an address and how it failed to a list in words, number `count` of it. */
void net_tried_add(struct str *tried, int count, const struct net_address *a, int errnum);

#endif
