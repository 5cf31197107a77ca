/* Accepting a run as a baseline: its digest is written beside it, so that a baseline
 * that was changed afterwards, or another run under the same name, is noticed. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "gate/gate.h"

enum status baseline_accept(struct rundir *run, const char *time, struct error *err)
{
	struct str text = {0}, path = {0};
	struct json_out j = json_writer(&text, 2);
	enum status st;

	if (run->state == JOURNAL_CUT)
		return error_set(err, ST_USAGE, MSG_baseline_cut, run->path);
	if (run->state != JOURNAL_INTACT)
		return error_set(err, ST_CORRUPT, MSG_gate_altered, run->path,
		                 run->trouble ? run->trouble : "?");
	if (!gate_measured(run))
		return error_set(err, ST_USAGE, MSG_gate_empty, run->path);
	json_object_begin(&j, NULL);
	json_put_int(&j, "v", 1);
	json_put_string(&j, "run", run->info.id);
	json_put_string(&j, "run_digest", run->digest);
	json_put_string(&j, "accepted", time);
	json_object_end(&j);
	str_addc(&text, '\n');
	st = file_write(path_join(&path, run->path, BASELINE_FILE), text.data, text.len, err);
	str_release(&text);
	str_release(&path);
	return st;
}

enum status baseline_check(const struct rundir *run, struct error *err)
{
	struct str path = {0};
	struct json_doc doc;
	struct error why = {0};
	enum status st = json_load(&doc, path_join(&path, run->path, BASELINE_FILE), 0, &why);

	if (st == ST_OK) {
		const char *digest = json_string(doc.root, "run_digest", "?");

		if (strcmp(digest, run->digest) != 0)
			st = error_set(err, ST_CORRUPT, MSG_gate_not_accepted_run, run->path,
			               run->digest, digest);
		json_release(&doc);
	} else if (st != ST_NOTFOUND) {
		*err = why;
		why = (struct error){0};
	}
	error_release(&why);
	str_release(&path);
	return st;
}
