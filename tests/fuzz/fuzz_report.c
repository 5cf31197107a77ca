/* A run of anybody's, judged and printed in every format: whatever stands in a reading, its
 * parameters and its raw file, there is a verdict, and a report of it. The raw file, one for
 * all readings that have any, is what follows a line "---". */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "cli/cli.h"
#include "report/report.h"
#include "run/line.h"
#include "run/rundir.h"
#include "score/score.h"

#define MARK "\n---\n"

static struct profile *profile;

static void release(void)
{
	profile_free(profile);
}

/* As if the journal vouched for it: else nothing would ever look into it. */
static void plant_raw(struct rundir *run, const char *raw, size_t len)
{
	static char digest[SHA256_HEX];

	fuzz_named("raw.csv", raw, len);
	sha256_text(raw, len, digest);
	for (int64_t i = 0; i < run->n_readings; i++)
		if (run->readings[i].raw.file)
			run->readings[i].raw = (struct raw_file){"raw.csv", digest, (int64_t)len};
}

static void print(const struct scorecard *card)
{
	const struct report_options options = {
		.utf8 = true, .run_dir = fuzz_folder(), .metrics = cli_metrics()};

	for (const struct report_format *f = report_formats; f->name; f++) {
		struct str out = {0};

		fuzz_promise(f->write(&out, card, &options, NULL) == ST_OK && out.len > 0,
		             "a report that is none");
		str_release(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct score_options options = {0};
	struct arena arena = {0};
	struct scorecard card = {0};
	const uint8_t *cut = memmem(data, len, MARK, strlen(MARK));
	size_t journal = cut ? (size_t)(cut - data) + 1 : len;
	struct rundir run;

	if (!profile) {
		fuzz_promise(profile_load(&profile, "a100-sxm4-80gb", NULL, cli_metrics(), NULL) ==
		                     ST_OK,
		             "the profile");
		atexit(release);
		fuzz_run_json();
	}
	fuzz_named(JOURNAL_FILE, data, journal);
	if (rundir_open(&run, fuzz_folder(), 0, NULL) != ST_OK)
		return 0;
	if (cut)
		plant_raw(&run, (const char *)cut + strlen(MARK), len - journal + 1 - strlen(MARK));
	if (score_run(&card, &arena, &run, profile, cli_metrics(), &options, NULL) == ST_OK)
		print(&card);
	arena_release(&arena);
	rundir_close(&run);
	return 0;
}
