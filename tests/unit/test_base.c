/* str, arena, msg, error, unit, clock, file, sha256: the small pieces everything
 * stands on. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assay/finding.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/unit.h"
#include "tests/cleanup.h"

static void str_grows_and_detaches(void **state)
{
	struct str s = {0};
	char *kept;

	(void)state;
	assert_string_equal(str_text(&s), "");
	for (int i = 0; i < 1000; i++)
		str_addf(&s, "%d,", i);
	assert_int_equal(s.len, 3890);
	assert_true(str_starts(s.data, "0,1,2,"));
	assert_true(str_ends(s.data, "998,999,"));
	kept = str_detach(&s);
	assert_null(s.data);
	assert_int_equal(strlen(kept), 3890);
	free(kept);
	str_pad(&s, 'x', 3);
	str_addc(&s, 'y');
	assert_string_equal(s.data, "xxxy");
	str_clear(&s);
	assert_string_equal(s.data, "");
	str_release(&s);
}

static void printable_hides_what_could_fool_a_terminal(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{"plain", 5, "plain"},
		{"gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f"},
		{"a\x1b[31m", 6, "a\xef\xbf\xbd[31m"},
		{"\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x80\xae"
	         "evil",
	         7,
	         "\xef\xbf\xbd"
	         "evil"},                                    /* right-to-left override */
		{"\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong NUL */
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xe4\xb8\xad", 3, "\xe4\xb8\xad"},
		{"\xc2\x9b", 2, "\xef\xbf\xbd"}, /* C1 control sequence introducer */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str s = {0};

		str_add_printable(&s, rows[i].in, rows[i].len);
		assert_string_equal(str_text(&s), rows[i].out);
		str_release(&s);
	}
}

static void nearest_word_offers_only_near_words(void **state)
{
	static const char *const words[] = {"inventory", "jitter",  "gemm",
	                                    "membw",     "storage", NULL};

	(void)state;
	assert_string_equal(nearest_word("gem", words), "gemm");
	assert_string_equal(nearest_word("invetory", words), "inventory");
	assert_string_equal(nearest_word("stor", words), "storage");
	assert_string_equal(nearest_word("jtiter", words), "jitter");
	assert_null(nearest_word("xyzzyq", words));
	assert_null(nearest_word("", words));
}

static void arena_keeps_everything(void **state)
{
	struct arena a = {0};
	char *first = arena_str(&a, "first");
	char *many[500];

	(void)state;
	for (int i = 0; i < 500; i++)
		many[i] = arena_strf(&a, "%d %s", i, "text that makes blocks fill");
	assert_string_equal(first, "first");
	assert_true(str_starts(many[499], "499 "));
	assert_int_equal((uintptr_t)arena_alloc(&a, 3) % 16, 0);
	assert_null(arena_str(&a, NULL));
	arena_reset(&a);
	assert_string_equal(arena_strn(&a, "abcdef", 3), "abc");
	arena_release(&a);
}

static void messages_take_arguments_in_any_order(void **state)
{
	struct error err = {0};
	enum msg id;

	(void)state;
	assert_string_equal(say(MSG_path_error, "file", "broken"), "file: broken");
	assert_string_equal(say(MSG_path_error, "file"), "file: ?");
	assert_string_equal(say(MSG_path_error, say(MSG_path_error, "a", "b"), "c"), "a: b: c");
	assert_int_equal(msg_arity("{2} and {1}"), 2);
	assert_int_equal(msg_arity("none {x} {}"), 0);
	assert_true(msg_parse("path_error", &id) && id == MSG_path_error);
	assert_false(msg_parse("no_such_message", &id));
	error_set(&err, ST_IO, MSG_path_error, "first", "cause");
	error_set(&err, ST_USAGE, MSG_path_error, "second", "noise");
	assert_int_equal(err.status, ST_IO);
	assert_string_equal(err.text.data, "first: cause");
	error_release(&err);
	assert_int_equal(error_errno(NULL, "x", ENOSPC), ST_NOSPACE);
}

