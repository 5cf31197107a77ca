/* The reader of a run directory: every cut is readable, every change is seen,
 * what is newer or no figure is refused with its place. */
#include "tests/unit/run_fixture.h"

#include <errno.h>
#include <math.h>

#include "run/chain.h"
#include "run/scan.h"

/* --- cuts and changes ---------------------------------------------------------- */

static int64_t count_of(const char *text, size_t len, const char *word)
{
	const char *p = text, *end = text + len;
	int64_t n = 0;

	for (; (p = memmem(p, (size_t)(end - p), word, strlen(word))); p++)
		n++;
	return n;
}

static void every_cut_is_readable_and_never_altered(void **state)
{
	struct place p = place_make();
	char digest[65];
	struct str text;
	size_t first;

	(void)state;
	make_run(&p, 3, digest);
	text = slurp(p.journal);
	first = strcspn(text.data, "\n") + 1;
	for (size_t len = text.len;; len--) {
		const char *end = memrchr(text.data, '\n', len);
		size_t whole = end ? (size_t)(end + 1 - text.data) : 0;
		struct rundir run;

		assert_int_equal(truncate(p.journal, (off_t)len), 0);
		assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN | RUNDIR_RAW, NULL), ST_OK);
		assert_int_equal(run.state, len == text.len ? JOURNAL_INTACT
		                            : len < first   ? JOURNAL_UNREADABLE
		                                            : JOURNAL_CUT);
		assert_int_equal(run.whole_len, whole);
		assert_int_equal(run.n_readings, count_of(text.data, whole, "{\"v\":1"));
		assert_int_equal(run.trouble != NULL, whole != len || len < first);
		assert_int_equal(run.digest[0] != '\0', len >= first);
		assert_int_equal(strcmp(run.digest, digest) == 0, len == text.len);
		rundir_close(&run);
		if (len == 0)
			break;
	}
	str_release(&text);
	place_remove(&p);
}

/* A change to the last line has no later line that remembers it: only a copy
 * of the run digest kept elsewhere tells, so the last line is left out here and
 * its digest is compared instead. */
static void every_changed_byte_is_seen(void **state)
{
	static const char masks[] = {0x01, 0x02, 0x20, (char)0x80, (char)0xff};
	struct place p = place_make();
	char digest[65];
	struct str text;
	size_t last;
	FILE *f;

	(void)state;
	make_run(&p, 3, digest);
	text = slurp(p.journal);
	last = (size_t)((char *)memrchr(text.data, '\n', text.len - 1) + 1 - text.data);
	f = fopen(p.journal, "r+");
	assert_non_null(f);
	setbuf(f, NULL);
	for (size_t i = 0; i < text.len - 1; i++) {
		struct rundir run;
		char was = text.data[i];

		fseek(f, (long)i, SEEK_SET);
		fputc(was ^ masks[i % sizeof(masks)], f);
		if (i < last) {
			assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
			assert_int_equal(run.state, JOURNAL_ALTERED);
			assert_non_null(run.trouble);
			rundir_close(&run);
		} else if (rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL) == ST_OK) {
			assert_string_not_equal(run.digest, digest);
			rundir_close(&run);
		}
		fseek(f, (long)i, SEEK_SET);
		fputc(was, f);
	}
	fclose(f);
	assert_int_equal(state_of(&p), JOURNAL_INTACT);
	str_release(&text);
	place_remove(&p);
}

