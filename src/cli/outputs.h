/* The reports a command writes: one table of options for all commands, read and carried
 * out in one way. A file is written whole or not at all. */
#ifndef ASSAY_CLI_OUTPUTS_H
#define ASSAY_CLI_OUTPUTS_H

#include "cli/options.h"

/* All formats; a command names those it has in command.outputs. */
#define OUTPUTS_ALL "html|markdown|csv|json|junit"

struct output {
	const char *format, *file; /* "-": standard output */
	bool own;                  /* nobody asked for it: that it fails is only said */
};

#define MAX_OUTPUTS 8

struct outputs {
	struct output list[MAX_OUTPUTS];
	int n;
	bool terminal;
};

/* Rows of the options; ends with name NULL. */
extern const struct option_row output_rows[];

/* What was asked for. `always`: the terminal's page is printed unless a report goes to
 * standard output; else where nothing was asked for, or with --terminal. Two reports in one
 * file, or a file that cannot be written, are ST_USAGE before anything is done. */
enum status outputs_parse(struct outputs *out, const struct options *o, const char *formats,
                          bool always, struct error *err);
/* One more, of the command's own. */
void outputs_add(struct outputs *out, const char *format, const char *file);

/* How a command makes its reports. Words depend on the language, so all is made anew for
 * each that is wanted, that of the terminal first. */
struct output_maker {
	enum status (*begin)(void *arg, struct error *err);
	enum status (*write)(void *arg, const char *format, struct str *text, struct error *err);
	void (*end)(void *arg); /* after begin, also after one that failed */
	void *arg;
};
enum status outputs_write(const struct outputs *out, const struct output_maker *maker,
                          struct error *err);

struct judge_request;
/* The reports of a judged run. *code: what its verdict says, by cli_verdict_code. */
enum status outputs_of_run(const struct outputs *out, struct judge_request *request, bool strict,
                           int *code, struct error *err);

#endif
