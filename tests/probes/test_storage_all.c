/* storage_all: three nodes on one path, on two, and with one of them missing, slow,
 * late or of another mind; with the real fio on the disk below /var/tmp. */
#include "company_kit.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "storage_token.h"
#include "tests/cleanup.h"

extern const struct probe probe_storage_all;

#define RUN ".assay-0123"

struct set {
	struct company *c;
	char root[2][64];
};

static int set_up(void **state)
{
	struct set *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->c = calloc(1, sizeof(*s->c));
	assert_non_null(s->c);
	company_init(s->c, &probe_storage_all, 3, "/mnt/named");
	for (int i = 0; i < 2; i++) {
		strcpy(s->root[i], "/var/tmp/assay all:XXXXXX");
		assert_non_null(mkdtemp(s->root[i]));
	}
	company_set(s->c, "size", "4M");
	company_set(s->c, "hold_s", "1");
	company_set(s->c, "ramp_s", "0.2");
	company_set(s->c, "base_s", "0.2");
	company_set(s->c, "stream_size", "8M");
	/* No second point unless a test wants one. */
	company_set(s->c, "p99_ms", "0.001");
	*state = s;
	return 0;
}

/* The directory of node i, on one of two paths. */
static const char *place(struct set *s, int i, int path)
{
	struct probe_ctx *ctx = &s->c->all[i].h.ctx;

	ctx->scratch = arena_strf(ctx->arena, "%s/" RUN "/%s", s->root[path], company_nodes[i]);
	assert_int_equal(dir_make(ctx->scratch, NULL), ST_OK);
	return ctx->scratch;
}

static struct harness *first(struct set *s)
{
	return &s->c->all[0].h;
}

static int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Also that nobody left a file behind. */
static int tear_down(void **state)
{
	struct set *s = *state;
	int left = 0;

	for (int i = 0; i < s->c->count; i++)
		if (s->c->all[i].h.ctx.scratch && !s->c->all[i].mute)
			left += files_in(s->c->all[i].h.ctx.scratch);
	company_release(s->c);
	free(s->c);
	for (int i = 0; i < 2; i++)
		dir_remove(s->root[i], NULL);
	free(s);
	return left;
}

static void run_on(struct set *s, const int *paths)
{
	for (int i = 0; i < s->c->count; i++)
		place(s, i, paths[i]);
	company_run(s->c);
}

static void run_shared(struct set *s)
{
	run_on(s, (const int[]){0, 0, 0});
}

/* Every figure that is not among `said` is missing for this. */
static const struct reading *expect_rest(struct set *s, enum outcome outcome, const char *code,
                                         const char *said)
{
	const struct reading *r = NULL;

	for (const struct metric *m = probe_storage_all.metrics; m->name; m++)
		if (!strstr(said, m->name))
			r = harness_expect(first(s), m->name, outcome, code);
	return r;
}

static double value_of(struct set *s, const char *metric)
{
	return harness_expect(first(s), metric, OUTCOME_MEASURED, NULL)->value;
}

static int lines_with(const char *text, const char *start)
{
	int n = 0;

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		n += strncmp(p, start, strlen(start)) == 0;
	return n;
}

/* --- all well ------------------------------------------------------------------------ */

/* Eight cards a node, whatever is here. */
static bool has_cards(cJSON *text, int n)
{
	(void)n;
	cJSON_ReplaceItemInObject(text, "cards", cJSON_CreateNumber(8));
	return true;
}

