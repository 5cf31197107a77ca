/* An error a person will read: a status and one sentence that says what,
 * where and what to do. Filled where the context is known, printed by the CLI.
 *
 * A zeroed struct error means no error. The first error stays: setting a
 * second one on top is ignored, so the cause is what gets printed. */
#ifndef ASSAY_BASE_ERROR_H
#define ASSAY_BASE_ERROR_H

#include "assay/status.h"
#include "base/msg.h"

struct error {
	enum status status;
	struct str text;
};

/* Returns `st` for use in a return statement. `err` may be NULL. */
enum status error_list(struct error *err, enum status st, enum msg id, const char *const *args);
#define error_set(err, st, id, ...)                                                                \
	error_list(err, st, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* "path: No such file or directory", with the status of the errno value. */
enum status error_errno(struct error *err, const char *path, int errnum);

void error_release(struct error *err);

/* Prints one line to stderr with write(2) and leaves with EXIT_INTERNAL. */
_Noreturn void die_nomem(void);

#endif
