/* Who is who: the first word of every rank, and whether all of them together are
 * the cluster that was asked for. Two ranks on one node would measure half of it
 * each; a node that comes twice would count twice. */
#ifndef ASSAY_COORD_HELLO_H
#define ASSAY_COORD_HELLO_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"

struct identity {
	const char *host;         /* as the kernel calls it, fit for file names */
	const char *version;      /* of Assay */
	const char *program;      /* SHA-256 of its file; "": not known */
	const char *machine_id;   /* "": none */
	const char *boot_id;      /* of the kernel: the same in two containers of one host */
	const char *options;      /* it was started with, "--name value", a line each, in order */
	const char *const *cards; /* UUIDs, or PCI addresses where no UUID is told */
	int n_cards;
};

/* A host's name made fit for file names: letters, digits and "._-", no dot in front, at
 * most 255 of them. */
const char *host_name_fit(struct arena *arena, const char *name);
/* Of this node, from /proc and /etc below `root`. */
void identity_read(struct identity *id, struct arena *arena, const char *root, const char *host,
                   const char *version, const char *options);
void identity_write(const struct identity *id, struct json_out *j);
/* Strings from the arena; the host is made fit once more, since the node may lie. */
void identity_parse(struct identity *id, struct arena *arena, const cJSON *o);

struct hello_result {
	const char *refusal; /* why these ranks are no cluster; NULL: they are */
	/* What a person should know, a line each, of one kind a few and how many more; or
	 * NULL. */
	const char *notes;
};

/* Names each rank (names[i], from the arena, all different): its host, with the
 * rank behind it where another one has that name too. ids[i].host NULL: that
 * rank said nothing. Refused are another version, other options, one kernel under one host
 * name twice (two ranks on a node), and a card that two ranks have; noted is another build
 * of the same version. */
struct hello_result hello_check(const struct identity *ids, int count, const char **names,
                                struct arena *arena);

#endif
