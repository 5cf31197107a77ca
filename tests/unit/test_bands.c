/* Limits that rest on published measurements, recomputed from measured.csv:
 * bands of achieved fractions, links and rings. */
#include "tests/unit/config_fixture.h"

#include <math.h>
#include <strings.h>

#include "base/unit.h"

static const cJSON *find_rule(const cJSON *root, const char *id)
{
	for (const cJSON *r = json_get(root, "rules")->child; r; r = r->next)
		if (strcmp(json_string(r, "id", ""), id) == 0)
			return r;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double sorted_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* --- links ------------------------------------------------------------------------------------ */

/* The figures healthy links and rings reach, as the notes name them. */
static void link_limits_follow_from_what_was_measured(void **state)
{
	static const struct {
		const char *profile, *rule, *card, *metric;
		double figure; /* 0: median of the rows; else in the conditions of a row */
	} rows[] = {
		{"a100-sxm4-80gb", "nvlink-oneway", "a100-sxm4-80gb", "p2p_unidir", 0},
		{"h100-sxm5-80gb", "nvlink-oneway", "h100-sxm5-80gb", "p2p_unidir", 0},
		{"h200-sxm", "nvlink-oneway", "h200-sxm-141gb", "p2p_unidir", 0},
		{"a100-sxm4-80gb", "allreduce-node", "a100-8gpu", "nccl_allreduce_busbw", 0},
		{"h100-sxm5-80gb", "allreduce-node", "h100-8gpu-ring", "nccl_allreduce_busbw", 0},
		{"h200-sxm", "allreduce-node", "h200-8gpu", "nccl_allreduce_busbw", 367.2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = config_profile(rows[i].profile);
		double v[8], figure;
		int n = 0;
		bool named = rows[i].figure == 0;

		for (int r = 0; r < measured.n_rows; r++) {
			if (strcmp(csv_field(&measured, r, "card"), rows[i].card) != 0 ||
			    strcmp(csv_field(&measured, r, "metric"), rows[i].metric) != 0)
				continue;
			assert_true(n < 8 &&
			            parse_double(csv_field(&measured, r, "value"), &v[n++]));
			named |= strstr(csv_field(&measured, r, "conditions"),
			                fmt_value(rows[i].figure)) != NULL;
		}
		assert_true(n > 0 && named);
		figure = rows[i].figure > 0 ? rows[i].figure : sorted_median(v, n);
		assert_true(fabs(config_rule(p, rows[i].rule)->limit.number - 0.92 * figure) <
		            0.06);
		profile_free(p);
	}
}

/* --- bands --------------------------------------------------------------------------------- */

/* What a row of measured.csv says about a healthy card, or NULL: estimates,
 * defaults of other tools and results of slow kernels are none. FP16 and BF16
 * run on the same units at the same rate. */
static const char *healthy_figure(int row)
{
	static const char *const kinds[][2] = {
		{"matmul_fp32_true", "fp32"},      {"sgemm_cublas_fp32", "fp32"},
		{"cublas_fp32_8192", "fp32"},      {"matmul_tf32", "tf32"},
		{"cublas_tf32_8192", "tf32"},      {"matmul_fp16", "fp16"},
		{"matmul_bf16", "fp16"},           {"cublas_fp16_8192", "fp16"},
		{"matmul_bf16_mamf_mean", "fp16"}, {"gpufryer_bf16", "fp16"},
		{"matmul_fp8_mamf_mean", "fp8"},   {"gpufryer_fp8", "fp8"},
		{"deepgemm_fp8", "fp8"},           {"hbm_d2d", "memory"},
		{"stream_triad", "memory"},
	};
	const char *metric = csv_field(&measured, row, "metric");

	if (strcmp(metric, "gpufryer_fp32") == 0)
		return strstr(csv_field(&measured, row, "conditions"), "TF32") ? "tf32" : "fp32";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(metric, kinds[i][0]) == 0)
			return kinds[i][1];
	return NULL;
}

static const char *figure_of_column(const char *column)
{
	static const char *const rows[][2] = {
		{"fp32_tflops", "fp32"},        {"tf32_tensor_tflops", "tf32"},
		{"fp16_tensor_tflops", "fp16"}, {"bf16_tensor_tflops", "fp16"},
		{"fp8_tflops", "fp8"},          {"mem_bw_gbs", "memory"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i][0], column) == 0)
			return rows[i][1];
	return NULL;
}

