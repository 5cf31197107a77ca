#include "cli/evidence_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/launch.h"
#include "cli/cli.h"
#include "report/certificate.h"

/* What a signature is for: one made for something else does not fit. */
#define NAMESPACE "assay-evidence"

enum status evidence_make(struct evidence_made *made, const char *dir, enum rule_stage stage,
                          const char *clauses, struct error *err)
{
	const struct report_options options = {.width = 80, .max_items = 12, .utf8 = true};
	enum language before = msg_speak(LANGUAGE_EN);
	struct certificate certificate;
	struct judged j = {0};
	enum status st = cli_judge(
		&j, &(struct judge_request){.dir = dir, .stage = stage, .again = true}, err);

	*made = (struct evidence_made){.verdict = "?"};
	if (st == ST_OK)
		st = report_find("json")->write(&made->card, &j.card, &options, err);
	if (st == ST_OK)
		made->verdict = overall_name(j.card.overall);
	if (st == ST_OK && clauses)
		st = certificate_read(&certificate, &j.arena, &j.card, clauses, NULL, err);
	if (st == ST_OK && clauses)
		st = certificate_html(&made->certificate, &certificate, err);
	cli_judged_release(&j);
	msg_speak(before);
	return st;
}

void evidence_made_release(struct evidence_made *made)
{
	str_release(&made->card);
	str_release(&made->certificate);
}

enum status evidence_tool(char hex[SHA256_HEX], struct error *err)
{
	struct str program = {0};
	enum status st = file_read(&program, "/proc/self/exe", (size_t)1 << 30, err);

	if (st == ST_OK)
		sha256_text(program.data, program.len, hex);
	str_release(&program);
	return st;
}

/* --- signatures ------------------------------------------------------------------- */

/* Runs it with `input` as its standard input; its own words are in `said`. */
static enum status keygen(const char *const *argv, const char *input, struct str *said,
                          struct error *err)
{
	char *path = launch_find("ssh-keygen");
	int from = open(input, O_RDONLY | O_CLOEXEC), ends[2] = {-1, -1}, code = -1;
	enum status st = ST_OK;
	pid_t pid;

	if (!path)
		st = error_set(err, ST_NOTFOUND, MSG_keygen_missing);
	else if (from < 0)
		st = error_errno(err, input, errno);
	else if (pipe2(ends, O_CLOEXEC) != 0)
		st = error_errno(err, "pipe", errno);
	if (st == ST_OK)
		st = launch_start(&(struct launch){.path = path,
		                                   .argv = argv,
		                                   .fds = (const int[]){from, ends[1], ends[1]},
		                                   .n_fds = 3},
		                  &pid, err);
	close_fd(&ends[1]);
	if (st == ST_OK) {
		st = fd_read_all(said, ends[0], "ssh-keygen", 1 << 16, err);
		while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&ends[0]);
	close_fd(&from);
	free(path);
	if (st == ST_OK && (!WIFEXITED(code) || WEXITSTATUS(code) != 0)) {
		struct str shown = {0};

		str_add_printable(&shown, str_text(said), said->len);
		st = error_set(err, ST_CORRUPT, MSG_keygen_failed, str_text(&shown));
		str_release(&shown);
	}
	return st;
}

enum status evidence_sign(const char *file, const char *key, struct error *err)
{
	const char *const argv[] = {"ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", key, NULL};
	struct str said = {0}, sig = {0};
	enum status st;
	const char *begin;

	/* From standard input it signs to standard output: no question whether to
	 * overwrite, and the file is written whole. */
	st = keygen(argv, file, &said, err);
	begin = st == ST_OK ? strstr(str_text(&said), "-----BEGIN SSH SIGNATURE-----") : NULL;
	if (st == ST_OK && !begin)
		st = error_set(err, ST_CORRUPT, MSG_keygen_failed, str_text(&said));
	if (st == ST_OK) {
		str_addf(&sig, "%s.sig", file);
		st = file_write(sig.data, begin, strlen(begin), err);
	}
	str_release(&sig);
	str_release(&said);
	return st;
}

enum status evidence_signed(const char *file, const char *signers, const char *identity,
                            struct error *err)
{
	struct str said = {0}, sig = {0};
	enum status st;

	str_addf(&sig, "%s.sig", file);
	st = keygen((const char *const[]){"ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-f",
	                                  signers, "-I", identity, "-s", sig.data, NULL},
	            file, &said, err);
	str_release(&sig);
	str_release(&said);
	return st;
}