static void lines_removed_swapped_or_added_are_seen(void **state)
{
	struct place p = place_make();
	char digest[65];
	struct str text, changed = {0};
	const char *at[6];

	(void)state;
	make_run(&p, 3, digest);
	text = slurp(p.journal);
	at[0] = text.data;
	for (int i = 1; i < 6; i++)
		at[i] = strchr(at[i - 1], '\n') + 1;
	/* without line 3 */
	str_addn(&changed, at[0], (size_t)(at[2] - at[0]));
	str_add(&changed, at[3]);
	spill(p.journal, changed.data, changed.len);
	assert_int_equal(state_of(&p), JOURNAL_ALTERED);
	/* lines 2 and 3 swapped */
	str_clear(&changed);
	str_addn(&changed, at[0], (size_t)(at[1] - at[0]));
	str_addn(&changed, at[2], (size_t)(at[3] - at[2]));
	str_addn(&changed, at[1], (size_t)(at[2] - at[1]));
	str_add(&changed, at[3]);
	spill(p.journal, changed.data, changed.len);
	assert_int_equal(state_of(&p), JOURNAL_ALTERED);
	/* line 2 twice */
	str_clear(&changed);
	str_addn(&changed, at[0], (size_t)(at[2] - at[0]));
	str_add(&changed, at[1]);
	spill(p.journal, changed.data, changed.len);
	assert_int_equal(state_of(&p), JOURNAL_ALTERED);
	/* the start line gone */
	spill(p.journal, at[1], strlen(at[1]));
	assert_int_equal(state_of(&p), JOURNAL_ALTERED);
	str_release(&changed);
	str_release(&text);
	place_remove(&p);
}

static void run_json_is_part_of_the_chain(void **state)
{
	static const struct {
		const char *from, *to, *said;
	} rows[] = {
		{"\"v\": 1", "\"v\" 11", "run.json:2:"},
		{"\"v\": 1", "\"v\": 2", "newer"},
		{"\"seed\"", "\"sead\"", "\"seed\""},
		{"\"nodes\": 2", "\"nodes\":-2", "expected.nodes"},
		{"\"cards\": 8", "\"cards\": {}", "expected.cards"},
		{"\"only\": []", "\"only\": 12", "\"only\""},
		{"\"vendor\": \"vendor-x\"", "\"vendor\": 1         ", "run.json:9:3:"},
	};
	struct place p = place_make();
	struct rundir run;
	struct error err = {0};
	char digest[65], *vendor;
	struct str text;

	(void)state;
	make_run(&p, 2, digest);
	text = slurp(p.run);
	vendor = strstr(text.data, "vendor-x");
	*vendor = 'V';
	spill(p.run, text.data, text.len);
	*vendor = 'v';
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_ALTERED);
	assert_non_null(strstr(run.trouble, "run.json"));
	assert_int_equal(run.n_readings, 2);
	rundir_close(&run);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str bad = {0};
		const char *from;

		from = strstr(text.data, rows[i].from);
		assert_non_null(from);
		str_addn(&bad, text.data, (size_t)(from - text.data));
		str_add(&bad, rows[i].to);
		str_add(&bad, from + strlen(rows[i].from));
		spill(p.run, bad.data, bad.len);
		assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, &err), ST_PARSE);
		if (!strstr(err.text.data, rows[i].said))
			fail_msg("%s: %s", rows[i].to, err.text.data);
		error_release(&err);
		str_release(&bad);
	}
	assert_int_equal(unlink(p.run), 0);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, &err), ST_NOTFOUND);
	error_release(&err);
	str_release(&text);
	place_remove(&p);
}

/* --- journals made by hand -------------------------------------------------------- */

/* A journal with a proper chain around lines given without their ending. */
static void forge(const struct place *p, const char *const *lines, int count)
{
	struct str text = {0}, run;
	char hex[65], prev[65];
	size_t from;

	run = slurp(p->run);
	sha256_text(run.data, run.len, hex);
	str_addf(&text, "{\"kind\":\"start\",\"v\":1,\"time\":\"t\",\"run_sha256\":\"%s\"}\n", hex);
	sha256_text(text.data, text.len - 1, prev);
	for (int i = 0; i < count; i++) {
		from = text.len;
		chain_link(&text, lines[i], strlen(lines[i]), i + 1, prev);
		sha256_text(text.data + from, text.len - from - 1, prev);
	}
	spill(p->journal, text.data, text.len);
	str_release(&text);
	str_release(&run);
}

