/* Options from rows; see options.h. */
#include "cli/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/unit.h"
#include "cli/outputs.h"
#include "report/words.h"

#define HELP_COLUMN 26
#define HELP_WIDTH  80

/* What every command takes beside its own. main reads --lang before all else. */
static const struct option_row of_all[] = {
	{"lang", OPTION_WORD, NULL, 0, 0, "zh|en", MSG_opt_lang},
	{0},
};

/* `only`: words "a|b" of those to take; NULL: all. */
static void add_rows(struct options *o, const struct option_row *rows, const char *only)
{
	int n = 0;

	while (o->rows[n].name)
		n++;
	for (; rows->name; rows++) {
		if (only && !word_in(only, rows->name))
			continue;
		if (n == MAX_OPTIONS)
			abort(); /* a bug: too many rows */
		o->rows[n++] = *rows;
	}
}

static void all_rows(struct options *o, const struct command *command)
{
	add_rows(o, command->rows, NULL);
	if (command->outputs)
		add_rows(o, output_rows, command->outputs);
	add_rows(o, of_all, NULL);
}

static int row_index(const struct option_row *rows, const char *name)
{
	for (int i = 0; rows[i].name; i++)
		if (strcmp(rows[i].name, name) == 0)
			return i;
	return -1;
}

static enum status check_value(const struct option_row *row, const char *value, struct error *err)
{
	int64_t number;

	if (row->kind == OPTION_INT) {
		if (!parse_int64(value, &number))
			return error_set(err, ST_USAGE, MSG_option_number, row->name, value);
		if (number < row->min || number > row->max)
			return error_set(err, ST_USAGE, MSG_option_range, row->name, value,
			                 tmpf("%lld", (long long)row->min),
			                 tmpf("%lld", (long long)row->max));
	}
	if (row->kind == OPTION_WORD && !word_in(row->words, value))
		return error_set(err, ST_USAGE, MSG_option_word, row->name, value, row->words);
	if (row->kind != OPTION_FLAG && !*value)
		return error_set(err, ST_USAGE, MSG_option_empty, row->name);
	return ST_OK;
}

static enum status add_value(struct options *o, int index, const char *value, struct error *err)
{
	const struct option_row *row = &o->rows[index];
	enum status st = check_value(row, value, err);

	if (st != ST_OK)
		return st;
	if (o->count[index] == MAX_VALUES - 1)
		return error_set(err, ST_USAGE, MSG_option_many, row->name);
	if (row->kind != OPTION_LIST && row->kind != OPTION_EACH && o->count[index] > 0)
		return error_set(err, ST_USAGE, MSG_option_twice, row->name);
	o->values[index][o->count[index]++] = value;
	return ST_OK;
}

static enum status add_list(struct options *o, struct arena *arena, int index, const char *text,
                            struct error *err)
{
	enum status st = ST_OK;

	while (st == ST_OK) {
		size_t len = strcspn(text, ",");

		st = add_value(o, index, arena_strn(arena, text, len), err);
		if (!text[len])
			break;
		text += len + 1;
	}
	return st;
}

static enum status unknown_option(const struct options *o, const struct command *command,
                                  const char *arg, struct error *err)
{
	const char *names[MAX_OPTIONS + 1] = {0};
	struct str word = {0};
	const char *near;
	enum status st;

	str_addn(&word, arg + strspn(arg, "-"), strcspn(arg + strspn(arg, "-"), "="));
	for (int i = 0; o->rows[i].name; i++)
		names[i] = o->rows[i].name;
	near = nearest_word(str_text(&word), names);
	if (near)
		st = error_set(err, ST_USAGE, MSG_option_unknown_near, arg, near);
	else
		st = error_set(err, ST_USAGE, MSG_option_unknown, arg, command->name);
	str_release(&word);
	return st;
}

/* getopt_long takes any unambiguous beginning of a name; a script that relies
 * on that breaks with the next option added. */
static bool abbreviated(const struct option_row *rows, const char *arg)
{
	size_t len = strcspn(arg + 2, "=");

	for (int i = 0; rows[i].name; i++)
		if (strncmp(rows[i].name, arg + 2, len) == 0 && strlen(rows[i].name) == len)
			return false;
	return strncmp(arg, "--help", 2 + len) != 0 || len != 4;
}

static enum status take_option(struct options *o, struct arena *arena,
                               const struct command *command, int code, const char *arg,
                               struct error *err)
{
	const struct option_row *row;