static void figures_read_as_people_write_them(void **state)
{
	(void)state;
	assert_string_equal(fmt_value(0.00123), "0.00123");
	assert_string_equal(fmt_value(12.34), "12.3");
	assert_string_equal(fmt_value(9.996), "10.0");
	assert_string_equal(fmt_value(99.96), "100");
	assert_string_equal(fmt_value(1234567), "1234567");
	assert_string_equal(fmt_value(-2.5), "-2.50");
	assert_string_equal(fmt_value(NAN), "-");
	assert_string_equal(fmt_measure(610000, "IOPS"), "610K IOPS");
	assert_string_equal(fmt_measure(268.1, "TFLOP/s"), "268 TFLOP/s");
	assert_string_equal(fmt_measure(3, "1"), "3");
	assert_string_equal(fmt_bytes(4LL << 30), "4.0 GiB");
	assert_string_equal(fmt_bytes(37), "37 B");
	assert_string_equal(fmt_duration(0.85), "850 ms");
	assert_string_equal(fmt_duration(75), "1 min 15 s");
	assert_string_equal(fmt_duration(3 * 3600 + 300), "3 h 05 min");
}

static void numbers_are_read_strictly(void **state)
{
	static const char *const bad[] = {"",    " 1",   "1 ",    "1,5",   "nan",
	                                  "inf", "0x10", "1e999", "1.2.3", "-"};
	int64_t n;
	double x;

	(void)state;
	assert_true(parse_double("1.5e3", &x) && x == 1500);
	assert_true(parse_double("-0.25", &x) && x == -0.25);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(parse_double(bad[i], &x));
	assert_true(parse_int64("-42", &n) && n == -42);
	assert_false(parse_int64("9223372036854775808", &n));
	assert_false(parse_int64("12abc", &n));
	assert_true(parse_size("1.5GiB", &n) && n == 1610612736);
	assert_true(parse_size("64k", &n) && n == 65536);
	assert_true(parse_size("4096", &n) && n == 4096);
	assert_false(parse_size("1.5X", &n));
	assert_false(parse_size("-1", &n));
	assert_false(parse_size("K", &n));
	assert_false(parse_size("99999999T", &n));
}

static void times_go_both_ways(void **state)
{
	struct str s = {0};
	int64_t wall;

	(void)state;
	time_add_utc(&s, 1764644645678LL * NS_PER_MS);
	assert_string_equal(s.data, "2025-12-02T03:04:05.678Z");
	assert_true(time_parse_utc(s.data, &wall));
	assert_int_equal(wall, 1764644645678LL * NS_PER_MS);
	assert_true(time_parse_utc("1970-01-01T00:00:00Z", &wall) && wall == 0);
	assert_false(time_parse_utc("2025-13-02T03:04:05Z", &wall));
	assert_false(time_parse_utc("2025-12-02 03:04:05", &wall));
	assert_false(time_parse_utc("", &wall));
	assert_true(time_parse_utc("2028-02-29T00:00:00Z", &wall));
	assert_false(time_parse_utc("2026-02-29T00:00:00Z", &wall));
	assert_false(time_parse_utc("2026-02-30T00:00:00Z", &wall));
	assert_false(time_parse_utc("2100-02-29T00:00:00Z", &wall));
	assert_false(time_parse_utc("2026-04-31T00:00:00Z", &wall));
	assert_false(time_parse_utc("2026-04-00T00:00:00Z", &wall));
	assert_true(time_parse_utc("2261-12-31T23:59:59.999Z", &wall) && wall > 0);
	assert_false(time_parse_utc("2262-01-01T00:00:00Z", &wall));
	assert_false(time_parse_utc("9999-12-31T23:59:59Z", &wall));
	assert_false(time_parse_utc("1969-12-31T23:59:59Z", &wall));
	assert_false(time_parse_zoned("2026-02-30T00:00:00+08:00", &wall));
	assert_false(time_parse_zoned("2300-01-01T00:00Z", &wall));
	str_release(&s);
}

