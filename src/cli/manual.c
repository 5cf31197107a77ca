#include "cli/manual.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* --- man page --------------------------------------------------------------------- */

/* Text of roff: no line begins with a request, and what it would read is escaped. */
static void roff(struct str *out, const char *text)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && (*text == '.' || *text == '\''))
			str_add(out, "\\&");
		if (*text == '\\')
			str_add(out, "\\e");
		else if (*text == '-')
			str_add(out, "\\-");
		else
			str_addc(out, *text);
		begins = *text == '\n';
	}
}

static void roff_option(struct str *out, const struct option_row *row)
{
	const char *value = row->kind == OPTION_WORD ? row->words : row->metavar;

	str_add(out, ".TP\n.B \\-\\-");
	roff(out, row->name);
	if (value) {
		str_add(out, " \\fI");
		roff(out, value);
		str_add(out, "\\fR");
	}
	str_addc(out, '\n');
	roff(out, msg_format(row->help));
	str_addc(out, '\n');
}

static void roff_command(struct str *out, const struct command *command)
{
	struct options *o = options_of(command);

	str_add(out, ".SS assay ");
	roff(out, command->name);
	str_add(out, " [OPTIONS] ");
	roff(out, command->operands);
	str_addc(out, '\n');
	roff(out, msg_format(command->summary));
	str_add(out, ".\n");
	for (const struct option_row *row = o->rows; row->name; row++)
		roff_option(out, row);
	free(o);
}

void manual_page(struct str *out, const struct command *const *commands)
{
	str_addf(out, ".TH ASSAY 1 \"\" \"assay %s\" \"User Commands\"\n", ASSAY_VERSION);
	str_add(out, ".SH NAME\nassay \\- ");
	roff(out, msg_format(MSG_manual_what));
	str_add(out, "\n.SH SYNOPSIS\n.B assay\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n");
	for (const struct command *const *c = commands; *c; c++)
		roff_command(out, *c);
	str_add(out, ".SH EXIT STATUS\n");
	roff(out, msg_format(MSG_help_exit));
	str_add(out, "\n.SH EXAMPLES\n");
	roff(out, msg_format(MSG_manual_examples));
	str_add(out, "\n");
}

/* --- completion --------------------------------------------------------------------- */

static void complete_command(struct str *out, const struct command *command)
{
	struct options *o = options_of(command);

	str_addf(out, "\t%s)\n\t\tcase $last in\n", command->name);
	for (const struct option_row *row = o->rows; row->name; row++) {
		if (row->kind != OPTION_WORD)
			continue;
		str_addf(out, "\t\t--%s) words='", row->name);
		for (const char *p = row->words; *p; p++)
			str_addc(out, *p == '|' ? ' ' : *p);
		str_add(out, "' ;;\n");
	}
	str_add(out, "\t\t*) options='--help");
	for (const struct option_row *row = o->rows; row->name; row++)
		str_addf(out, " --%s", row->name);
	str_add(out, "' ;;\n\t\tesac ;;\n");
	free(o);
}

void manual_completion(struct str *out, const struct command *const *commands)
{
	str_add(out,
	        "# Completion of assay for bash; made by assay --completion.\n_assay()\n{\n"
	        "\tlocal this=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words= "
	        "options=\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='--help --version");
	for (const struct command *const *c = commands; *c; c++)
		str_addf(out, " %s", (*c)->name);
	str_add(out, "'\n\telse\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *const *c = commands; *c; c++)
		complete_command(out, *c);
	str_add(out, "\tesac\n\tfi\n"
	             "\tcase $this in -*) words=\"$words $options\" ;; esac\n"
	             "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$this\"))\n"
	             "\t[ -n \"$words\" ] || compopt -o default\n}\n"
	             "complete -F _assay assay\n");
}
