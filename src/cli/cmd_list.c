/* assay list: what can be measured, and whether it can be measured here. The
 * plain form looks at files only; --try starts each probe's child, which opens
 * the libraries for real. `assay list NAME` shows metrics and parameters. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/proc.h"
#include "base/unit.h"
#include "cli/cli.h"
#include "cli/run_setup.h"
#include "coord/plan.h"
#include "report/formulas.h"
#include "report/words.h"

#define TRY_SECONDS 330 /* loading alone may take 300 s on a cold disk */

static const struct option_row rows[] = {
	{"try", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_try},
	{"lib-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_lib_dir},
	{0},
};

/* --- trying in a child -------------------------------------------------------- */

struct attempt {
	bool answered, yes;
	struct str text;
};

static void take_answer(void *arg, const char *line, size_t len)
{
	struct attempt *a = arg;
	struct json_doc doc;

	if (json_parse(&doc, "channel", line, len, JSON_STRICT, NULL) != ST_OK)
		return;
	if (strcmp(json_string(doc.root, "kind", ""), "support") == 0) {
		a->answered = true;
		a->yes = json_bool(doc.root, "yes", false);
		msg_again(&a->text, json_string(doc.root, "text", ""));
	}
	json_release(&doc);
}

static void try_probe(struct attempt *a, const struct probe *probe, const char *lib_dir,
                      const char *node)
{
	static const char *const argv[] = {"assay", "--child", NULL};
	struct str request = {0};
	struct json_out j = json_writer(&request, 0);
	struct proc_spec spec = {.exe = "/proc/self/exe",
	                         .argv = argv,
	                         .label = probe->name,
	                         .deadline_s = TRY_SECONDS,
	                         .grace_s = 2,
	                         .on_line = take_answer,
	                         .arg = a};
	struct proc *proc = NULL;
	struct error err = {0};

	json_object_begin(&j, NULL);
	json_put_string(&j, "probe", probe->name);
	json_put_string(&j, "node", node);
	json_put_bool(&j, "try", true);
	json_put_string(&j, "lib_dir", lib_dir);
	json_object_end(&j);
	spec.request = request.data;
	if (proc_start(&proc, &spec, &err) == ST_OK)
		while (!proc_done(proc))
			proc_pump(&proc, 1, 1000);
	if (!a->answered) {
		const struct proc_end *end = proc ? proc_result(proc) : NULL;

		msg_add(&a->text, MSG_try_failed,
		        end ? tmpf("%.*s", (int)strcspn(str_text(&end->err), "\n"),
		                   str_text(&end->err))
		            : str_text(&err.text));
	}
	proc_free(proc);
	error_release(&err);
	str_release(&request);
}

/* --- printing ------------------------------------------------------------------- */

/* A title in a column of 12; printf counts bytes. */
static void print_cell(enum msg title)
{
	const char *text = msg_format(title);
	int room = 12 - words_columns(text);

	printf("%s%*s ", text, room > 0 ? room : 0, "");
}

static void print_line(const char *name, const char *subject, bool yes, const char *reason)
{
	struct str shown = {0};

	str_add_printable(&shown, reason ? reason : "", reason ? strlen(reason) : 0);
	printf("%-12s %-12s %s\n", name, subject,
	       yes ? msg_format(MSG_list_yes) : say(MSG_list_no, str_text(&shown)));
	str_release(&shown);
}

static void print_probe(const struct probe *p)
{
	printf("%s - %s\n\n%s\n", p->name, msg_format(p->title), msg_format(MSG_list_metrics));
	for (const struct metric *m = p->metrics; m->name; m++)
		printf("  %-30s %-8s %-8s %s\n", m->name, m->unit, subject_kind_name(m->subject),
		       formula_said(m->formula));
	printf("\n%s\n", msg_format(MSG_list_params));
	for (const struct param *r = p->params; r && r->name; r++)
		printf("  %-16s %-22s %s\n", r->name,
		       tmpf("%s/%s/%s %s", r->value[0], r->value[1], r->value[2], r->unit),
		       msg_format(r->help));
}

static int list_one(const char *name, struct error *err)
{
	const struct probe *p;
	enum status st = probe_named(&p, probe_table, name, err);

	if (st == ST_OK)
		print_probe(p);
	return cli_status_code(st);
}

static int list(const struct options *o, struct error *err)
{
	struct plan_request request = {.probes = probe_table,
	                               .budget = BUDGET_STANDARD,
	                               .lib_dir = option_text(o, "lib-dir", NULL)};
	struct arena arena = {0};

	if (o->n_operands)
		return list_one(o->operands[0], err);
	request.node = local_node_name(&arena);
	if (option_given(o, "try"))
		proc_init();
	print_cell(MSG_list_probe);
	print_cell(MSG_list_subject);
	printf("%s\n", msg_format(MSG_list_here));
	for (int i = 0; probe_table[i]; i++) {
		const struct probe *p = probe_table[i];
		struct attempt a = {0};

		if (option_given(o, "try")) {
			try_probe(&a, p, request.lib_dir, request.node);
			print_line(p->name, subject_kind_name(p->subject), a.yes,
			           str_text(&a.text));
		} else {
			struct probe_ctx ctx;
			struct support s;

			plan_context(&ctx, &arena, p, &request);
			s = p->supported(&ctx);
			reason_say(&a.text, &s.reason);
			print_line(p->name, subject_kind_name(p->subject), s.yes,
			           str_text(&a.text));
		}
		str_release(&a.text);
	}
	arena_release(&arena);
	return 0;
}

const struct command command_list = {
	.name = "list",
	.summary = MSG_cmd_list,
	.operands = "[NAME]",
	.max_operands = 1,
	.rows = rows,
	.run = list,
};
