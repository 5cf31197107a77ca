/* What a function of Assay returns. One list of codes, one place for their
 * names; the sentence a person reads is made where the context is known
 * (base/error.h) and printed by the CLI alone.
 *
 * To add a code: one row here. */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#define STATUS_LIST(X)                                                                             \
	X(OK, "ok")                                                                                \
	X(USAGE, "usage")           /* wrong command line or request: exit 3 */                    \
	X(PARSE, "parse")           /* malformed input file or text: exit 3 */                     \
	X(RANGE, "range")           /* number outside its allowed range */                         \
	X(NOTFOUND, "not found")    /* file, library, symbol, key */                               \
	X(EXISTS, "exists")         /* would overwrite something */                                \
	X(PERMISSION, "permission") /* EACCES, EPERM */                                            \
	X(NOSPACE, "no space")      /* ENOSPC, EDQUOT, EFBIG */                                    \
	X(IO, "input/output")       /* any other failing system call */                            \
	X(NOMEM, "no memory")                                                                      \
	X(UNSUPPORTED, "unsupported") /* this machine has no such thing */                         \
	X(TIMEOUT, "timeout")         /* a deadline passed */                                      \
	X(INTERRUPTED, "interrupted") /* SIGINT or SIGTERM */                                      \
	X(CORRUPT, "corrupt")         /* digest or chain does not match */                         \
	X(INTERNAL, "internal")       /* a bug in Assay: exit 4 */

enum status {
#define X(name, text) ST_##name,
	STATUS_LIST(X)
#undef X
};

/* Lower-case name of the code, never NULL. */
const char *status_name(enum status st);

/* The status that fits an errno value. */
enum status status_from_errno(int errnum);

/* Process exit codes; see README. A signal wins: 128 + signal number. */
enum exit_code {
	EXIT_ACCEPT = 0,
	EXIT_REJECT = 1,
	EXIT_INCOMPLETE = 2,
	EXIT_USAGE = 3,
	EXIT_INTERNAL = 4,
};

#endif
