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

enum status error_errno(struct error *err, const char *path, int errnum)
{
	return error_set(err, status_from_errno(errnum), MSG_path_error, path, strerror(errnum));
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