#define HEAD                                                                                       \
	"{\"v\":1,\"time\":\"t\",\"node\":\"n\",\"writer\":0,\"phase\":\"p\",\"attempt\":1,"       \
	"\"work\":\"w\",\"probe\":\"gemm\",\"subject\":{\"kind\":\"card\",\"id\":\"c\"},"          \
	"\"metric\":\"m\",\"unit\":\"1\","
#define TAIL "\"better\":\"higher\",\"outcome\":\"measured\",\"origin\":\"measured\"}"
#define GOOD HEAD "\"value\":1," TAIL
#define END  "{\"kind\":\"end\",\"time\":\"z\",\"readings\":2}"

static void unknown_kinds_and_members_are_left_alone(void **state)
{
	static const char *const lines[] = {
		"{\"kind\":\"heartbeat\",\"time\":\"u\",\"work\":{\"deep\":[1,{}]},\"v\":7}",
		HEAD "\"value\":1,\"new\":{\"a\":[1,2,{\"b\":null}],\"c\":\"\\u00fc\\n\"},"
		     "\"stats\":{\"median\":2,\"later\":\"x\"},\"reason\":null," TAIL,
		"{ \"v\" : 1 , \"origin\":\"imported\",\"outcome\":\"not_measured\",\"value\":null,"
		"\"reason\":{\"code\":\"c\",\"args\":[\"\\ud83d\\ude00\"],\"x\":0},"
		"\"better\":\"neither\",\"unit\":\"text\",\"metric\":\"m\\u0041\","
		"\"subject\":{\"kind\":\"node\",\"id\":null},\"attempt\":2,\"time\":\"t\"}",
		END,
	};
	struct place p = place_make();
	struct rundir run;
	char digest[65];

	(void)state;
	make_run(&p, 1, digest);
	forge(&p, lines, 4);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_INTACT);
	assert_int_equal(run.n_readings, 2);
	assert_true(run.readings[0].stats[STAT_MEDIAN] == 2);
	assert_int_equal(run.readings[0].seq, 2);
	assert_non_null(strstr(run.map, "\"new\":{\"a\""));
	assert_string_equal(run.readings[1].metric, "mA");
	assert_string_equal(run.readings[1].reason.args[0], "\xf0\x9f\x98\x80");
	assert_null(run.readings[1].work);
	assert_null(run.readings[1].subject.id);
	assert_int_equal(run.readings[1].attempt, 2);
	assert_string_equal(run.ended, "z");
	rundir_close(&run);
	place_remove(&p);
}