static void streams_are_there(struct set *s)
{
	const struct reading *r;

	r = harness_expect(first(s), "storage_all_write_gbs", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_true(harness_param(r, "bytes") == 3 * (8 << 20));
	r = harness_expect(first(s), "storage_all_read_gbs", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_true(harness_param(r, "bytes") == 3 * (8 << 20));
	assert_string_equal(harness_param_text(first(s), r, "read_of"), "next");
	assert_non_null(harness_raw(first(s), "storage-all-write.csv"));
}

/* One clock is 3 s ahead and known to be, another 100 s and nobody knows; one node
 * has psync alone, so that all take it. */
static void three_nodes_on_one_path(void **state)
{
	struct set *s = *state;
	const struct harness_raw *raw;
	const struct reading *r;
	double iops;

	s->c->all[1].ahead_s = s->c->all[1].h.ctx.ahead_s = 3;
	s->c->all[2].ahead_s = 100;
	s->c->all[2].h.ctx.ahead_s = NAN;
	harness_set(&s->c->all[2].h, "engine", "psync");
	company_set(s->c, "streams", "1");
	s->c->all[1].meddle = s->c->all[2].meddle = has_cards;
	run_shared(s);
	assert_string_equal(
		harness_expect(first(s), "storage_all_shared", OUTCOME_MEASURED, NULL)->text,
		"yes");
	r = harness_expect(first(s), "storage_all_read_iops", OUTCOME_MEASURED, NULL);
	iops = r->value;
	assert_true(iops > 0);
	assert_true(str_starts(r->point, "depth="));
	assert_string_equal(harness_param_text(first(s), r, "engine"), "psync");
	assert_string_equal(harness_param_text(first(s), r, "read_of"), "next");
	assert_true(harness_param(r, "sum") >= iops);
	assert_true(harness_param(r, "target_iops") == 16000);
	assert_true(harness_param(r, "offered_iops") > 0);
	assert_true(harness_param(r, "outstanding") < 1.5 * harness_param(r, "outstanding_asked"));
	/* By its own clock the third would have run a minute and a half off. */
	assert_true(harness_param(r, "seconds") < 60);
	assert_true(value_of(s, "storage_all_overlap") <= 1);
	assert_true(value_of(s, "storage_all_slowest_node") <= 1);
	assert_true(value_of(s, "storage_all_lat_p99_ms") > 0);
	assert_true(value_of(s, "storage_all_lat_mean_ms") > 0);
	raw = harness_raw(first(s), arena_strf(&first(s)->arena, "storage-all-depth%.0f.csv",
	                                       harness_param(r, "depth")));
	assert_non_null(raw);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lines_with(raw->data, tmpf("%s,part,", company_nodes[i])), 1);
		assert_true(lines_with(raw->data, tmpf("%s,window,", company_nodes[i])) >= 2);
	}
	r = harness_reading(first(s), "storage_read_iops_per_card");
	if (r->outcome == OUTCOME_MEASURED)
		assert_true(fabs(r->value * 16 - iops) < 1);
	else
		assert_string_equal(r->reason.code, "storage_all_offered");
	streams_are_there(s);
}

/* --- points, and one that is slow ------------------------------------------------------- */

/* Far less than any load beside it makes of what it did, and room for no more than 4 reads. */
static bool is_slow(cJSON *text, int n)
{
	double ios = cJSON_GetObjectItem(text, "ios")->valuedouble;

	if (ios > 0)
		cJSON_ReplaceItemInObject(text, "ios", cJSON_CreateNumber(ceil(ios / 500)));
	if (n == 2)
		cJSON_ReplaceItemInObject(text, "room", cJSON_CreateNumber(4));
	return true;
}

/* The target is out of reach, so that deeper points follow while there is room. */
static void a_slow_node_is_named_at_every_point(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[1].meddle = is_slow;
	company_set(s->c, "streams", "0");
	company_set(s->c, "depth", "2");
	company_set(s->c, "p99_ms", "1e6");
	company_set(s->c, "target_iops", "1e12");
	run_shared(s);
	for (int depth = 2; depth <= 4; depth *= 2) {
		const char *point = arena_strf(&first(s)->arena, "depth=%d", depth);

		r = harness_reading_at(first(s), "storage_all_slowest_node", point);
		assert_true(r->value < 0.5);
		assert_string_equal(harness_param_text(first(s), r, "slowest"), "n002");
		assert_true(harness_param(r, "slow_nodes") >= 1);
		assert_non_null(strstr(r->params, "\"slow\":[\"n002\""));
		assert_true(harness_param(r, "depth") == depth);
		assert_true(harness_param(r, "outstanding_asked") == 3 * depth);
		r = harness_reading_at(first(s), "storage_read_iops_per_card", point);
		assert_string_equal(outcome_name(r->outcome), "unsupported");
		assert_string_equal(r->reason.code, "storage_all_no_card");
	}
	assert_int_equal(harness_count(first(s), "storage_all_read_iops"), 2);
	harness_expect(first(s), "storage_all_write_gbs", OUTCOME_NOT_MEASURED, "storage_left_out");
}

