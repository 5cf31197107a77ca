/* The files of configs/ against each other: every requirement of the guides is
 * a rule or excluded with a reason, every metric exists, the facts agree with
 * themselves. Each check returns what is wrong, so that a test can show that
 * it finds it. Bands are in test_bands.c. */
#include "tests/unit/config_fixture.h"

#include <math.h>

#include "base/unit.h"

/* --- profiles ---------------------------------------------------------------------- */

static void every_profile_loads(void **state)
{
	int n = 0;

	(void)state;
	for (char **name = profiles; *name; name++, n++) {
		struct profile *p = config_profile(*name);

		assert_string_equal(profile_name(p), *name);
		assert_true((strcmp(*name, BASE) == 0) == (p->card_row < 0));
		assert_int_equal(p->n_criteria, 5);
		for (int i = 0; i < 5; i++)
			assert_string_equal(p->criteria[i].id,
			                    ((const char *[]){"1", "2", "S", "3", "4"})[i]);
		profile_free(p);
	}
	assert_int_equal(n, 9);
}

/* A literal rule shows the guide's figure and decides nothing; its sound twin
 * judges the same requirement. */
static void literal_rules_have_a_sound_twin(void **state)
{
	int literals = 0;

	(void)state;
	for (char **name = profiles; *name; name++) {
		struct profile *p = config_profile(*name);

		for (int i = 0; i < p->n_rules; i++) {
			const struct rule_info *r = &p->rules[i].info;
			const struct rule *twin;

			if (r->reading != RULE_LITERAL)
				continue;
			literals++;
			twin = config_rule(p, r->twin);
			assert_non_null(twin);
			assert_int_equal(twin->info.reading, RULE_SOUND);
			assert_string_equal(twin->info.criterion, r->criterion);
			assert_true(twin->info.stage == r->stage);
			assert_false(r->required);
		}
		profile_free(p);
	}
	assert_true(literals > 0);
}

