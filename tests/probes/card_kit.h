/* Probes of GPUs on the doubles of NVIDIA's libraries. These hold the state of a
 * whole process, so each node gets a process of its own:
 *
 *	static void body(struct harness *h) { … }
 *	on_cards(&probe_gemm, CARDS("a100-sxm4-80gb"), body);
 */
#ifndef ASSAY_TESTS_CARD_KIT_H
#define ASSAY_TESTS_CARD_KIT_H

#include "probe_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STANDINS BINARY_DIR "/tests/standin/lib"
#define OLDER    BINARY_DIR "/tests/standin/old"

/* A node file with one kind of card; more members follow. */
#define CARDS(model, ...) "{\"cards\":[{\"model\":\"" model "\"}]" __VA_ARGS__ "}"

/* What a broken card still holds goes with its process (bench/team.c), so that the
 * leak checker of a child is to leave it out. Whole cards are closed everywhere else. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:device_cuda_open\n";
}

/* Runs body in a child with the harness set up for the probe: unit "*", the
 * doubles of today. A failing assert in it fails the test. */
static inline void on_cards(const struct probe *probe, const char *node,
                            void (*body)(struct harness *h))
{
	char path[] = "/tmp/card-kit-XXXXXX";
	int fd = mkstemp(path), status;
	pid_t pid;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, node, strlen(node)), (ssize_t)strlen(node));
	close(fd);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		static struct harness h;

		/* The child has no tests to go on with. */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		setenv("ASSAY_STANDIN", path, 1);
		harness_init(&h, probe);
		h.ctx.lib_dir = STANDINS;
		h.ctx.subject_id = "*";
		body(&h);
		harness_release(&h);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("on the node %s: status %d", node, status);
}

/* Within half a percent. */
static inline void near(double have, double want)
{
	if (!(have > want * 0.995 && have < want * 1.005))
		fail_msg("%.9g is not %.9g", have, want);
}

/* The reading of the metric about one card. */
static inline const struct reading *card_reading_of(const struct harness *h, const char *metric,
                                                    const char *pci)
{
	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, metric) == 0 && h->readings[i].subject.pci &&
		    strcmp(h->readings[i].subject.pci, pci) == 0)
			return &h->readings[i];
	fail_msg("no %s of %s", metric, pci);
	return NULL;
}

#endif