	if (code == ':')
		return error_set(err, ST_USAGE, MSG_option_argument, arg);
	if (code == '?')
		return unknown_option(o, command, arg, err);
	row = &o->rows[code - 256];
	if (str_starts(arg, "--") && abbreviated(o->rows, arg))
		return unknown_option(o, command, arg, err);
	if (row->kind == OPTION_LIST)
		return add_list(o, arena, code - 256, optarg, err);
	return add_value(o, code - 256, row->kind == OPTION_FLAG ? "" : optarg, err);
}

enum status options_parse(struct options *o, struct arena *arena, const struct command *command,
                          int argc, char **argv, bool *help, struct error *err)
{
	struct option longs[MAX_OPTIONS + 2] = {{0}};
	int n = 0, code;

	/* getopt_long moves operands behind options; the journal wants it as typed. */
	char **typed = arena_array(arena, (size_t)argc + 1, sizeof(*typed));

	memcpy(typed, argv, (size_t)argc * sizeof(*typed));
	*o = (struct options){.argc = argc, .argv = typed};
	all_rows(o, command);
	*help = false;
	for (; o->rows[n].name; n++)
		longs[n] = (struct option){o->rows[n].name,
		                           o->rows[n].kind == OPTION_FLAG ? no_argument
		                                                          : required_argument,
		                           NULL, 256 + n};
	longs[n] = (struct option){"help", no_argument, NULL, 'h'};
	opterr = 0;
	optind = 1;
	for (;;) {
		int at = optind > 0 ? optind : 1;
		enum status st;

		code = getopt_long(argc, argv, ":h", longs, NULL);
		if (code == -1)
			break;
		/* Permutation moves operands behind options: the word read is the
		 * one before optind, or the one before its argument. */
		at = optind - 1;
		if (at > 1 && optarg == argv[at])
			at--;
		if (code == 'h' &&
		    !(str_starts(argv[at], "--") && abbreviated(o->rows, argv[at]))) {
			*help = true;
			return ST_OK;
		}
		if (code == 'h')
			code = '?';
		st = take_option(o, arena, command, code, argv[at], err);
		if (st != ST_OK)
			return st;
	}
	o->operands = (const char *const *)argv + optind;
	o->n_operands = argc - optind;
	if (o->n_operands < command->min_operands)
		return error_set(err, ST_USAGE, MSG_operand_missing, command->name,
		                 command->operands);
	if (o->n_operands > command->max_operands)
		return error_set(err, ST_USAGE, MSG_operand_extra, command->name,
		                 o->operands[command->max_operands]);
	return ST_OK;
}

static void help_row(struct str *out, const struct option_row *row)
{
	struct str left = {0};

	str_addf(&left, "  --%s", row->name);
	if (row->kind == OPTION_WORD)
		str_addf(&left, " %s", row->words);
	else if (row->metavar)
		str_addf(&left, " %s", row->metavar);
	str_add(out, left.data);
	if (left.len < HELP_COLUMN)
		str_pad(out, ' ', HELP_COLUMN - left.len);
	else
		str_addf(out, "\n%*s", HELP_COLUMN, "");
	words_wrap(out, msg_format(row->help), HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
	str_release(&left);
}

void options_help(struct str *out, const struct command *command)
{
	static const struct option_row help = {"help", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_help};
	struct options *o = calloc(1, sizeof(*o));

	if (!o)
		die_nomem();

	msg_add(out, MSG_help_usage, command->name, command->operands);
	str_add(out, "\n\n");
	str_add(out, msg_format(command->summary));
	str_add(out, "\n\n");
	all_rows(o, command);
	for (const struct option_row *row = o->rows; row->name; row++)
		help_row(out, row);
	free(o);
	help_row(out, &help);
}

static int known(const struct options *o, const char *name)
{
	int i = row_index(o->rows, name);

	if (i < 0)
		abort(); /* a bug: the command asks for an option it has no row for */
	return i;
}

bool option_given(const struct options *o, const char *name)
{
	return o->count[known(o, name)] > 0;
}

const char *option_text(const struct options *o, const char *name, const char *fallback)
{
	int i = known(o, name);

	return o->count[i] ? o->values[i][0] : fallback;
}

int64_t option_int(const struct options *o, const char *name, int64_t fallback)
{
	const char *text = option_text(o, name, NULL);
	int64_t value = fallback;

	if (text)
		parse_int64(text, &value);
	return value;
}

const char *const *option_list(const struct options *o, const char *name, int *count)
{
	int i = known(o, name);

	*count = o->count[i];
	return o->values[i];
}