struct band {
	const char *card; /* NULL: of any card */
	const char *column, *figure;
	bool used[512];   /* rows of measured.csv */
	double share[64]; /* of the rated figure */
	int n;
	struct str *wrong;
};

static double share_of_row(int row, const char *column)
{
	int card = accel_row(&accelerators, csv_field(&measured, row, "card"));
	double value, rated;

	if (card < 0 || !parse_double(csv_field(&measured, row, "value"), &value) ||
	    !parse_double(csv_field(&accelerators, card, column), &rated))
		return NAN;
	return value / rated;
}

/* A row of another card counts where it says that this one is the same. */
static bool row_counts(const struct band *b, int row, const char *card)
{
	const char *same = strstr(csv_field(&measured, row, "conditions"), " is the same");
	size_t len;

	if (!b->card || strcmp(card, b->card) == 0)
		return true;
	len = strcspn(b->card, "-");
	if (!same || (size_t)(same - csv_field(&measured, row, "conditions")) < len)
		return false;
	return strncasecmp(same - len, b->card, len) == 0;
}

static void cite(struct band *b, const char *project, const char *card, const char *metric,
                 const char *value)
{
	for (int r = 0; r < measured.n_rows; r++) {
		const char *figure = healthy_figure(r);

		if (b->used[r] || strcmp(csv_field(&measured, r, "card"), card) != 0 ||
		    strcmp(csv_field(&measured, r, "metric"), metric) != 0 ||
		    strcmp(csv_field(&measured, r, "value"), value) != 0 ||
		    !str_starts(csv_field(&measured, r, "source"), project) ||
		    !row_counts(b, r, card) || !figure || !b->figure ||
		    strcmp(figure, b->figure) != 0)
			continue;
		b->used[r] = true;
		b->share[b->n++] = share_of_row(r, b->column);
		return;
	}
	str_addf(b->wrong, "%s: %s %s %s is not in measured.csv\n", project, card, metric, value);
}

/* "project: card metric value value, metric value" */
static void read_source(struct band *b, const char *text)
{
	struct str word = {0}, card = {0}, metric = {0}, project = {0};
	const char *colon = strstr(text, ": ");
	double ignored;

	str_addn(&project, text, colon ? (size_t)(colon - text) : 0);
	text = colon ? colon + 2 : text;
	while (config_word(&text, &word)) {
		if (parse_double(word.data, &ignored)) {
			cite(b, str_text(&project), str_text(&card), str_text(&metric), word.data);
			continue;
		}
		struct str *to = accel_row(&accelerators, word.data) >= 0 ? &card : &metric;

		str_clear(to);
		str_add(to, word.data);
	}
	str_release(&word);
	str_release(&card);
	str_release(&metric);
	str_release(&project);
}

/* Nobody picks the figures: all of the card are cited; of the base, the lowest
 * of any card. */
static void check_choice(struct band *b)
{
	for (int r = 0; r < measured.n_rows; r++) {
		const char *figure = healthy_figure(r), *card = csv_field(&measured, r, "card");
		double share = share_of_row(r, b->column);

		if (!figure || !b->figure || strcmp(figure, b->figure) != 0 || b->used[r])
			continue;
		if (b->card && strcmp(card, b->card) == 0)
			str_addf(b->wrong, "%s %s is not cited\n", card,
			         csv_field(&measured, r, "metric"));
		if (!b->card && share < b->share[0])
			str_addf(b->wrong, "%s %s is lower\n", card,
			         csv_field(&measured, r, "metric"));
	}
}

static void check_projects(const cJSON *sources, struct str *wrong)
{
	for (const cJSON *a = sources->child; a; a = a->next)
		for (const cJSON *b = a->next; b; b = b->next)
			if (strncmp(a->valuestring, b->valuestring,
			            strcspn(a->valuestring, ":") + 1) == 0)
				str_addf(wrong, "%s: one project counted twice\n", b->valuestring);
}

static void band_check(const char *card, const cJSON *fraction, struct str *wrong)
{
	struct band b = {.card = card, .column = json_string(fraction, "of", ""), .wrong = wrong};
	const cJSON *sources = json_get(fraction, "sources"), *s;
	double h = json_number(fraction, "h", NAN), median;

	b.figure = figure_of_column(b.column);
	assert_true(measured.n_rows < 512);
	check_projects(sources, wrong);
	for (s = sources->child; s; s = s->next)
		read_source(&b, s->valuestring);
	if (b.n == 0 && b.figure)
		str_addf(wrong, "%s: figures there are, and none cited\n", b.column);
	if (b.n == 0)
		return;
	median = sorted_median(b.share, b.n);
	check_choice(&b);
	if (!(fabs(h - median) <= 0.00006))
		str_addf(wrong, "%s: h is %.4f, the sources give %.4f\n", b.column, h, median);
}

