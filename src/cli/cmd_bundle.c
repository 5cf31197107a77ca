/* assay bundle DIR: a run as one file for the contract's annex. What the verdict was made
 * of goes in - journal, raw samples, profile, waivers - with the scorecard that this build
 * makes of it; pages for people can be made again from it at any time and stay out. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/evidence_archive.h"
#include "run/archive.h"
#include "run/line.h"
#include "run/waivers.h"

static const struct option_row rows[] = {
	{"out", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_bundle_out},
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
                                 struct error *err)
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

static enum status bundle_run(const char *dir, struct rundir *run, const char *file,
                              struct error *err)
{
	static const char *const names[] = {RUN_FILE,     JOURNAL_FILE, RAW_DIR "/",
	                                    PROFILE_FILE, WAIVERS_FILE, NULL};
	struct str card = {0}, manifest = {0};
	struct archive_list list = {0};
	const char *verdict = "?";
	enum status st = archive_add(&list, &run->arena, dir, names, err);

	if (st == ST_OK)
		st = evidence_scorecard(&card, dir, &verdict, err);
	if (st == ST_OK) {
		archive_add_text(&list, &run->arena, "scorecard.json", str_text(&card));
		archive_sort(&list);
		st = make_manifest(&manifest, run, &list, verdict, err);
	}
	if (st == ST_OK)
		st = archive_write(file, tmpf("assay-%s", run->info.id), dir, str_text(&manifest),
		                   &list, err);
	if (st == ST_OK)
		printf("%s\n", say(MSG_bundle_done, file, tmpf("%lld", (long long)list.n + 1),
		                   verdict, run->digest));
	str_release(&card);
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
		st = bundle_run(dir, &run, file.data, err);
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
