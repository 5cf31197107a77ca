/* Statements: how figures and units are read, what a statement is recognised by, and
 * each kind of file that cannot be read. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "service/claims.h"

/* --- figures ---------------------------------------------------------------------------- */

static void figures(void **state)
{
	static const struct {
		const char *text;
		enum claim_bound bound;
		double lo, hi;
		bool bad;
	} rows[] = {
		{">=19.5", BOUND_LEAST, 19.5, 19.5, false},
		{"≥ 300", BOUND_LEAST, 300, 300, false},
		{"<1", BOUND_MOST, 1, 1, false},
		{"180-220", BOUND_ABOUT, 180, 220, false},
		{"3.5–20", BOUND_ABOUT, 3.5, 20, false},
		{">=1000K", BOUND_LEAST, 1e6, 1e6, false},
		{"1500K", BOUND_ABOUT, 1.5e6, 1.5e6, false},
		{">5M", BOUND_LEAST, 5e6, 5e6, false},
		{"500万", BOUND_ABOUT, 5e6, 5e6, false},
		{"90 -> 55", BOUND_CHANGE, 90, 55, false},
		{"-54", BOUND_ABOUT, -54, -54, false},
		{"+33", BOUND_ABOUT, 33, 33, false},
		{">=40 loss", BOUND_LEAST, 40, 40, false},
		{"<50 = fail", BOUND_MOST, 50, 50, true},
		{"1 model", BOUND_ABOUT, 1, 1, false},
		{">=1,500,000", BOUND_LEAST, 1.5e6, 1.5e6, false},
		{"1,200.5-2,000", BOUND_ABOUT, 1200.5, 2000, false},
		{"1.4e12", BOUND_ABOUT, 1.4e12, 1.4e12, false},
		{"5, each", BOUND_ABOUT, 5, 5, false},
	};
	static const char *const words[] = {"yes", "", "-", "none of the three", "each present"};
	static const char *const wrong[] = {"1.2.3",     "220-180", "5-",      "5 -> x",
	                                    ">=1..2",    "1500,5",  "1,50",    "1,5000",
	                                    "1 500 000", ">=1e400", "≥４００", "1."};
	struct claim_figure f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(claim_figure_parse(rows[i].text, &f));
		assert_int_equal(f.bound, rows[i].bound);
		assert_float_equal(f.lo, rows[i].lo, 1e-9);
		assert_float_equal(f.hi, rows[i].hi, 1e-9);
		assert_int_equal(f.bad, rows[i].bad);
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		assert_true(claim_figure_parse(words[i], &f));
		assert_int_equal(f.bound, BOUND_WORDS);
		assert_true(isnan(f.lo));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(claim_figure_parse(wrong[i], &f));
}

static void units(void **state)
{
	(void)state;
	assert_float_equal(claim_factor("PFLOPS", "TFLOP/s"), 1000, 1e-9);
	assert_float_equal(claim_factor("Gb/s", "GB/s"), 0.125, 1e-12);
	assert_float_equal(claim_factor("GB/s", "Gb/s"), 8, 1e-12);
	assert_float_equal(claim_factor("%", "1"), 0.01, 1e-12);
	assert_float_equal(claim_factor("微秒", "ms"), 1e-3, 1e-12);
	assert_float_equal(claim_factor("yuan/GPU-h", "CNY/h"), 1, 0);
	assert_float_equal(claim_factor("parsecs", "parsecs"), 1, 0);
	/* A letter's case is all that tells bits from bytes. */
	assert_true(isnan(claim_factor("gb/S", "GB/s")));
	assert_true(isnan(claim_factor("GB/s", "IOPS")));
	assert_true(isnan(claim_factor("% of expected", "1")));
}

/* --- files ------------------------------------------------------------------------------ */

struct made {
	struct claim_words words;
	struct statements all;
	struct error err;
};

static enum status read_text(struct made *m, const char *text, size_t len, const char *ending)
{
	char path[] = "/tmp/assay-claims-XXXXXX.json";
	int fd;
	enum status st;

	*m = (struct made){0};
	assert_int_equal(claim_words_load(&m->words, NULL, &m->err), ST_OK);
	strcpy(path + sizeof(path) - sizeof(".json"), ending);
	fd = mkstemps(path, (int)strlen(ending));
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, len), ST_OK);
	close(fd);
	st = statements_read(&m->all, path, &m->words, NULL, &m->err);
	unlink(path);
	return st;
}

static void release(struct made *m)
{
	if (m->all.list)
		statements_release(&m->all);
	claim_words_release(&m->words);
	error_release(&m->err);
}

#define HEAD "id,meaning,phrase_zh,unit,threshold"