static void cards_without_nvlink_owe_none(void **state)
{
	static const struct {
		const char *profile;
		bool expected;
	} rows[] = {{"a100-sxm4-80gb", true},
	            {"h20", true},
	            {"a100-pcie-80gb", false},
	            {"l40s", false},
	            {"rtx-4090", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = config_profile(rows[i].profile);

		assert_int_equal(p->expect[HAS_NVLINK], rows[i].expected);
		for (int r = 0; r < p->n_rules; r++) {
			const struct rule *rule = &p->rules[r];

			if (str_starts(rule->metric->name, "nvlink_") &&
			    rule->info.reading == RULE_SOUND)
				assert_true(rule->when.has & (1u << HAS_NVLINK));
			if (str_starts(rule->metric->name, "jitter_"))
				assert_true(rule->when.has & (1u << HAS_CARD));
		}
		profile_free(p);
	}
}

/* --- the guides ------------------------------------------------------------------------ */

static int claim_row(const char *id)
{
	for (int r = 0; r < claims.n_rows; r++)
		if (strcmp(csv_field(&claims, r, "id"), id) == 0)
			return r;
	return -1;
}

/* Marks what the words of `text` name; says what is no requirement. */
static void mark_rows(const char *text, int bit, int *marks, struct str *wrong)
{
	struct str word = {0};

	while (config_word(&text, &word)) {
		int row = claim_row(word.data);

		if (row < 0)
			str_addf(wrong, "%s: no such row\n", word.data);
		else if (strcmp(csv_field(&claims, row, "kind"), "requirement") != 0)
			str_addf(wrong, "%s: no requirement\n", word.data);
		else
			marks[row] |= bit;
	}
	str_release(&word);
}

static void claims_check(const cJSON *root, struct str *wrong)
{
	int *marks = calloc((size_t)claims.n_rows, sizeof(*marks));
	const cJSON *item;

	assert_non_null(marks);
	for (item = json_get(root, "rules")->child; item; item = item->next)
		mark_rows(json_string(item, "source", ""), 1, marks, wrong);
	for (item = json_get(root, "excluded")->child; item; item = item->next) {
		mark_rows(json_string(item, "row", "?"), 2, marks, wrong);
		if (!*json_string(item, "reason", ""))
			str_add(wrong, "excluded without a reason\n");
	}
	for (int r = 0; r < claims.n_rows; r++) {
		bool due = strcmp(csv_field(&claims, r, "kind"), "requirement") == 0;

		if (due && !marks[r])
			str_addf(wrong, "%s: neither rule nor excluded\n",
			         csv_field(&claims, r, "id"));
		if (marks[r] == 3)
			str_addf(wrong, "%s: rule and excluded\n", csv_field(&claims, r, "id"));
	}
	free(marks);
}

static void every_requirement_is_a_rule_or_excluded(void **state)
{
	struct json_doc doc = config_json("profiles/" BASE ".json");
	struct str wrong = {0};

	(void)state;
	claims_check(doc.root, &wrong);
	assert_string_equal(str_text(&wrong), "");
	json_release(&doc);
}

static void missing_and_invented_rows_are_found(void **state)
{
	struct json_doc doc =
		config_parse("{\"rules\":[{\"source\":\"S005 S999 S001\"},{\"source\":\"S012\"}],"
	                     "\"excluded\":[{\"row\":\"S012\",\"reason\":\"\"}]}");
	struct str wrong = {0};

	(void)state;
	claims_check(doc.root, &wrong);
	assert_non_null(strstr(str_text(&wrong), "S999: no such row"));
	assert_non_null(strstr(str_text(&wrong), "S001: no requirement"));
	assert_non_null(strstr(str_text(&wrong), "S012: rule and excluded"));
	assert_non_null(strstr(str_text(&wrong), "without a reason"));
	assert_non_null(strstr(str_text(&wrong), "S007: neither rule nor excluded"));
	assert_null(strstr(str_text(&wrong), "S005"));
	json_release(&doc);
	str_release(&wrong);
}

/* Whether one of the figures in a threshold like ">=1000K" or "3.5-20" is
 * `limit`; per cent are fractions in rules. */
static bool threshold_has(const char *text, const char *unit, double limit)
{
	double scale = strcmp(unit, "%") == 0 ? 0.01 : 1;

	while (*(text += strcspn(text, "0123456789"))) {
		char *end;
		double value = strtod(text, &end) * scale;

		if (*end == 'K')
			value *= 1000;
		if (fabs(value - limit) <= 1e-9 * fabs(limit))
			return true;
		text = end;
	}
	return false;
}

static bool limit_is_the_guides(const struct rule *rule)
{
	const char *source = rule->info.source;
	struct str word = {0};
	bool found = false;

	while (!found && config_word(&source, &word)) {
		int row = claim_row(word.data);

		found = threshold_has(csv_field(&claims, row, "threshold"),
		                      csv_field(&claims, row, "unit"), rule->limit.number);
	}
	str_release(&word);
	return found;
}

static void literal_limits_are_the_guides_figures(void **state)
{
	struct profile *p = config_profile(BASE);
	int n = 0;

	(void)state;
	for (int i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->info.reading != RULE_LITERAL ||
		    (rule->limit.kind != LIMIT_MIN && rule->limit.kind != LIMIT_MAX))
			continue;
		n++;
		if (!limit_is_the_guides(rule))
			fail_msg("%s: no figure of %s", rule->info.id, rule->info.source);
	}
	assert_int_equal(n, 10);
	assert_true(threshold_has(">=1000K", "IOPS", 1e6) && threshold_has("3.5-20", "-", 20));
	assert_false(threshold_has(">=90", "%", 0.85) || threshold_has("3 gates", "-", 300));
	profile_free(p);
}

/* --- metrics ----------------------------------------------------------------------------- */

static bool in_built_probe(const char *name)
{
	for (const struct metric *const *t = tables; *t; t++)
		for (const struct metric *m = *t; m->name; m++)
			if (strcmp(m->name, name) == 0)
				return true;
	return false;
}

/* The unit stands in the name, except for words, counts and shares. */
static bool name_has_unit(const struct metric *m)
{
	static const char *const rows[][2] = {
		{"TFLOP/s", "_tflops"},
		{"TFLOP/s/GHz", "_ghz"},
		{"GB/s", "_gbs"},
		{"Gb/s", "_gbps"},
		{"us", "_us"},
		{"ms", "_ms"},
		{"s", "_s"},
		{"min", "_min"},
		{"MHz", "_mhz"},
		{"MiB", "_mib"},
		{"CNY", "_cny"},
		{"CNY/h", "_cny"},
		{"1", ""},
		{"text", ""},
		{"IOPS", "_iops"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i][0], m->unit) == 0)
			return strstr(m->name, rows[i][1]) != NULL;
	return false;
}