static void lines_that_are_no_reading_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{HEAD "\"value\":1e999," TAIL, "value"},
		{HEAD "\"value\":-1e999," TAIL, "value"},
		{HEAD "\"value\":NaN," TAIL, "value"},
		{HEAD "\"value\":Infinity," TAIL, "value"},
		{HEAD "\"value\":01," TAIL, "value"},
		{HEAD "\"value\":0x10," TAIL, "value"},
		{HEAD "\"value\":1.," TAIL, "value"},
		{HEAD "\"value\":true," TAIL, "value"},
		{HEAD "\"value\":null," TAIL, "without a value"},
		{HEAD "\"value\":1,\"value\":2," TAIL, "second time"},
		{HEAD TAIL, "\"value\" is missing"},
		{HEAD "\"value\":1,\"stats\":{\"cv\":1e400}," TAIL, "stats.cv"},
		{HEAD "\"value\":1,\"stats\":{\"cv\":\"x\"}," TAIL, "stats.cv"},
		{HEAD "\"value\":1,\"stats\":{\"ci\":[1]}," TAIL, "stats.ci"},
		{HEAD "\"value\":1,\"stats\":{\"ci\":[2,1]}," TAIL, "stats.ci"},
		{HEAD "\"value\":1,\"params\":{\"x\":1e999}," TAIL, "params"},
		{HEAD "\"value\":1,\"params\":[]," TAIL, "params"},
		{HEAD "\"value\":1,\"other\":1e999," TAIL, "too large"},
		{HEAD "\"value\":1,\"reason\":{\"args\":[]}," TAIL, "reason.code"},
		{HEAD "\"value\":1,\"raw\":{\"file\":\"a\",\"sha256\":\"b\"}," TAIL, "raw.bytes"},
		{HEAD "\"value\":1,\"raw\":{\"file\":\"a\",\"sha256\":\"b\",\"bytes\":-1}," TAIL,
	         "raw.bytes"},
		{HEAD "\"value\":1,\"x\":\"\xff\"," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":\"\\ud800\"," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":\"\\u0000\"," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":\"\t\"," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":tru," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":[1,]," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"x\":[1 2]," TAIL, "not JSON"},
		{HEAD "\"value\":1,," TAIL, "not JSON"},
		{HEAD "\"value\":1,\"better\":\"higher\",\"outcome\":\"maybe\","
	              "\"origin\":\"measured\"}",
	         "outcome"},
		{HEAD "\"value\":1,\"better\":\"higher\",\"outcome\":\"lost\","
	              "\"origin\":\"measured\"}",
	         "without a reason"},
		{HEAD "\"value\":1,\"better\":\"higher\",\"outcome\":\"measured\"}", "origin"},
		{"{\"v\":1,\"attempt\":0}", "attempt"},
		{"{\"v\":1,\"attempt\":\"99999999999999999999\"}", "attempt"},
		{"{\"v\":1,\"writer\":1.5}", "writer"},
		{"{\"v\":1,\"writer\":4294967296}", "writer"},
		{"{\"v\":0}", "\"v\""},
		{"{\"v\":2,\"all\":\"new\"}", "newer"},
		{"{\"kind\":\"work\",\"time\":\"t\"}", "work"},
		{"{\"kind\":7}", "kind"},
	};
	struct place p = place_make();
	char digest[65];

	(void)state;
	make_run(&p, 1, digest);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *lines[] = {GOOD, rows[i].line, GOOD, END};
		struct rundir run;
		struct error err = {0};

		forge(&p, lines, 4);
		if (rundir_open(&run, p.dir, RUNDIR_CHAIN, &err) != ST_PARSE)
			fail_msg("accepted: %s", rows[i].line);
		assert_non_null(strstr(err.text.data, "/out/readings.jsonl:3: "));
		if (!strstr(err.text.data, rows[i].said))
			fail_msg("%s: %s", rows[i].line, err.text.data);
		error_release(&err);
	}
	place_remove(&p);
}

static void numbers_are_read_exactly(void **state)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
		{"0", 0},
		{"-0", -0.0},
		{"-12.5e-1", -1.25},
		{"268.1", 268.1},
		{"0.0016", 0.0016},
		{"1E+2", 100},
		{"1e22", 1e22},
		{"1e23", 1e23},
		{"9007199254740993", 9007199254740992.0},
		{"0.1000000000000000055511151231257827", 0.1},
		{"5e-324", 5e-324},
		{"1e-999", 0},
		{"1.7976931348623157e308", 1.7976931348623157e308},
		{"0e99999", 0},
		{"123456789012345678901234567890", 123456789012345678901234567890.0},
		{"0.000000000000000000000000000001", 1e-30},
		{"9007199254740993.0", 9007199254740992.0}, /* a tie: to even */
		{"9007199254740995.0", 9007199254740996.0},
		{"900719925474099.35", 900719925474099.35},
		{"0.9999999999999999999", 1},
		{"1844674407370955161.5", 1844674407370955264.0},
	};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str line = {0};
		struct reading r;
		const char *why = NULL;

		str_addf(&line, HEAD "\"value\":%s," TAIL, rows[i].text);
		if (reading_parse(&r, &arena, line.data, line.len, &why) != ST_OK)
			fail_msg("%s: %s", rows[i].text, why);
		assert_memory_equal(&r.value, &rows[i].value, sizeof(double));
		str_release(&line);
	}
	arena_release(&arena);
}

