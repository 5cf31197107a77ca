/* assay bundle DIR: a run as one file for the contract's annex. What the verdict was made
 * of goes in - journal, raw samples, profile, waivers, the logs and papers kept with the run -
 * with the scorecard that this build makes of it, and with --clauses the clauses and their
 * certificate; pages for people can be made again from it at any time and stay out. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/evidence_archive.h"
#include "cli/evidence_kept.h"
#include "run/archive.h"
#include "run/line.h"
#include "run/waivers.h"

#define CLAUSES_MOST ((size_t)16 << 20)

static const struct option_row rows[] = {
	{"out", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_bundle_out},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"clauses", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_bundle_clauses},
	{"sign", OPTION_TEXT, "KEY", 0, 0, NULL, MSG_opt_bundle_sign},
	{0},
};

static void put_files(struct json_out *j, const struct archive_list *list)
{
	json_array_begin(j, "files");
	for (int64_t i = 0; i < list->n; i++) {
		json_object_begin(j, NULL);
		json_put_string(j, "name", list->files[i].name);
		json_put_int(j, "bytes", list->files[i].bytes);
		json_put_string(j, "sha256", list->files[i].sha256);
		json_object_end(j);
	}
	json_array_end(j);
}

static enum status make_manifest(struct str *out, const struct rundir *run,
                                 const struct archive_list *list, const char *verdict,
                                 const char *stage, struct error *err)
{
	struct json_out j = json_writer(out, 2);
	char tool[SHA256_HEX];
	enum status st = evidence_tool(tool, err);

	if (st != ST_OK)
		return st;
	json_object_begin(&j, NULL);
	json_put_int(&j, "v", 1);
	json_put_string(&j, "kind", "assay-evidence");
	json_put_string(&j, "run", run->info.id);
	json_put_string(&j, "run_digest", run->digest);
	json_put_string(&j, "verdict", verdict);
	json_put_string(&j, "stage", stage);
	json_object_begin(&j, "tool");
	json_put_string(&j, "version", ASSAY_VERSION);
	json_put_string(&j, "build", ASSAY_BUILD);
	json_put_string(&j, "sha256", tool);
	json_object_end(&j);
	put_files(&j, list);
	json_object_end(&j);
	str_addc(out, '\n');
	return ST_OK;
}

/* What is asked for beside the run. */
struct bundling {
	struct rundir *run;
	const char *dir, *file, *stage;
	const char *clauses; /* file, or NULL */
};

/* The clauses go in as they are, whatever their file is called. */
static enum status add_made(const struct bundling *b, struct archive_list *list,
                            const struct evidence_made *made, struct error *err)
{
	struct str clauses = {0};
	enum status st = ST_OK;

	archive_add_text(list, &b->run->arena, CARD_FILE, str_text(&made->card));
	if (!b->clauses)
		return ST_OK;
	st = file_read(&clauses, b->clauses, CLAUSES_MOST, err);
	if (st == ST_OK && strlen(str_text(&clauses)) != clauses.len)
		st = error_set(err, ST_PARSE, MSG_clauses_form, b->clauses);
	if (st == ST_OK) {
		archive_add_text(list, &b->run->arena, CLAUSES_FILE, str_text(&clauses));
		archive_add_text(list, &b->run->arena, CERTIFICATE_FILE,
		                 str_text(&made->certificate));
	}
	str_release(&clauses);
	return st;
}

static enum status bundle_run(const struct bundling *b, struct error *err)
{
	static const char *const names[] = {
		RUN_FILE,     JOURNAL_FILE,  RAW_DIR "/",         PROFILE_FILE,
		WAIVERS_FILE, EVIDENCE_FILE, EVIDENCE_FOLDER "/", NULL};
	struct archive_list list = {0};
	struct str manifest = {0};
	struct evidence_made made;
	enum status st = evidence_make(
		&made, b->dir, strcmp(b->stage, "period") == 0 ? RULE_PERIOD : RULE_DELIVERY,
		b->clauses, err);

	if (st == ST_OK)
		st = archive_add(&list, &b->run->arena, b->dir, names, err);
	if (st == ST_OK)
		st = add_made(b, &list, &made, err);
	if (st == ST_OK) {
		archive_sort(&list);
		st = make_manifest(&manifest, b->run, &list, made.verdict, b->stage, err);
	}
	if (st == ST_OK)
		st = archive_write(b->file, tmpf("assay-%s", b->run->info.id), b->dir,
		                   str_text(&manifest), &list, err);
	if (st == ST_OK)
		printf("%s\n", say(MSG_bundle_done, b->file, tmpf("%lld", (long long)list.n + 1),
		                   made.verdict, b->run->digest));
	evidence_made_release(&made);
	str_release(&manifest);
	return st;
}

static int bundle(const struct options *o, struct error *err)
{
	const char *dir = o->operands[0], *key = option_text(o, "sign", NULL);
	struct str file = {0};
	struct rundir run;
	enum status st = rundir_open(&run, dir, RUNDIR_CHAIN | RUNDIR_RAW, err);

	if (st != ST_OK)
		return cli_status_code(st);
	str_add(&file, option_text(o, "out", tmpf("assay-%s.tar", run.info.id)));
	if (run.state == JOURNAL_ALTERED || run.state == JOURNAL_UNREADABLE)
		st = error_set(err, ST_CORRUPT, MSG_bundle_altered, dir,
		               run.trouble ? run.trouble : "?");
	if (st == ST_OK)
		st = bundle_run(&(struct bundling){.run = &run,
		                                   .dir = dir,
		                                   .file = file.data,
		                                   .stage = option_text(o, "stage", "delivery"),
		                                   .clauses = option_text(o, "clauses", NULL)},
		                err);
	if (st == ST_OK && key) {
		st = evidence_sign(file.data, key, err);
		if (st == ST_OK)
			printf("%s\n", say(MSG_bundle_signed, file.data));
	}
	str_release(&file);
	rundir_close(&run);
	return cli_status_code(st);
}

const struct command command_bundle = {
	.name = "bundle",
	.summary = MSG_cmd_bundle,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.run = bundle,
};
