/* assay verify: is this run what was measured? Of a run directory the chain and the raw
 * files are checked; of an archive of assay bundle also that nothing was added, and that
 * its readings still give the scorecard in it, byte for byte. 0 intact, 1 altered, 2
 * unreadable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/evidence_archive.h"
#include "run/archive.h"

static const struct option_row rows[] = {
	{"signers", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_verify_signers},
	{"identity", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_verify_identity},
	{0},
};

static int verify_dir(const char *dir, struct error *err)
{
	struct rundir run;
	enum status st = rundir_open(&run, dir, RUNDIR_CHAIN | RUNDIR_RAW, err);
	const char *readings;
	int code = 0;

	if (st != ST_OK)
		return EXIT_INCOMPLETE;
	readings = tmpf("%lld", (long long)run.n_readings);
	switch (run.state) {
	case JOURNAL_INTACT:
		printf("%s\n", say(MSG_verify_intact, readings, run.digest));
		break;
	case JOURNAL_CUT:
		printf("%s\n",
		       say(MSG_verify_cut, readings, run.digest, run.trouble ? run.trouble : ""));
		break;
	case JOURNAL_ALTERED:
		printf("%s\n", say(MSG_verify_altered, run.trouble ? run.trouble : "?"));
		code = EXIT_REJECT;
		break;
	case JOURNAL_UNREADABLE:
		printf("%s\n", say(MSG_verify_unreadable, run.trouble ? run.trouble : "?"));
		code = EXIT_INCOMPLETE;
		break;
	}
	rundir_close(&run);
	return code;
}

/* --- archives --------------------------------------------------------------------- */

static int altered(const char *what)
{
	printf("%s\n", say(MSG_verify_altered, what));
	return EXIT_REJECT;
}

static const char *name_of(const void *entry)
{
	return json_string(*(const cJSON *const *)entry, "name", "");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(name_of(a), name_of(b));
}

static int against_name(const void *name, const void *entry)
{
	return strcmp(name, name_of(entry));
}

/* Those of the manifest by name: of 10,000 nodes there are some 100,000. */
static const cJSON **entries_by_name(struct arena *arena, const cJSON *files, size_t *n)
{
	const cJSON **list =
		arena_array(arena, (size_t)cJSON_GetArraySize(files) + 1, sizeof(*list));
	const cJSON *f;

	*n = 0;
	cJSON_ArrayForEach(f, files)
	{
		list[(*n)++] = f;
	}
	qsort(list, *n, sizeof(*list), by_name);
	return list;
}

/* Every file is in the manifest and as it says, and every one it names is there. */
static int check_files(const char *dir, const struct json_doc *manifest, struct arena *arena,
                       struct error *err)
{
	static const char *const all[] = {".", NULL};
	const cJSON *files = json_get(manifest->root, "files");
	struct archive_list list = {0};
	size_t n;
	const cJSON **entries = entries_by_name(arena, files, &n), **found;

	if (archive_add(&list, arena, dir, all, err) != ST_OK)
		return EXIT_INCOMPLETE;
	for (int64_t i = 0; i < list.n; i++) {
		const struct archive_file *f = &list.files[i];
		const char *name = f->name + strlen("./");

		if (strcmp(name, ARCHIVE_MANIFEST) == 0)
			continue;
		found = bsearch(name, entries, n, sizeof(*entries), against_name);
		if (!found)
			return altered(say(MSG_verify_added, name));
		if (strcmp(json_string(*found, "sha256", ""), f->sha256) != 0 ||
		    json_int64(*found, "bytes", -1) != f->bytes)
			return altered(say(MSG_verify_file, name));
	}
	if (list.n != (int64_t)n + 1)
		return altered(say(MSG_verify_missing, tmpf("%zu", n),
		                   tmpf("%lld", (long long)list.n - 1)));
	return 0;
}

/* Whether what was made anew is the file in the archive; unreadable is false. */
static bool is_same(const char *dir, const char *name, const struct str *made)
{
	struct str kept = {0}, path = {0};
	bool same = file_read(&kept, path_join(&path, dir, name), (size_t)1 << 30, NULL) == ST_OK &&
	            made->len == kept.len && memcmp(made->data, kept.data, kept.len) == 0;

	str_release(&kept);
	str_release(&path);
	return same;
}

