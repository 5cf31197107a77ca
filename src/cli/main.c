/* assay: the commands by name, and the two internal roles a child of it plays
 * (--guard, --child). Only this file decides the exit code. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/proc.h"
#include "cli/cli.h"
#include "cli/language.h"
#include "cli/manual.h"
#include "coord/comm.h"
#include "coord/worker.h"

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/commands.def"
#undef COMMAND
	NULL,
};

static void print_help(FILE *to)
{
	struct str out = {0};

	msg_add(&out, MSG_help_intro, ASSAY_VERSION);
	str_add(&out, "\n\n");
	for (const struct command *const *c = commands; *c; c++)
		str_addf(&out, "  %-13s%s\n", (*c)->name, msg_format((*c)->summary));
	str_addc(&out, '\n');
	msg_add(&out, MSG_help_exit);
	fprintf(to, "%s\n", out.data);
	str_release(&out);
}

static int print_manual(bool page)
{
	struct str out = {0};

	(page ? manual_page : manual_completion)(&out, commands);
	fputs(str_text(&out), stdout);
	str_release(&out);
	return fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
}

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[sizeof(commands) / sizeof(*commands)] = {0};
	const char *near;

	for (int i = 0; commands[i]; i++)
		names[i] = commands[i]->name;
	near = nearest_word(name, names);
	fprintf(stderr, "%s\n",
	        near ? say(MSG_command_unknown_near, name, near) : say(MSG_command_unknown, name));
	return EXIT_USAGE;
}

static bool is_first_rank(void)
{
	struct comm_launcher launcher;

	comm_launcher_find(&launcher, getenv);
	return launcher.rank <= 0;
}

static void choose_language(int argc, char **argv)
{
	if (language_choose(argc, argv) && is_first_rank())
		fprintf(stderr, "%s\n", say(MSG_lang_not_shown));
	msg_speak(msg_reader());
}

/* All ranks have the same command line, as a rule: the first one complains. Where the
 * launcher ends all with the first that ends, it has done so after a while; who is still
 * there then was started with options of its own. */
static void keep_quiet(struct error *err)
{
	struct comm_launcher launcher;

	comm_launcher_find(&launcher, getenv);
	if (launcher.rank <= 0)
		return;
	sleep(1);
	if (launcher.recovery != COMM_RECOVERY_OFF)
		error_release(err);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct options *options;
	struct arena arena = {0};
	struct error err = {0};
	bool help;
	int code;

	options = arena_alloc(&arena, sizeof(*options));
	if (options_parse(options, &arena, command, argc, argv, &help, &err) != ST_OK) {
		code = EXIT_USAGE;
		keep_quiet(&err);
	} else if (help) {
		struct str out = {0};

		options_help(&out, command);
		printf("%s", out.data);
		str_release(&out);
		code = 0;
	} else {
		code = command->run(options, &err);
	}
	msg_speak(msg_reader());
	/* A full disk or a closed pipe below stdout must not look like success. */
	if (fflush(stdout) != 0 && err.status == ST_OK)
		code = cli_status_code(error_set(&err, ST_IO, MSG_stdout_failed));
	cli_say_error(&err);
	arena_release(&arena);
	code = cli_signal ? 128 + cli_signal : code;
	comm_tell_exit(code);
	if (cli_leave)
		_exit(code);
	return code;
}

int main(int argc, char **argv)
{
	const struct command *command;

	/* A file size limit is a full disk: an error to report, not a death. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "--guard") == 0)
		return guard_main(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--child") == 0)
		return worker_main(probe_table);
	choose_language(argc, argv);
	/* For "assay --lang zh --help"; a command takes it among its options. */
	if (argc > 2 && strcmp(argv[1], "--lang") == 0 && word_in("zh|en", argv[2])) {
		argc -= 2;
		argv += 2;
	}
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--man") == 0 || strcmp(argv[1], "--completion") == 0)
		return print_manual(argv[1][2] == 'm');
	if (strcmp(argv[1], "--version") == 0) {
		printf("assay %s\n", ASSAY_VERSION);
		return 0;
	}
	command = find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return run_command(command, argc - 1, argv + 1);
}