static void measured_figures_are_read_as_strtod_reads_them(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct str text = {0};
		struct scan s;
		double value = NAN, expected;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		str_addf(&text, "%.*g", 15 + i % 5, ldexp((double)(seed >> 11), i % 80 - 80));
		str_addc(&text, ' ');
		expected = strtod(text.data, NULL);
		s = scan_begin(text.data, text.len);
		assert_true(scan_number(&s, &value));
		if (memcmp(&value, &expected, sizeof(value)) != 0)
			fail_msg("%s: %.17g", text.data, value);
		str_release(&text);
	}
}

static void the_parser_stops_at_the_end_it_was_given(void **state)
{
	const char *good = HEAD "\"value\":12.5,\"params\":{\"a\":[1,2]},\"x\":true," TAIL;
	size_t len = strlen(good);
	struct arena arena = {0};
	struct str deep = {0};
	struct reading r;

	(void)state;
	for (size_t n = 0; n < len; n++) {
		/* exactly as much memory as text, so that a sanitizer sees a step too far */
		char *copy = malloc(n ? n : 1);
		const char *why = NULL;

		assert_non_null(copy);
		memcpy(copy, good, n);
		assert_int_equal(reading_parse(&r, &arena, copy, n, &why), ST_PARSE);
		assert_non_null(why);
		free(copy);
	}
	assert_int_equal(reading_parse(&r, &arena, good, len, NULL), ST_OK);
	assert_int_equal(reading_parse(&r, &arena, END, strlen(END), NULL), ST_PARSE);
	str_add(&deep, HEAD "\"value\":1,\"x\":");
	str_pad(&deep, '[', 100000);
	assert_int_equal(reading_parse(&r, &arena, deep.data, deep.len, NULL), ST_PARSE);
	str_release(&deep);
	arena_release(&arena);
}

static void counts_and_versions_must_fit(void **state)
{
	static const char *const few[] = {GOOD, END};
	static const char *const bare[] = {GOOD, "{\"v\":1,\"time\":\"t\"}"};
	struct place p = place_make();
	struct rundir run;
	struct error err = {0};
	struct str text;
	char digest[65];

	(void)state;
	make_run(&p, 1, digest);
	forge(&p, few, 2);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_ALTERED);
	assert_non_null(strstr(run.trouble, "readings.jsonl:3"));
	rundir_close(&run);
	/* a bad last line is vouched for by nobody */
	forge(&p, bare, 2);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(run.state, JOURNAL_ALTERED);
	assert_int_equal(run.n_readings, 1);
	rundir_close(&run);
	/* a newer journal, known by its first line */
	forge(&p, few, 0);
	text = slurp(p.journal);
	*(strstr(text.data, "\"v\":1") + 4) = '2';
	spill(p.journal, text.data, text.len);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, &err), ST_PARSE);
	assert_non_null(strstr(err.text.data, "readings.jsonl:1"));
	assert_non_null(strstr(err.text.data, "newer"));
	error_release(&err);
	str_release(&text);
	place_remove(&p);
}

static void what_is_no_journal_is_unreadable(void **state)
{
	static const char *const texts[] = {
		"",     "hello\nworld\n",      "\n\n\n",
		"{}\n", "{\"kind\":\"start\"", "{\"kind\":\"end\",\"time\":\"t\",\"readings\":0}\n",
	};
	struct place p = place_make();
	char digest[65];
	struct rundir run;

	(void)state;
	make_run(&p, 1, digest);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		spill(p.journal, texts[i], strlen(texts[i]));
		assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_OK);
		assert_int_equal(run.state, JOURNAL_UNREADABLE);
		assert_non_null(run.trouble);
		assert_int_equal(run.n_readings, 0);
		rundir_close(&run);
	}
	assert_int_equal(unlink(p.journal), 0);
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_NOTFOUND);
	assert_int_equal(mkfifo(p.journal, 0600), 0); /* must not hang */
	assert_int_equal(rundir_open(&run, p.dir, RUNDIR_CHAIN, NULL), ST_PARSE);
	place_remove(&p);
}

