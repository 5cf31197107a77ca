/* Errors carry the sentence the person will read, made where it is known. */
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *const status_names[] = {
#define X(name, text) text,
	STATUS_LIST(X)
#undef X
};

const char *status_name(enum status st)
{
	return (unsigned)st < sizeof(status_names) / sizeof(*status_names) ? status_names[st] : "?";
}

enum status status_from_errno(int errnum)
{
	switch (errnum) {
	case 0:
		return ST_OK;
	case ENOENT:
	case ENOTDIR:
		return ST_NOTFOUND;
	case EEXIST:
	case ENOTEMPTY:
		return ST_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ST_PERMISSION;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return ST_NOSPACE;
	case ENOMEM:
		return ST_NOMEM;
	case ENOSYS:
	case EOPNOTSUPP:
		return ST_UNSUPPORTED;
	case ETIMEDOUT:
		return ST_TIMEOUT;
	case EINTR:
		return ST_INTERRUPTED;
	default:
		return ST_IO;
	}
}

enum status error_list(struct error *err, enum status st, enum msg id, const char *const *args)
{
	if (err && err->status == ST_OK) {
		err->status = st;
		msg_add_list(&err->text, id, args);
	}
	return st;
}

/* Those a person meets; the others are said by the C library, in English. */
static const struct {
	int number;
	enum msg text;
} errors[] = {
	{ENOENT, MSG_errno_no_entry},
	{EACCES, MSG_errno_no_access},
	{EPERM, MSG_errno_not_allowed},
	{EEXIST, MSG_errno_exists},
	{ENOTDIR, MSG_errno_not_directory},
	{EISDIR, MSG_errno_is_directory},
	{ENOTEMPTY, MSG_errno_not_empty},
	{ENOSPC, MSG_errno_no_space},
	{EDQUOT, MSG_errno_quota},
	{EROFS, MSG_errno_read_only},
	{EIO, MSG_errno_io},
	{ESTALE, MSG_errno_stale},
	{EINVAL, MSG_errno_invalid},
	{ENOMEM, MSG_errno_memory},
	{EPIPE, MSG_errno_pipe},
	{ECONNREFUSED, MSG_errno_refused},
	{ECONNRESET, MSG_errno_reset},
	{ETIMEDOUT, MSG_errno_timed_out},
	{EHOSTUNREACH, MSG_errno_no_route},
	{ENETUNREACH, MSG_errno_unreachable},
};

enum status error_errno(struct error *err, const char *path, int errnum)
{
	const char *why = strerror(errnum);

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].number == errnum)
			why = msg_format(errors[i].text);
	return error_set(err, status_from_errno(errnum), MSG_path_error, path, why);
}

void error_release(struct error *err)
{
	str_release(&err->text);
	err->status = ST_OK;
}

void die_nomem(void)
{
	static const char text[] = "assay: out of memory\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n;
	_exit(EXIT_INTERNAL);
}
