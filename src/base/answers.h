/* Storage that hangs holds whoever touches it in a call that no signal ends: a
 * dead server, a frozen file system. So somebody who can be done without asks
 * first. */
#ifndef ASSAY_BASE_ANSWERS_H
#define ASSAY_BASE_ANSWERS_H

#include <stdbool.h>

/* A file system that has said nothing for so long hangs, seconds. */
#define ANSWER_S 20
/* The same where something hung just before. */
#define HANGS_S 5

/* Whether a directory answers within `seconds`: a child process makes and removes
 * an empty directory in it. Any answer is one, refusals too; true as well when
 * no child can be made. A child that never returns is left to itself, with no
 * open file of ours but what the hanging call holds. */
bool path_answers(const char *path, double seconds);

/* Leaves an open lock on a path that hangs to a child process, which ends after
 * us: whoever closes it last must tell the server so, and hangs. Nothing for -1. */
void lock_abandon(int fd);

#endif