static void planned_metrics_are_named_well_and_once(void **state)
{
	(void)state;
	for (const struct metric *m = planned; m->name; m++) {
		if (in_built_probe(m->name))
			fail_msg("%s: a probe has it; take the row out of planned.def", m->name);
		assert_true(m->name[strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_")] ==
		            '\0');
		if (!name_has_unit(m))
			fail_msg("%s: no unit %s in its name", m->name, m->unit);
		assert_true(strlen(m->formula) > 10);
		assert_true(m->backend != BACKEND_CPU);
		for (const struct metric *other = planned; other < m; other++)
			assert_string_not_equal(other->name, m->name);
	}
}

static bool rule_names(const struct rule *rule, const char *name)
{
	const struct at_point *at = rule->at_point;

	if (strcmp(rule->metric->name, name) == 0 ||
	    (rule->limit.of_metric && strcmp(rule->limit.of_metric->name, name) == 0) ||
	    (at && at->maximize && strcmp(at->maximize->name, name) == 0))
		return true;
	for (int i = 0; at && i < at->n_subject_to; i++)
		if (strcmp(at->subject_to[i].metric->name, name) == 0)
			return true;
	return false;
}

static void no_planned_metric_is_idle(void **state)
{
	struct profile *p = config_profile(BASE);

	(void)state;
	for (const struct metric *m = planned; m->name; m++) {
		bool used = false;

		for (int i = 0; i < p->n_rules && !used; i++)
			used = rule_names(&p->rules[i], m->name);
		for (int i = 0; i < p->n_noise && !used; i++)
			used = strcmp(p->noise[i].metric, m->name) == 0;
		if (!used)
			fail_msg("%s: no rule uses it", m->name);
	}
	profile_free(p);
}

static void noise_is_small_and_of_known_metrics(void **state)
{
	struct profile *p = config_profile(BASE);
	struct json_doc doc = config_json("noise/healthy.json");
	const cJSON *row;

	(void)state;
	assert_true(p->n_noise >= 5);
	for (int i = 0; i < p->n_noise; i++) {
		assert_non_null(metric_find(&metrics, p->noise[i].metric, NULL));
		assert_true(p->noise[i].sd > 0 && p->noise[i].sd <= 0.03);
	}
	for (row = json_get(doc.root, "within")->child; row; row = row->next) {
		assert_non_null(metric_find(&metrics, row->string, NULL));
		assert_true(json_number(row, "sigma_max", 1) <= 0.003);
	}
	json_release(&doc);
	profile_free(p);
}

/* --- facts --------------------------------------------------------------------------------- */

/* Rated peaks against units x clock x rate; the FP64 tensor rating belongs to
 * the same clock as FP32. Cards without a clock of their own for tensor units
 * are compared at the other one: that is what `consistency` flags. */
static const struct {
	const char *column, *clock, *rate, *flag;
} peaks[] = {
	{"fp64_tflops", "boost_clock_nontensor_mhz", "rate_fp64", "fp64"},
	{"fp64_tensor_tflops", "boost_clock_nontensor_mhz", "rate_fp64_tensor", "fp64"},
	{"fp32_tflops", "boost_clock_nontensor_mhz", "rate_fp32", "fp32"},
	{"tf32_tensor_tflops", "boost_clock_tensor_mhz", "rate_tf32", "tf32"},
	{"fp16_tensor_tflops", "boost_clock_tensor_mhz", "rate_fp16", "fp16"},
	{"bf16_tensor_tflops", "boost_clock_tensor_mhz", "rate_fp16", "fp16"},
	{"fp8_tflops", "boost_clock_tensor_mhz", "rate_fp8", "fp8"},
	{"fp4_tflops", "boost_clock_tensor_mhz", "rate_fp4", "fp4"},
	{"int8_tops", "boost_clock_tensor_mhz", "rate_int8", "int8"},
};

static double cell(const struct csv *table, int row, const char *column)
{
	double value;

	return parse_double(csv_field(table, row, column), &value) ? value : NAN;
}

static int peaks_check(const struct csv *table, struct str *wrong)
{
	int compared = 0;

	for (int r = 0; r < table->n_rows; r++) {
		for (size_t i = 0; i < sizeof(peaks) / sizeof(*peaks); i++) {
			double clock = cell(table, r, peaks[i].clock), peak;

			if (isnan(clock))
				clock = cell(table, r, "boost_clock_nontensor_mhz");
			peak = cell(table, r, "sm_count") * clock * cell(table, r, peaks[i].rate) /
			       1e6;
			peak /= cell(table, r, peaks[i].column);
			if (isnan(peak))
				continue;
			compared++;
			if (fabs(peak - 1) > 0.02 &&
			    !strstr(csv_field(table, r, "consistency"), peaks[i].flag))
				str_addf(wrong, "%s %s: %+.1f %%, not flagged\n",
				         csv_field(table, r, "key"), peaks[i].column,
				         (peak - 1) * 100);
		}
	}
	return compared;
}

static void rated_peaks_agree_with_units_clock_and_rate(void **state)
{
	struct str wrong = {0};

	(void)state;
	assert_true(peaks_check(&accelerators, &wrong) > 200);
	assert_string_equal(str_text(&wrong), "");
}

static void a_wrong_peak_is_found(void **state)
{
	static const char text[] =
		"key,sm_count,boost_clock_nontensor_mhz,boost_clock_tensor_mhz,consistency,"
		"fp64_tflops,fp64_tensor_tflops,fp32_tflops,tf32_tensor_tflops,fp16_tensor_tflops,"
		"bf16_tensor_tflops,fp8_tflops,fp4_tflops,int8_tops,rate_fp64,rate_fp64_tensor,"
		"rate_fp32,rate_tf32,rate_fp16,rate_fp8,rate_fp4,rate_int8\n"
		"a,108,1410,1410,ok,,,39,,312,,,,,,,128,,2048,,,\n"
		"b,108,1410,,flag: fp16 +9%,,,,,280,,,,,,,128,,2048,,,\n";
	struct csv table;
	struct str wrong = {0};

	(void)state;
	assert_int_equal(csv_parse(&table, "t.csv", text, strlen(text), NULL), ST_OK);
	assert_int_equal(peaks_check(&table, &wrong), 3);
	assert_string_equal(str_text(&wrong), "a fp32_tflops: -50.0 %, not flagged\n");
	str_release(&wrong);
	csv_release(&table);
}

static void cards_are_told_apart(void **state)
{
	(void)state;
	for (int a = 0; a < accelerators.n_rows; a++) {
		const char *links = csv_field(&accelerators, a, "nvlink_links");
		const char *fields = csv_field(&accelerators, a, "unverified_fields");
		struct str field = {0};

		for (int b = 0; b < a; b++)
			assert_string_not_equal(csv_field(&accelerators, a, "key"),
			                        csv_field(&accelerators, b, "key"));
		for (; *fields; fields += strspn(fields, ";")) {
			str_clear(&field);
			str_addn(&field, fields, strcspn(fields, ";"));
			fields += field.len;
			assert_true(csv_column(&accelerators, field.data) >= 0);
		}
		str_release(&field);
		if (*links)
			assert_true(fabs(2 * cell(&accelerators, a, "nvlink_per_dir_gbs") -
			                 cell(&accelerators, a, "nvlink_total_gbs")) < 0.01);
	}
	assert_int_equal(accelerators.n_rows, 43);
	assert_int_equal(accel_guess(&accelerators, "NVIDIA A100-SXM4-80GB"),
	                 accel_row(&accelerators, "a100-sxm4-80gb"));
	assert_int_equal(accel_guess(&accelerators, "NVIDIA H200"),
	                 accel_row(&accelerators, "h200-sxm-141gb"));
	assert_int_equal(accel_guess(&accelerators, "NVIDIA A100-SXM4-80GB MIG 1g.10gb"), -1);
}

/* --- schema --------------------------------------------------------------------------------- */

static void same_words(const cJSON *object, const char *const *words)
{
	int n = 0;

	for (; words[n]; n++)
		if (!json_get(object, words[n]))
			fail_msg("the schema lacks \"%s\"", words[n]);
	assert_int_equal(cJSON_GetArraySize(object), n);
}

static void the_schema_knows_what_the_reader_knows(void **state)
{
	static const char *const stats[] = {
		"value",
#define X(name, text) text,
		STAT_LIST(X)
#undef X
			NULL,
	};
	struct json_doc doc = config_json("schemas/profile.schema.json");
	const cJSON *parts = json_get(doc.root, "definitions");
	const cJSON *list = json_get(json_get(parts, "stat"), "enum");
	int i = 0;

	(void)state;
	same_words(json_get(json_get(parts, "rule"), "properties"), rule_key_names);
	for (const cJSON *c = list->child; c; c = c->next, i++)
		assert_string_equal(c->valuestring, stats[i] ? stats[i] : "");
	assert_null(stats[i]);
	json_release(&doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_profile_loads),
		cmocka_unit_test(literal_rules_have_a_sound_twin),
		cmocka_unit_test(cards_without_nvlink_owe_none),
		cmocka_unit_test(every_requirement_is_a_rule_or_excluded),
		cmocka_unit_test(missing_and_invented_rows_are_found),
		cmocka_unit_test(literal_limits_are_the_guides_figures),
		cmocka_unit_test(planned_metrics_are_named_well_and_once),
		cmocka_unit_test(no_planned_metric_is_idle),
		cmocka_unit_test(noise_is_small_and_of_known_metrics),
		cmocka_unit_test(rated_peaks_agree_with_units_clock_and_rate),
		cmocka_unit_test(a_wrong_peak_is_found),
		cmocka_unit_test(cards_are_told_apart),
		cmocka_unit_test(the_schema_knows_what_the_reader_knows),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
