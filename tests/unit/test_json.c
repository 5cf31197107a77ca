/* JSON with places, and the writer; CSV. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/json.h"

static enum status parse(struct json_doc *doc, const char *text, int flags, struct error *err)
{
	return json_parse(doc, "f.json", text, strlen(text), flags, err);
}

static void errors_name_line_and_column(void **state)
{
	static const struct {
		const char *text;
		const char *place;
	} rows[] = {
		{"{\"a\":1,\n \"b\":}", "f.json:2:6"},
		{"", "f.json: empty"},
		{"   \n", "f.json: empty"},
		{"{\"a\":1} x", "f.json:1:9"},
		{"{\"a\":1,\n\"a\":2}", "f.json:2:1: key \"a\" a second time"},
		{"{\"a\":[1,\n 1e999]}", "f.json:2:2: number too large"},
		{"{\"a\":nan}", "f.json:1:6"},
		{"{\"a\":1,5}", "f.json:1:9"},
		{"{\"a\":\"\\uD800\"}", "f.json:1:"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct json_doc doc;
		struct error err = {0};

		assert_int_not_equal(parse(&doc, rows[i].text, JSON_STRICT, &err), ST_OK);
		if (!strstr(str_text(&err.text), rows[i].place))
			fail_msg("%s: got %s", rows[i].text, str_text(&err.text));
		error_release(&err);
	}
}

static void comments_keep_places(void **state)
{
	static const char text[] = "{ // first\n /* two\n lines */ \"key\": \"// no "
				   "comment\",\n\"n\": [1, {\"deep\": 2}] }";
	struct json_doc doc;
	struct error err = {0};
	const cJSON *deep;

	(void)state;
	assert_int_equal(parse(&doc, text, JSON_STRICT, &err), ST_PARSE);
	error_release(&err);
	assert_int_equal(parse(&doc, text, JSON_COMMENTS, &err), ST_OK);
	assert_string_equal(json_string(doc.root, "key", ""), "// no comment");
	assert_string_equal(json_place(&doc, json_get(doc.root, "key")), "f.json:3:11");
	deep = json_get(cJSON_GetArrayItem(json_get(doc.root, "n"), 1), "deep");
	assert_string_equal(json_place(&doc, deep), "f.json:4:11");
	json_release(&doc);
}

static void places_survive_awkward_values(void **state)
{
	static const char text[] =
		"{\"e\":{}, \"a\":[], \"s\":\"q\\\"}\", \"t\": true,\n  \"x\": -1.5e3}";
	struct json_doc doc;

	(void)state;
	assert_int_equal(parse(&doc, text, JSON_STRICT, NULL), ST_OK);
	assert_string_equal(json_place(&doc, json_get(doc.root, "x")), "f.json:2:3");
	json_release(&doc);
}

static void nul_bytes_are_refused(void **state)
{
	struct json_doc doc;
	struct error err = {0};

	(void)state;
	assert_int_equal(json_parse(&doc, "f", "{\"a\":\0 1}", 9, JSON_STRICT, &err), ST_PARSE);
	assert_non_null(strstr(err.text.data, "NUL"));
	error_release(&err);
}

static void what_people_write_is_utf_8(void **state)
{
	struct error err = {0};
	struct json_doc doc;

	(void)state;
	/* A name in GBK. */
	assert_int_equal(parse(&doc, "{\n \"a\": \"\xbd\xda\"}", JSON_COMMENTS, &err), ST_PARSE);
	assert_non_null(strstr(err.text.data, "f.json:2:8"));
	assert_non_null(strstr(err.text.data, "UTF-8"));
	error_release(&err);
	assert_int_equal(parse(&doc, "{\"a\": \"\xe8\x8a\x82\"}", JSON_COMMENTS, NULL), ST_OK);
	json_release(&doc);
	/* Other programs' output may hold any name. */
	assert_int_equal(parse(&doc, "{\"a\": \"\xbd\xda\"}", JSON_STRICT, NULL), ST_OK);
	json_release(&doc);
}

