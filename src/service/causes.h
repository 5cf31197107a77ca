/* Why time was lost, as the buyer keeps it: a CSV with from_utc, to_utc, node, cause
 * and, if wanted, note. It takes minutes out of a vendor's account or leaves them
 * in, so each line names its node (or * for all) and both its ends. */
#ifndef ASSAY_SERVICE_CAUSES_H
#define ASSAY_SERVICE_CAUSES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Where lines overlap, the later word of this list counts. not_rented: the node was
 * not due at all. */
#define CAUSE_LIST(X)                                                                              \
	X(NONE, "none")                                                                            \
	X(PROVIDER, "provider")                                                                    \
	X(PLANNED, "planned")                                                                      \
	X(CUSTOMER, "customer")                                                                    \
	X(NOT_RENTED, "not_rented")

enum cause {
#define X(name, text) CAUSE_##name,
	CAUSE_LIST(X)
#undef X
		CAUSES
};

const char *cause_name(enum cause cause);

struct cause_line {
	int line;
	int64_t from_ns, to_ns;
	const char *node; /* "*": all */
	enum cause cause;
};

struct causes {
	const struct cause_line *lines; /* arena */
	int count;
};

enum status causes_load(struct causes *causes, struct arena *arena, const char *path,
                        struct error *err);
/* The cause of a node at a moment; *until becomes the next moment it may change,
 * not beyond what it was. */
enum cause causes_at(const struct causes *causes, const char *node, int64_t ns, int64_t *until);

/* A moment in a cell; error with file, line and column. */
enum status moment_read(const char *file, const char *line, const char *column, const char *text,
                        int64_t *ns, struct error *err);
struct csv;
enum status cell_moment(const struct csv *csv, int row, const char *column, int64_t *ns,
                        struct error *err);
/* ST_PARSE with the nearest column found, if the table lacks one of the list. */
enum status columns_need(const struct csv *csv, const char *const *columns, struct error *err);

#endif
