/* Looking at other machines by TCP: whoever completes a connection or refuses it is
 * there. Addresses are found once, at the start; the connections of one look run at
 * the same time and are closed at once. */
#ifndef ASSAY_SERVICE_PEERS_H
#define ASSAY_SERVICE_PEERS_H

#include "base/arena.h"
#include "base/error.h"

#define PEERS_PORT "22"

struct peers {
	const char **names; /* as in the log: the host, or what stands before "=" */
	struct peer_address *addresses;
	int count;
};

/* "n001,n002=10.0.0.2:2222,[fe80::1]:22": a host with an optional port, optionally
 * under the name its agent's log has; or a file with one of them a line (# begins
 * a comment, what follows a blank is ignored, as in host files). Arena. */
enum status peers_parse(struct peers *peers, struct arena *arena, const char *text,
                        struct error *err);
/* One more of that form; once after peers_parse. */
enum status peers_add(struct peers *peers, struct arena *arena, const char *text,
                      struct error *err);
/* Finds the addresses. */
enum status peers_resolve(struct peers *peers, struct error *err);
/* reached[i] for each, after at most timeout_ms a batch of 256. */
void peers_look(const struct peers *peers, int timeout_ms, bool *reached);

#endif