static void counters_beyond_2_53_are_strings(void **state)
{
	struct json_doc doc;
	struct str out = {0};
	struct json_out j = json_writer(&out, 0);

	(void)state;
	json_object_begin(&j, NULL);
	json_put_int(&j, "small", 9007199254740992);
	json_put_int(&j, "big", 9007199254740993);
	json_put_number(&j, "nan", NAN);
	json_put_number(&j, "x", 0.1);
	json_put_number(&j, "third", 1.0 / 3);
	json_object_end(&j);
	assert_string_equal(out.data, "{\"small\":9007199254740992,\"big\":\"9007199254740993\","
	                              "\"nan\":null,\"x\":0.1,\"third\":0.3333333333333333}");
	assert_int_equal(parse(&doc, out.data, JSON_STRICT, NULL), ST_OK);
	assert_int_equal(json_int64(doc.root, "big", 0), 9007199254740993);
	assert_int_equal(json_int64(doc.root, "small", 0), 9007199254740992);
	assert_int_equal(json_int64(doc.root, "x", -7), -7);
	assert_true(json_number(doc.root, "third", 0) == 1.0 / 3);
	json_release(&doc);
	str_release(&out);
}

static void the_writer_escapes(void **state)
{
	struct str out = {0};
	struct json_out j = json_writer(&out, 2);

	(void)state;
	json_object_begin(&j, NULL);
	json_put_string(&j, "q\"", "a\\b\n\t\x01\x7f");
	json_put_string(&j, "bad",
	                "x\xff"
	                "y");
	json_put_string(&j, "none", NULL);
	json_array_begin(&j, "list");
	json_put_bool(&j, NULL, true);
	json_object_begin(&j, NULL);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	assert_string_equal(out.data, "{\n  \"q\\\"\": \"a\\\\b\\n\\t\\u0001\\u007f\",\n"
	                              "  \"bad\": \"x\xef\xbf\xbdy\",\n  \"none\": null,\n"
	                              "  \"list\": [\n    true,\n    {}\n  ]\n}");
	str_release(&out);
}

static void csv_follows_rfc_4180(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf"
		"a,b,c\r\n1,\"two, with \"\"quotes\"\"\nand a line\",3\r\n\r\n,,\n";
	struct csv csv;
	struct error err = {0};

	(void)state;
	assert_int_equal(csv_parse(&csv, "f.csv", text, strlen(text), &err), ST_OK);
	assert_int_equal(csv.n_columns, 3);
	assert_int_equal(csv.n_rows, 2);
	assert_string_equal(csv_field(&csv, 0, "b"), "two, with \"quotes\"\nand a line");
	assert_string_equal(csv_field(&csv, 1, "c"), "");
	assert_int_equal(csv.lines[0], 2);
	assert_int_equal(csv.lines[1], 5);
	assert_null(csv_field(&csv, 0, "d"));
	csv_release(&csv);
}

static void csv_errors_name_the_line(void **state)
{
	static const struct {
		const char *text;
		const char *what;
	} rows[] = {
		{"", "f.csv: empty"},
		{"a,b\n1,2\n1,2,3\n", "f.csv:3: 3 fields, the header has 2"},
		{"a,b\n1,\"x\n\n", "f.csv:2: a quoted field begins here"},
		{"a,a\n", "column \"a\" twice"},
		{"a,b\n\"x\"y,2\n", "f.csv:2: text after a closing quote"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct csv csv;
		struct error err = {0};

		assert_int_not_equal(
			csv_parse(&csv, "f.csv", rows[i].text, strlen(rows[i].text), &err), ST_OK);
		if (!strstr(str_text(&err.text), rows[i].what))
			fail_msg("%s: got %s", rows[i].text, str_text(&err.text));
		error_release(&err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_name_line_and_column),
		cmocka_unit_test(comments_keep_places),
		cmocka_unit_test(places_survive_awkward_values),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(what_people_write_is_utf_8),
		cmocka_unit_test(counters_beyond_2_53_are_strings),
		cmocka_unit_test(the_writer_escapes),
		cmocka_unit_test(csv_follows_rfc_4180),
		cmocka_unit_test(csv_errors_name_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