static void bands_are_what_their_sources_give(void **state)
{
	int n = 0;

	(void)state;
	for (char **name = profiles; *name; name++) {
		struct json_doc doc = config_json(tmpf("profiles/%s.json", *name));
		struct str wrong = {0};
		const cJSON *rule;

		for (rule = json_get(doc.root, "rules")->child; rule; rule = rule->next) {
			const cJSON *fraction = json_get(rule, "fraction_of");

			if (!json_get(fraction, "h"))
				continue;
			n++;
			band_check(json_string(doc.root, "card", NULL), fraction, &wrong);
			if (wrong.len)
				fail_msg("%s %s: %s", *name, json_string(rule, "id", ""),
				         wrong.data);
		}
		json_release(&doc);
	}
	assert_true(n > 30);
}

/* Every figure of a card that a rule could use is used. */
static void no_band_is_forgotten(void **state)
{
	static const char *const rows[][2] = {
		{"fp32", "gemm-fp32"}, {"tf32", "gemm-tf32"}, {"fp16", "gemm-fp16"},
		{"fp16", "gemm-bf16"}, {"fp8", "gemm-fp8"},   {"memory", "memory-bandwidth"}};

	(void)state;
	for (char **name = profiles; *name; name++) {
		struct json_doc doc = config_json(tmpf("profiles/%s.json", *name));
		const char *card = json_string(doc.root, "card", "");

		for (int r = 0; r < measured.n_rows; r++) {
			const char *figure = healthy_figure(r);

			if (!figure || strcmp(csv_field(&measured, r, "card"), card) != 0)
				continue;
			for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
				if (strcmp(rows[i][0], figure) == 0)
					assert_non_null(find_rule(doc.root, rows[i][1]));
		}
		json_release(&doc);
	}
}

static void wrong_bands_are_found(void **state)
{
	static const struct {
		const char *card, *column;
		double h;
		const char *source, *says;
	} rows[] = {
		{"h20-96gb", "tf32_tensor_tflops", 0.9,
	         "zzc0721/torch-performance-test-data: h20-96gb matmul_tf32 71.8",
	         "h is 0.9000, the sources give 0.9703"},
		{"h20-96gb", "fp32_tflops", 0.7261,
	         "zzc0721/torch-performance-test-data: h20-96gb matmul_fp32_true 31.95",
	         "matmul_fp32_true is not cited"},
		{"h20-96gb", "fp32_tflops", 1,
	         "zzc0721/torch-performance-test-data: h20-96gb matmul_fp32_true 44",
	         "44 is not in measured.csv"},
		{"h20-96gb", "tf32_tensor_tflops", 1, "a/b: h20-96gb matmul_tf32 71.8",
	         "a/b: h20-96gb matmul_tf32 71.8 is not in measured.csv"},
		{"h20-96gb", "fp8_tflops", 1,
	         "stas00/ml-engineering: h100-sxm5-80gb matmul_fp8_mamf_mean 1402.6",
	         "is not in measured.csv"},
		{"h20-96gb", "fp8_tflops", 1, "x: y 1\",\"x: z 2",
	         "x: z 2: one project counted twice"},
		{"h20-96gb", "fp32_tflops", 0.7, NULL, "none cited"},
		{NULL, "tf32_tensor_tflops", 0.9703,
	         "zzc0721/torch-performance-test-data: h20-96gb matmul_tf32 71.8",
	         "l4 matmul_tf32 is lower"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *quote = rows[i].source ? "\"" : "";
		struct json_doc doc = config_parse(
			tmpf("{\"of\":\"%s\",\"h\":%g,\"sources\":[%s%s%s]}", rows[i].column,
		             rows[i].h, quote, rows[i].source ? rows[i].source : "", quote));
		struct str wrong = {0};

		band_check(rows[i].card, doc.root, &wrong);
		if (!strstr(str_text(&wrong), rows[i].says))
			fail_msg("%s: got %s", rows[i].says, str_text(&wrong));
		str_release(&wrong);
		json_release(&doc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_limits_follow_from_what_was_measured),
		cmocka_unit_test(bands_are_what_their_sources_give),
		cmocka_unit_test(no_band_is_forgotten),
		cmocka_unit_test(wrong_bands_are_found),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