/* Its part lies 10 s later: nothing is lost of it, but it was not at once. */
static bool is_late(cJSON *text, int n)
{
	static const char *const names[] = {"start_s", "end_s"};

	(void)n;
	for (int i = 0; i < 2; i++) {
		double at = cJSON_GetObjectItem(text, names[i])->valuedouble;

		if (at > 0)
			cJSON_ReplaceItemInObject(text, names[i], cJSON_CreateNumber(at + 10));
	}
	has_cards(text, n);
	return true;
}

static void not_at_once_is_run_again_and_judged_low(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[2].meddle = is_late;
	company_set(s->c, "streams", "0");
	company_set(s->c, "depth", "1");
	company_set(s->c, "target_iops", "1e12");
	run_shared(s);
	r = harness_expect(first(s), "storage_all_read_iops", OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "tries") == 2);
	assert_true(harness_param(r, "skew") > 5);
	assert_non_null(strstr(r->params, "\"at_once\":false"));
	assert_true(r->value < harness_param(r, "sum") / 5);
	assert_true(value_of(s, "storage_all_overlap") == 0);
	/* So small a load cannot tell what the storage has for a card. */
	harness_expect(first(s), "storage_read_iops_per_card", OUTCOME_NOT_MEASURED,
	               "storage_all_offered");
}

/* --- not shared ---------------------------------------------------------------------------- */

static void two_of_three_share(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	run_on(s, (const int[]){0, 1, 0});
	r = harness_expect(first(s), "storage_all_shared", OUTCOME_MEASURED, NULL);
	assert_string_equal(r->text, "partly, not: n002");
	assert_string_equal(harness_param_text(first(s), r, "apart"), "n002");
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_partly", "storage_all_shared");
	assert_non_null(strstr(r->reason.text, "n002 apart"));
}

static void nobody_shares(void **state)
{
	struct set *s = *state;

	/* The third one's is beside, but of another run. */
	run_on(s, (const int[]){0, 1, 0});
	company_release(s->c);
	company_init(s->c, &probe_storage_all, 3, "/mnt/named");
	company_set(s->c, "size", "4M");
	place(s, 0, 0);
	place(s, 1, 1);
	s->c->all[2].h.ctx.scratch =
		arena_strf(&s->c->all[2].h.arena, "%s/.assay-4567/n003", s->root[0]);
	assert_int_equal(dir_make(s->c->all[2].h.ctx.scratch, NULL), ST_OK);
	company_run(s->c);
	assert_string_equal(
		harness_expect(first(s), "storage_all_shared", OUTCOME_MEASURED, NULL)->text, "no");
	expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_not_shared", "storage_all_shared");
}

static void one_node_cannot_tell(void **state)
{
	struct set *s = *state;

	s->c->all[0].h.ctx.n_peers = 1;
	s->c->all[0].h.ctx.scratch = NULL;
	harness_run(first(s), ST_OK);
	expect_rest(s, OUTCOME_NOT_MEASURED, "storage_unproven", "");
}

/* --- a part is missing ------------------------------------------------------------------- */

static bool says_nothing(cJSON *text, int n)
{
	(void)text;
	(void)n;
	return false;
}

static void a_silent_node_is_named(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[1].meddle = says_nothing;
	company_set(s->c, "patience_s", "0.5");
	run_shared(s);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing", "");
	assert_string_equal(r->reason.text, "the part of n002 is missing: no answer in time; a "
	                                    "figure of all nodes needs every one");
}