/* FIPS 180-4 examples, and the million-a vector of the same publication. */
static void sha256_matches_published_vectors(void **state)
{
	char hex[SHA256_HEX];
	struct sha256 s;
	char block[1000];

	(void)state;
	sha256_text("abc", 3, hex);
	assert_string_equal(hex,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_text("", 0, hex);
	assert_string_equal(hex,
	                    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	assert_string_equal(hex,
	                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(block, 'a', sizeof(block));
	sha256_init(&s);
	for (int i = 0; i < 1000; i++)
		sha256_add(&s, block, sizeof(block));
	sha256_hex(&s, hex);
	assert_string_equal(hex,
	                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Split at every place, the digest is the same. */
static void sha256_does_not_depend_on_pieces(void **state)
{
	char text[150], whole[SHA256_HEX], pieces[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7);
	sha256_text(text, sizeof(text), whole);
	for (size_t cut = 0; cut <= sizeof(text); cut++) {
		struct sha256 s;

		sha256_init(&s);
		sha256_add(&s, text, cut);
		sha256_add(&s, text + cut, sizeof(text) - cut);
		sha256_hex(&s, pieces);
		assert_string_equal(pieces, whole);
	}
}

static void files_are_written_whole_and_removed_with_care(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str path = {0}, text = {0}, precious = {0};
	struct error err = {0};

	(void)state;
	assert_non_null(mkdtemp(dir));
	path_join(&path, dir, "a/b/c");
	assert_int_equal(dir_make(path.data, &err), ST_OK);
	path_join(&path, dir, "a/file");
	assert_int_equal(file_write(path.data, "hello\nworld\n", 12, &err), ST_OK);
	assert_int_equal(file_read(&text, path.data, 100, &err), ST_OK);
	assert_string_equal(text.data, "hello\nworld\n");
	assert_true(file_read_line(path.data, &text));
	assert_string_equal(text.data, "hello");
	str_clear(&text);
	assert_int_equal(file_read(&text, path.data, 5, &err), ST_RANGE);
	assert_non_null(strstr(err.text.data, "larger than 5 B"));
	error_release(&err);
	assert_int_equal(file_read(&text, "/nonexistent/x", 5, &err), ST_NOTFOUND);
	error_release(&err);

	/* A link inside the tree is removed, not followed. */
	path_join(&precious, dir, "precious");
	assert_int_equal(file_write(precious.data, "p", 1, &err), ST_OK);
	path_join(&path, dir, "a/b/link");
	assert_int_equal(symlink(dir, path.data), 0);
	path_join(&path, dir, "a");
	assert_int_equal(dir_remove(path.data, &err), ST_OK);
	assert_int_equal(access(path.data, F_OK), -1);
	assert_int_equal(access(precious.data, F_OK), 0);
	assert_int_equal(dir_remove(path.data, &err), ST_OK);
	assert_int_equal(dir_remove(dir, &err), ST_OK);
	str_release(&path);
	str_release(&text);
	str_release(&precious);
}

static void contract_words_go_both_ways(void **state)
{
	enum outcome o;
	enum verdict v;
	enum stat_id s;
	struct reading r = reading_init();

	(void)state;
	for (int i = 0; i < OUTCOMES; i++)
		assert_true(outcome_parse(outcome_name((enum outcome)i), &o) && (int)o == i);
	for (int i = 0; i < VERDICTS; i++)
		assert_true(verdict_parse(verdict_name((enum verdict)i), &v) && (int)v == i);
	for (int i = 0; i < STATS; i++)
		assert_true(stat_parse(stat_name((enum stat_id)i), &s) && (int)s == i);
	assert_false(outcome_parse("fine", &o));
	assert_false(verdict_parse(NULL, &v));
	assert_true(isnan(r.stats[STAT_MEDIAN]));
	assert_int_equal(r.attempt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_grows_and_detaches),
		cmocka_unit_test(printable_hides_what_could_fool_a_terminal),
		cmocka_unit_test(nearest_word_offers_only_near_words),
		cmocka_unit_test(arena_keeps_everything),
		cmocka_unit_test(messages_take_arguments_in_any_order),
		cmocka_unit_test(figures_read_as_people_write_them),
		cmocka_unit_test(numbers_are_read_strictly),
		cmocka_unit_test(times_go_both_ways),
		cmocka_unit_test(sha256_matches_published_vectors),
		cmocka_unit_test(sha256_does_not_depend_on_pieces),
		cmocka_unit_test(files_are_written_whole_and_removed_with_care),
		cmocka_unit_test(contract_words_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
