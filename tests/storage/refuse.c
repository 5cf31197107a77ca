/* refuse ERRNO NUMBER[,NUMBER…] -- COMMAND…: runs it with these system calls
 * refused by seccomp, as a container's profile does it. For tests; exit 77: no
 * seccomp here. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST 16

static int add_calls(struct sock_filter *f, int n, const char *list, unsigned number)
{
	while (*list && n < 2 * MOST) {
		char *end;
		unsigned call = (unsigned)strtoul(list, &end, 10);

		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		                                      SECCOMP_RET_ERRNO | (number & 0xffff));
		list = *end == ',' ? end + 1 : "";
	}
	return n;
}

int main(int argc, char **argv)
{
	struct sock_filter filter[2 * MOST + 2];
	struct sock_fprog program = {.filter = filter};
	int n = 0;

	if (argc < 5 || strcmp(argv[3], "--") != 0) {
		fprintf(stderr, "usage: refuse ERRNO CALLS -- COMMAND...\n");
		return 3;
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                           offsetof(struct seccomp_data, nr));
	n = add_calls(filter, n, argv[2], (unsigned)atoi(argv[1]));
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("seccomp");
		return 77;
	}
	execvp(argv[4], argv + 4);
	perror(argv[4]);
	return 3;
}