/* Met, looked, prepared, its latency at depth 1; then no more. */
static bool falls_silent(cJSON *text, int n)
{
	(void)text;
	return n < 4;
}

static void a_node_lost_while_all_read_leaves_no_figure(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[2].meddle = falls_silent;
	company_set(s->c, "patience_s", "3");
	company_set(s->c, "depth", "3"); /* no power of two */
	run_shared(s);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing", "storage_all_shared");
	assert_non_null(strstr(r->reason.text, "n003"));
	harness_reading_at(first(s), "storage_all_read_iops", "depth=4");
	assert_string_equal(
		harness_expect(first(s), "storage_all_shared", OUTCOME_MEASURED, NULL)->text,
		"yes");
}

static bool talks_nonsense(cJSON *text, int n)
{
	if (n == 2)
		cJSON_ReplaceItemInObject(text, "bytes", cJSON_CreateNumber(-1));
	return true;
}

static void an_answer_that_cannot_be(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[1].meddle = s->c->all[2].meddle = talks_nonsense;
	run_shared(s);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing_more", "storage_all_shared");
	assert_string_equal(r->reason.args[0], "n002");
	assert_string_equal(r->reason.args[2], "1");
}

static bool has_part_of_a_card(cJSON *text, int n)
{
	if (n == 2)
		cJSON_ReplaceItemInObject(text, "cards", cJSON_CreateNumber(2.7));
	return true;
}

static bool has_part_of_a_depth(cJSON *text, int n)
{
	if (n == 2)
		cJSON_ReplaceItemInObject(text, "room", cJSON_CreateNumber(2.7));
	return true;
}

static void a_fraction_is_no_count(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[1].meddle = has_part_of_a_card;
	s->c->all[2].meddle = has_part_of_a_depth;
	run_shared(s);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing_more", "storage_all_shared");
	assert_string_equal(r->reason.args[0], "n002");
	assert_string_equal(r->reason.args[2], "1");
}

static void a_node_without_fio_says_so(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[2].path = "/nonexistent";
	run_shared(s);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing", "storage_all_shared");
	assert_non_null(strstr(r->reason.text, "n003"));
	assert_non_null(strstr(r->reason.text, "fio is not installed"));
}

static void a_node_without_the_path(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	place(s, 0, 0);
	place(s, 1, 0);
	company_run(s->c);
	r = expect_rest(s, OUTCOME_NOT_MEASURED, "storage_all_missing", "");
	assert_string_equal(r->reason.args[0], "n003");
}

/* The third one's data come back as zeros on the second. */
static bool keeps_nothing(cJSON *text, int n)
{
	static char path[160];
	struct stat info;
	FILE *f;

	(void)text;
	if (n != 2)
		return true;
	snprintf(path, sizeof(path), "%s/data", getenv("KEEPS_NOTHING"));
	assert_int_equal(stat(path, &info), 0);
	f = fopen(path, "r+");
	assert_non_null(f);
	for (off_t i = 0; i < info.st_size; i++)
		fputc(0, f);
	fclose(f);
	return true;
}

static void data_that_another_node_does_not_get(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[2].meddle = keeps_nothing;
	setenv("KEEPS_NOTHING", place(s, 2, 0), 1);
	run_shared(s);
	r = expect_rest(s, OUTCOME_FAILED, "storage_all_missing", "storage_all_shared");
	assert_string_equal(r->reason.args[0], "n002");
	assert_non_null(strstr(r->reason.text, "does not keep data"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(three_nodes_on_one_path),
		TEST(a_slow_node_is_named_at_every_point),
		TEST(not_at_once_is_run_again_and_judged_low),
		TEST(two_of_three_share),
		TEST(nobody_shares),
		TEST(one_node_cannot_tell),
		TEST(a_silent_node_is_named),
		TEST(a_node_lost_while_all_read_leaves_no_figure),
		TEST(an_answer_that_cannot_be),
		TEST(a_fraction_is_no_count),
		TEST(a_node_without_fio_says_so),
		TEST(a_node_without_the_path),
		TEST(data_that_another_node_does_not_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