/* --- raw files ----------------------------------------------------------------------- */

static void expect_raw(const struct place *p, enum journal_state expected, const char *said)
{
	struct rundir run;

	assert_int_equal(rundir_open(&run, p->dir, RUNDIR_CHAIN | RUNDIR_RAW, NULL), ST_OK);
	assert_int_equal(run.state, expected);
	if (said && !strstr(run.trouble, said))
		fail_msg("%s", run.trouble);
	rundir_close(&run);
	assert_int_equal(state_of(p), JOURNAL_INTACT); /* only verify looks at them */
}

static void raw_files_are_what_was_written(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p);
	struct reading r = card_reading("c0", 1);
	char digest[65], sum[65], path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/raw/gemm.csv", p.dir);
	spill(path, "1,2,3\n", 6);
	sha256_text("1,2,3\n", 6, sum);
	r.raw = (struct raw_file){"raw/gemm.csv", sum, 6};
	assert_int_equal(append(j, &r, NULL), ST_OK);
	assert_int_equal(append(j, &r, NULL), ST_OK);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	expect_raw(&p, JOURNAL_INTACT, NULL);
	spill(path, "1,2,4\n", 6);
	expect_raw(&p, JOURNAL_ALTERED, "digest differs");
	spill(path, "1,2,3", 5);
	expect_raw(&p, JOURNAL_ALTERED, "5 bytes, 6");
	assert_int_equal(unlink(path), 0);
	expect_raw(&p, JOURNAL_ALTERED, "No such file");
	assert_int_equal(mkdir(path, 0755), 0);
	expect_raw(&p, JOURNAL_ALTERED, "not a regular file");
	place_remove(&p);
}

static void raw_files_outside_are_not_opened(void **state)
{
	static const char *const names[] = {"/etc/hostname", "raw/../../secret", "..", "",
	                                    "raw/link",      "linked/secret"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct place p = place_make();
		struct journal *j = create(&p);
		struct reading r = card_reading("c0", 1);
		char digest[65], sum[65];

		spill(tmpf("%s/secret", p.root), "x", 1);
		assert_int_equal(symlink("../../secret", tmpf("%s/raw/link", p.dir)), 0);
		assert_int_equal(symlink("..", tmpf("%s/linked", p.dir)), 0);
		sha256_text("x", 1, sum);
		r.raw = (struct raw_file){names[i], sum, 1};
		assert_int_equal(append(j, &r, NULL), ST_OK);
		assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
		expect_raw(&p, JOURNAL_ALTERED, NULL);
		place_remove(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_is_readable_and_never_altered),
		cmocka_unit_test(every_changed_byte_is_seen),
		cmocka_unit_test(lines_removed_swapped_or_added_are_seen),
		cmocka_unit_test(run_json_is_part_of_the_chain),
		cmocka_unit_test(unknown_kinds_and_members_are_left_alone),
		cmocka_unit_test(lines_that_are_no_reading_are_refused_with_their_place),
		cmocka_unit_test(numbers_are_read_exactly),
		cmocka_unit_test(measured_figures_are_read_as_strtod_reads_them),
		cmocka_unit_test(the_parser_stops_at_the_end_it_was_given),
		cmocka_unit_test(counts_and_versions_must_fit),
		cmocka_unit_test(what_is_no_journal_is_unreadable),
		cmocka_unit_test(raw_files_are_what_was_written),
		cmocka_unit_test(raw_files_outside_are_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
