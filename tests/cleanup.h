/* Removing the directories that tests made. */
#ifndef ASSAY_TESTS_CLEANUP_H
#define ASSAY_TESTS_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Empties the directory open at fd (consumed); stays on its device. */
static inline int empty_dir(int fd, dev_t device)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int failed = 0;

	if (!dir) {
		close(fd);
		return errno;
	}
	while ((entry = readdir(dir))) {
		struct stat info;
		int sub;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (!S_ISDIR(info.st_mode)) {
			if (unlinkat(fd, entry->d_name, 0) != 0 && errno != ENOENT)
				failed = errno;
			continue;
		}
		sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0 || info.st_dev != device) {
			failed = sub < 0 ? errno : EXDEV;
			if (sub >= 0)
				close(sub);
			continue;
		}
		failed = empty_dir(sub, device) ? errno : failed;
		if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT)
			failed = errno;
	}
	closedir(dir);
	return failed;
}

/* Removes a directory tree without following symbolic links and without
 * leaving its file system. Missing is no error. */
static inline enum status dir_remove(const char *path, struct error *err)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int failed;

	if (fd < 0)
		return errno == ENOENT ? ST_OK : error_errno(err, path, errno);
	if (fstat(fd, &info) != 0) {
		failed = errno;
		close(fd);
		return error_errno(err, path, failed);
	}
	failed = empty_dir(fd, info.st_dev);
	if (rmdir(path) != 0 && errno != ENOENT)
		return error_errno(err, path, failed ? failed : errno);
	return ST_OK;
}

#endif
