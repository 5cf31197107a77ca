/* A small run directory in a fresh temporary place, for the tests of src/run. */
#ifndef ASSAY_TESTS_RUN_FIXTURE_H
#define ASSAY_TESTS_RUN_FIXTURE_H

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "run/journal.h"
#include "run/rundir.h"
#include "tests/cleanup.h"

/* A temporary directory; `dir` is the run directory below it, not yet made. */
struct place {
	char root[32];
	char dir[64], journal[96], run[96];
};

static inline struct place place_make(void)
{
	struct place p = {.root = "/tmp/assay-test-XXXXXX"};

	assert_non_null(mkdtemp(p.root));
	snprintf(p.dir, sizeof(p.dir), "%s/out", p.root);
	snprintf(p.journal, sizeof(p.journal), "%s/readings.jsonl", p.dir);
	snprintf(p.run, sizeof(p.run), "%s/run.json", p.dir);
	return p;
}

static inline void place_remove(const struct place *p)
{
	assert_int_equal(dir_remove(p->root, NULL), ST_OK);
}

static const char *const fixture_storage[] = {"/data", "/scratch \"x\""};

static inline struct run_info info_make(void)
{
	return (struct run_info){
		.id = "00112233445566aa",
		.created = "2026-12-02T03:04:05.678Z",
		.version = "0.1.0",
		.build = "gcc 12 Release",
		.host = "n001",
		.command = "assay run --nodes 2 --cards 8",
		.vendor = "vendor-x",
		.profile = "thousand-card",
		.profile_sha256 = "9f2c",
		.budget = "standard",
		.seed = "0123456789abcdef",
		.expected_nodes = 2,
		.expected_cards = 8,
		.storage = fixture_storage,
		.n_storage = 2,
	};
}

static inline struct reading card_reading(const char *card, double tflops)
{
	struct reading r = reading_init();

	r.time = "2026-12-02T03:04:06.000Z";
	r.node = "n001";
	r.phase = "cards";
	r.work = "5f0c5f0c5f0c";
	r.probe = "gemm";
	r.subject.kind = SUBJECT_CARD;
	r.subject.id = card;
	r.metric = "gemm_fp16_tflops";
	r.unit = "TFLOP/s";
	r.better = BETTER_HIGHER;
	r.value_kind = VALUE_NUMBER;
	r.value = tflops;
	return r;
}

static inline struct reading without_value(struct reading r, enum outcome outcome)
{
	r.value_kind = VALUE_NONE;
	r.outcome = outcome;
	r.reason = (struct reason){.code = "no_output", .text = "no output"};
	return r;
}

static inline enum status append(struct journal *j, const struct reading *r, struct error *err)
{
	struct str line = {0};
	enum status st;

	reading_format(&line, r);
	st = journal_append(j, line.data, line.len, err);
	str_release(&line);
	return st;
}

static inline struct journal *create(const struct place *p)
{
	struct run_info info = info_make();
	struct journal *j = NULL;
	struct error err = {0};

	if (journal_create(&j, p->dir, &info, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	return j;
}

/* A whole run: start, `count` readings of cards c0, c1 …, one unit done, end. */
static inline void make_run(const struct place *p, int count, char digest[65])
{
	struct journal *j = create(p);

	for (int i = 0; i < count; i++) {
		struct reading r = card_reading(tmpf("c%d", i), 268.1 + i);

		assert_int_equal(append(j, &r, NULL), ST_OK);
	}
	assert_int_equal(journal_work_done(j, "5f0c5f0c5f0c", NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
}

static inline struct str slurp(const char *path)
{
	struct str text = {0};

	assert_int_equal(file_read(&text, path, 1 << 24, NULL), ST_OK);
	return text;
}

static inline void spill(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Opens with the chain checked and hands back the state. */
static inline enum journal_state state_of(const struct place *p)
{
	struct rundir run;
	struct error err = {0};
	enum journal_state state;

	if (rundir_open(&run, p->dir, RUNDIR_CHAIN, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	state = run.state;
	rundir_close(&run);
	return state;
}

#endif
