#include "storage_token.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

#define TOKEN_LIMIT 4096

/* "assay token .assay-<run> <node>" */
static const char *token_text(const char *scratch, const char *node)
{
	const char *end = strrchr(scratch, '/'), *run = end;

	while (run && run > scratch && run[-1] != '/')
		run--;
	return tmpf("assay token %.*s %s\n", run ? (int)(end - run) : 0, run ? run : "", node);
}

static const char *own_name(const char *scratch)
{
	const char *slash = strrchr(scratch, '/');

	return slash ? slash + 1 : scratch;
}

enum status storage_token_put(const char *scratch, struct error *err)
{
	const char *text = token_text(scratch, own_name(scratch));
	const char *path = tmpf("%s/token", scratch);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	int number = 0;

	if (fd < 0)
		return error_errno(err, path, errno);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) != 0)
		number = errno ? errno : ENOSPC;
	close(fd);
	return number ? error_errno(err, path, number) : ST_OK;
}

static bool is_token(const char *scratch, const char *node)
{
	struct str text = {0};
	bool same = file_read(&text, tmpf("%s/../%s/token", scratch, node), TOKEN_LIMIT, NULL) ==
	                    ST_OK &&
	            strcmp(str_text(&text), token_text(scratch, node)) == 0;

	str_release(&text);
	return same;
}

int storage_token_others(struct arena *arena, const char *scratch, const char **names)
{
	DIR *d = opendir(tmpf("%s/..", scratch));
	const struct dirent *e;
	struct str list = {0};
	int count = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strcmp(e->d_name, own_name(scratch)) == 0 ||
		    !is_token(scratch, e->d_name))
			continue;
		str_addf(&list, "%s%s", count ? "," : "", e->d_name);
		count++;
	}
	if (d)
		closedir(d);
	*names = arena_str(arena, str_text(&list));
	str_release(&list);
	return count;
}
