/* Command lines. Every option is a row; parsing, checking, --help and (later)
 * man page and completion come from the rows. Parsing is getopt_long's, with
 * its own messages off and abbreviations refused. */
#ifndef ASSAY_CLI_OPTIONS_H
#define ASSAY_CLI_OPTIONS_H

#include "assay/probe.h"
#include "base/error.h"

enum option_kind {
	OPTION_FLAG, /* no argument */
	OPTION_TEXT, /* any text */
	OPTION_INT,  /* whole number within min..max */
	OPTION_WORD, /* one of words "a|b|c" */
	OPTION_LIST, /* comma-separated; may be given again */
	OPTION_EACH, /* any text; may be given again */
};

struct option_row {
	const char *name; /* without the dashes */
	enum option_kind kind;
	const char *metavar; /* "DIR", "P"; NULL for flags */
	int64_t min, max;
	const char *words;
	enum msg help;
};

#define MAX_OPTIONS 48
#define MAX_VALUES  64

/* A parsed command line. Values point into argv or the arena. */
struct options {
	/* Those of the command, then those of all commands; ends with name NULL. */
	struct option_row rows[MAX_OPTIONS + 1];
	const char *values[MAX_OPTIONS][MAX_VALUES];
	int count[MAX_OPTIONS];
	const char *const *operands;
	int n_operands;
	int argc; /* as typed, without the command's name first */
	char *const *argv;
};

struct command {
	const char *name;
	enum msg summary;
	const char *operands; /* "DIR", "NAME", "" */
	int min_operands, max_operands;
	const struct option_row *rows; /* its own; ends with name NULL */
	const char *outputs;           /* formats of its reports, "html|json"; NULL: none */
	/* Returns the exit code. */
	int (*run)(const struct options *o, struct error *err);
};

struct arena;
enum status options_parse(struct options *o, struct arena *arena, const struct command *command,
                          int argc, char **argv, bool *help, struct error *err);
void options_help(struct str *out, const struct command *command);

/* By name; asking for a name without a row is a bug. */
bool option_given(const struct options *o, const char *name);
const char *option_text(const struct options *o, const char *name, const char *fallback);
int64_t option_int(const struct options *o, const char *name, int64_t fallback);
/* All values of a list or repeated option, NULL-terminated. */
const char *const *option_list(const struct options *o, const char *name, int *count);

#endif