static void refused(const char *text, const char *words)
{
	struct made m;

	assert_int_equal(read_text(&m, text, strlen(text), ".csv"), ST_PARSE);
	if (!strstr(str_text(&m.err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&m.err.text), words);
	release(&m);
}

static void what_a_statement_is_about(void **state)
{
	static const char text[] = "\xef\xbb\xbf" HEAD ",quantity,who,cards\r\n"
				   "a,FP16 dense rate,,PFLOPS,>=0.25,,v,\r\n"
				   "b,\"days, all\",,days,14-21,train_days,v,1000\r\n"
				   "c,,千卡集群…周期压缩至14-21天,days,14-21,,,\r\n"
				   "d,anything,,GB/s,>=20,membw_copy_gbs,,\r\n"
				   "e,FP16 by the furlong,,furlongs,>=3,,,\r\n"
				   "f,nice people,,-,yes,,,\r\n";
	const struct statement *s;
	struct made m;

	(void)state;
	assert_int_equal(read_text(&m, text, sizeof(text) - 1, ".csv"), ST_OK);
	assert_int_equal(m.all.n, 6);
	s = m.all.list;
	assert_string_equal(s[0].quantity->name, "fp16_rate");
	assert_float_equal(s[0].figure.lo, 250, 1e-9);
	assert_int_equal(s[0].line, 2);
	assert_string_equal(s[1].meaning, "days, all");
	assert_true(s[1].named && s[1].cards == 1000);
	/* Known by its very words, as one of a guide. */
	assert_string_equal(s[2].who, "guide");
	assert_true(s[2].params == 1e11 && s[2].cards == 1000 && !s[2].named);
	/* A metric is left to whoever has the list of them. */
	assert_null(s[3].quantity);
	assert_string_equal(s[3].wanted, "membw_copy_gbs");
	/* The words alone are not enough. */
	assert_null(s[4].quantity);
	assert_null(s[5].quantity);
	release(&m);
}

static void tables_that_cannot_be_read(void **state)
{
	(void)state;
	refused("", "no header");
	refused(HEAD "\n", "no lines");
	refused("id,meaning,unit,treshold\nx,a,b,1\n",
	        "no column \"threshold\"; the nearest is \"treshold\"");
	refused("id,unit,threshold\nx,b,1\n", "no column \"meaning\"");
	refused(HEAD "\nx,a,b,c\n", ":2: 4 fields, the header has 5");
	refused(HEAD "\nx,a,,GB/s,1.2.3\n", ":2: threshold \"1.2.3\"");
	refused(HEAD "\n,a,,GB/s,1\n", ":2: id is empty");
	refused(HEAD "\nx,a,,GB/s,1\nx,b,,GB/s,2\n", ":3: id x is that of line 2");
	refused(HEAD ",cards\nx,a,,days,1,none\n", ":2: cards \"none\"");
	refused(HEAD ",tokens\nx,a,,days,1,-5\n", ":2: tokens \"-5\"");
	refused(HEAD "\nx,\"a,,GB/s,1\n", ":2: a quoted field begins here");
}

static void offers(void **state)
{
	static const char good[] =
		"{\"v\":1,\"name\":\"o\",\"card\":\"a100-sxm4-80gb\",\"figures\":["
		"{\"metric\":\"p2p_push_gbs\",\"unit\":\"GB/s\",\"value\":300},"
		"{\"metric\":\"training_scaling_efficiency\",\"unit\":\"1\",\"lo\":0.9,\"hi\":0.92}"
		"]}";
	static const char unit[] = "{\"v\":1,\"figures\":[{\"metric\":\"p2p_push_gbs\","
				   "\"unit\":\"us\",\"value\":300}]}";
	static const char empty[] = "{\"v\":1,\"figures\":[]}";
	struct made m;

	(void)state;
	assert_int_equal(read_text(&m, good, sizeof(good) - 1, ".json"), ST_OK);
	assert_int_equal(m.all.n, 3);
	assert_string_equal(m.all.list[0].quantity->name, "card_model");
	assert_string_equal(m.all.list[1].quantity->name, "nvlink_rate");
	assert_float_equal(m.all.list[2].figure.hi, 0.92, 1e-12);
	release(&m);
	assert_int_equal(read_text(&m, unit, sizeof(unit) - 1, ".json"), ST_PARSE);
	assert_non_null(strstr(str_text(&m.err.text), "is given in GB/s"));
	release(&m);
	assert_int_equal(read_text(&m, empty, sizeof(empty) - 1, ".json"), ST_PARSE);
	release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(units),
		cmocka_unit_test(what_a_statement_is_about),
		cmocka_unit_test(tables_that_cannot_be_read),
		cmocka_unit_test(offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