/* Judged again. Another build may word or round otherwise: then the verdict counts. */
static int compare_made(const char *dir, const cJSON *manifest, const struct evidence_made *made,
                        bool clauses, const char *ours)
{
	const char *was = json_string(manifest, "verdict", "?"), *now = made->verdict;
	const cJSON *tool = json_get(manifest, "tool");
	bool same_tool = strcmp(json_string(tool, "sha256", ""), ours) == 0;
	bool same = is_same(dir, CARD_FILE, &made->card);

	if (strcmp(was, now) != 0 || (same_tool && !same))
		return altered(say(MSG_verify_card, was, now));
	if (clauses && same_tool && !is_same(dir, CERTIFICATE_FILE, &made->certificate))
		return altered(say(MSG_verify_certificate, CERTIFICATE_FILE, CLAUSES_FILE));
	if (same)
		printf("%s\n", say(MSG_verify_same, now));
	else
		printf("%s\n", say(MSG_verify_other_build, now, json_string(tool, "version", "?"),
		                   json_string(tool, "build", "?")));
	return 0;
}

static int check_made(const char *dir, const struct json_doc *manifest, struct error *err)
{
	const char *stage = json_string(manifest->root, "stage", "delivery");
	bool clauses;
	struct evidence_made made = {0};
	struct error trouble = {0};
	struct str path = {0};
	char ours[SHA256_HEX];
	int code = EXIT_INCOMPLETE;
	enum status st = evidence_tool(ours, &trouble);

	/* What lies there is what the manifest names: check_files. */
	clauses = access(path_join(&path, dir, CLAUSES_FILE), F_OK) == 0;
	if (st == ST_OK)
		st = evidence_make(&made, dir,
		                   strcmp(stage, "period") == 0 ? RULE_PERIOD : RULE_DELIVERY,
		                   clauses ? path.data : NULL, &trouble);
	if (st == ST_OK) {
		code = compare_made(dir, manifest->root, &made, clauses, ours);
	} else if (st == ST_CORRUPT) {
		code = altered(str_text(&trouble.text));
	} else {
		*err = trouble;
		trouble = (struct error){0};
	}
	error_release(&trouble);
	evidence_made_release(&made);
	str_release(&path);
	return code;
}

static int verify_unpacked(const char *dir, struct arena *arena, struct error *err)
{
	struct json_doc manifest;
	struct str path = {0};
	int code = verify_dir(dir, err);
	enum status st = ST_OK;

	if (code == 0)
		st = json_load(&manifest, path_join(&path, dir, ARCHIVE_MANIFEST), 0, err);
	str_release(&path);
	if (st != ST_OK)
		return EXIT_INCOMPLETE;
	if (code)
		return code;
	code = check_files(dir, &manifest, arena, err);
	if (!code)
		code = check_made(dir, &manifest, err);
	json_release(&manifest);
	return code;
}

static int verify_archive(const char *path, struct error *err)
{
	const char *base = getenv("TMPDIR"), *top = NULL;
	struct arena arena = {0};
	struct str dir = {0};
	int code = EXIT_INCOMPLETE;

	/* Asked to end, it cleans up first; main tells the signal. */
	cli_catch_signals();
	str_addf(&dir, "%s/assay-verify.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(dir.data)) {
		error_errno(err, dir.data, errno);
	} else {
		if (archive_unpack(path, dir.data, &arena, &top, err) == ST_OK)
			code = verify_unpacked(arena_strf(&arena, "%s/%s", dir.data, top), &arena,
			                       err);
		archive_remove(dir.data);
	}
	str_release(&dir);
	arena_release(&arena);
	return code;
}

static int verify_signature(const struct options *o, const char *path, struct error *err)
{
	const char *signers = option_text(o, "signers", NULL),
		   *identity = option_text(o, "identity", NULL);
	struct stat info;
	enum status st;

	if (!signers && !identity) {
		if (stat(tmpf("%s.sig", path), &info) == 0)
			printf("%s\n", say(MSG_verify_unchecked, path));
		return 0;
	}
	if (!signers || !identity)
		return cli_status_code(error_set(err, ST_USAGE, MSG_option_needs,
		                                 signers ? "signers" : "identity",
		                                 signers ? "identity" : "signers"));
	st = evidence_signed(path, signers, identity, err);
	if (st != ST_OK)
		return st == ST_CORRUPT ? EXIT_REJECT : EXIT_INCOMPLETE;
	printf("%s\n", say(MSG_verify_signed, identity));
	return 0;
}

static int verify(const struct options *o, struct error *err)
{
	const char *path = o->operands[0];
	struct stat info;
	int code;

	if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
		code = verify_archive(path, err);
		return code ? code : verify_signature(o, path, err);
	}
	if (option_given(o, "signers") || option_given(o, "identity"))
		return cli_status_code(error_set(err, ST_USAGE, MSG_verify_no_archive, path));
	return verify_dir(path, err);
}

const struct command command_verify = {
	.name = "verify",
	.summary = MSG_cmd_verify,
	.operands = "DIR|FILE",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.run = verify,
};
