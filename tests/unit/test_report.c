/* Scorecards made by hand, printed: against golden files, and against what must
 * hold for any scorecard (width, ASCII, colours, no escape sequence of a host). */
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/msg.h"
#include "report/report.h"
#include "report/words.h"
#include "report_kit.h"

#define GOLDEN TESTS_DIR "/unit/data/report/"

/* --- what always holds ------------------------------------------------------------ */

static void assert_fits(const char *text, int width)
{
	char *copy = strdup(text), *save = NULL;

	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (words_columns(l) > width)
			fail_msg("wider than %d: %s", width, l);
		if (*l && l[strlen(l) - 1] == ' ')
			fail_msg("blanks at the end of: %s|", l);
	}
	free(copy);
}

static void assert_clean(const char *text, bool ascii)
{
	for (const char *p = text, *end = text + strlen(text); p < end;) {
		int n = utf8_len(p, end);

		assert_int_not_equal(n, 0);
		if (n == 1 && *p != '\n')
			assert_in_range(*p, 0x20, 0x7e);
		if (ascii)
			assert_int_equal(n, 1);
		p += n;
	}
	assert_null(strstr(text, "\xe2\x80\xae"));
}

static void check_everywhere(const struct scorecard *card)
{
	static const int widths[] = {80, 61, 40, 20, 0};

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		for (int k = 0; k < 4; k++) {
			struct report_options o = plain(widths[i]);
			bool utf8 = k % 2 == 1;
			struct str out;

			o.utf8 = utf8;
			msg_speak(k / 2 ? LANGUAGE_ZH : LANGUAGE_EN);
			out = print("terminal", card, o);
			msg_speak(LANGUAGE_EN);
			assert_fits(out.data, widths[i] == 0   ? 80
			                      : widths[i] < 40 ? 40
			                                       : widths[i]);
			assert_clean(out.data, !utf8);
			str_release(&out);
		}
	}
}

static void check_golden(const char *name, const struct scorecard *card, int width)
{
	char *file = strdup(tmpf(GOLDEN "%s-%d.txt", name, width));
	struct str out = print("terminal", card, plain(width)), want = {0};
	struct error err = {0};

	if (getenv("ASSAY_REWRITE"))
		assert_int_equal(file_write(file, out.data, out.len, &err), ST_OK);
	if (file_read(&want, file, 1 << 20, &err) != ST_OK)
		fail_msg("%s is missing (ASSAY_REWRITE=1 writes it)", file);
	assert_string_equal(out.data, str_text(&want));
	check_everywhere(card);
	str_release(&out);
	str_release(&want);
	free(file);
}

static void assert_says(const struct scorecard *card, const char *text, bool said)
{
	struct str out = print("terminal", card, plain(80));

	if ((strstr(out.data, text) != NULL) != said)
		fail_msg("\"%s\" %s in:\n%s", text, said ? "missing" : "present", out.data);
	str_release(&out);
}

/* --- a failed acceptance of 1,000 cards ------------------------------------------- */

#define CARDS 1000

struct failed {
	struct rule_info gemm, steady, pair, iops, literal, pytorch, bill;
	struct finding f[3 * CARDS + 16];
	const struct finding *culprits[8];
	struct rule_result results[7];
	struct criterion_result criteria[5];
	struct reading point;
	char ids[CARDS][16], nodes[CARDS / 8][8], pci[8][16];
	struct scorecard card;
};

static void failed_cards(struct failed *x, int64_t *n, const struct rule_info *rule, int bad,
                         double good, double value, double limit)
{
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < CARDS; i++) {
			struct finding f = finding_of(rule, SUBJECT_CARD, x->ids[i],
			                              x->nodes[i / 8], VERDICT_PASS);

			if ((i == bad) == (pass == 1))
				continue;
			f.subject.index = i % 8;
			f.subject.pci = x->pci[i % 8];
			f = with_value(f, i == bad ? value : good + (i % 7 - 3) * good / 300,
			               limit);
			f.verdict = i == bad ? VERDICT_FAIL : VERDICT_PASS;
			x->f[(*n)++] = f;
		}
	}
}

static void failed_names(struct failed *x)
{
	for (int i = 0; i < CARDS; i++)
		snprintf(x->ids[i], sizeof(x->ids[i]), "GPU-%04x", 0x1000 + i);
	for (int i = 0; i < CARDS / 8; i++)
		snprintf(x->nodes[i], sizeof(x->nodes[i]), "n%03d", i + 1);
	for (int i = 0; i < 8; i++)
		snprintf(x->pci[i], sizeof(x->pci[i]), "0000:%02x:00.0", 0x17 + 0x10 * i);
}

static void failed_findings(struct failed *x, int64_t *n)
{
	struct finding f;

	failed_cards(x, n, &x->gemm, 16 * 8 + 3, 268, 201, 255);
	x->f[0] = with_why(x->f[0], "fleet_worse", "power capped at 300 of 400 W during the run",
	                   "ask the vendor to restore the limit");
	x->culprits[0] = &x->f[0];
	x->culprits[1] = &x->f[*n];
	failed_cards(x, n, &x->steady, 89 * 8, 0.004, 0.031, 0.01);
	x->f[CARDS] = with_why(x->f[CARDS], "f95_near", NULL, "look for throttling on this card");
	f = finding_of(&x->pair, SUBJECT_PAIR, NULL, NULL, VERDICT_FAIL);
	f.subject.ends[0] = (struct subject_end){.node = "n044", .nic = "mlx5_3", .port = 1};
	f.subject.ends[1] = (struct subject_end){.node = "n045", .nic = "mlx5_3", .port = 1};
	f.subject.n_ends = 2;
	x->culprits[2] = &x->f[*n];
	x->f[(*n)++] = with_why(with_value(f, 11.8, 22.9), "pair", "with all 16 partners tried",
	                        "this NIC or its cable, not the fabric");
	f = with_value(finding_of(&x->iops, SUBJECT_PATH, "/data", "n001", VERDICT_FAIL), 610000,
	               1e6);
	f.evidence = &x->point;
	x->culprits[3] = &x->f[*n];
	x->f[(*n)++] = with_why(
		f, "no_point_meets", "no operating point meets storage_read_lat_p99_ms <= 1 ms",
		"ask the vendor for a configuration that meets both figures at once");
	x->f[(*n)++] = finding_of(&x->pytorch, SUBJECT_ENVIRONMENT, "torch", "n001", VERDICT_PASS);
	f = finding_of(&x->bill, SUBJECT_CLUSTER, NULL, NULL, VERDICT_NOT_MEASURED);
	x->f[(*n)++] = with_why(f, "no_reading", "no bill yet", NULL);
}

static struct failed *failed_acceptance(void)
{
	struct failed *x = calloc(1, sizeof(*x));
	int64_t n = 0;

	assert_non_null(x);
	failed_names(x);
	x->gemm = rule_of("1.fp16", "1", "gemm_fp16_tflops", "TFLOP/s",
	                  ">= 255 TFLOP/s (0.818 of fp16_tflops 312)");
	x->steady = rule_of("1.steady", "1", "gemm_fp16_tflops", "1", "<= 0.01");
	x->steady.stat = "f95";
	x->pair = rule_of("2.pair", "2", "pair_write_gbs", "GB/s",
	                  ">= 22.9 GB/s (0.95 of nic_gbs 24.1)");
	x->iops = rule_of("S.iops", "S", "storage_read_iops", "IOPS", ">= 1000K IOPS");
	x->pytorch = rule_of("3.torch", "3", "fw_pytorch_runs", "1", "= 1");
	x->bill = rule_of("4.bill", "4", "bill_error", "%", "<= 1 %");
	x->bill.stage = RULE_PERIOD;
	x->literal =
		rule_of("1.fp16.literal", "1", "gemm_fp16_tflops", "TFLOP/s", ">= 312 TFLOP/s");
	x->literal.reading = RULE_LITERAL;
	x->literal.required = false;
	x->literal.twin = "1.fp16";
	x->point = reading_init();
	x->point.point = "depth=64";
	failed_findings(x, &n);
	x->criteria[0] = (struct criterion_result){.id = "1",
	                                           .title = "compute authenticity",
	                                           .verdict = VERDICT_FAIL,
	                                           .coverage = {2000, 2000},
	                                           .subjects = "cards"};
	x->criteria[1] = (struct criterion_result){.id = "2",
	                                           .title = "interconnect",
	                                           .verdict = VERDICT_FAIL,
	                                           .coverage = {960, 960},
	                                           .subjects = "pairs"};
	x->criteria[2] = (struct criterion_result){.id = "S",
	                                           .title = "shared storage",
	                                           .verdict = VERDICT_FAIL,
	                                           .coverage = {1, 1},
	                                           .subjects = "paths"};
	x->criteria[3] = (struct criterion_result){.id = "3",
	                                           .title = "software readiness",
	                                           .verdict = VERDICT_PASS,
	                                           .coverage = {1, 1},
	                                           .subjects = "environments"};
	x->criteria[4] = (struct criterion_result){.id = "4",
	                                           .title = "service and cost",
	                                           .verdict = VERDICT_NOT_APPLICABLE,
	                                           .has_period = true,
	                                           .period_verdict = VERDICT_NOT_MEASURED,
	                                           .period_coverage = {1, 0}};
	x->results[0] = (struct rule_result){
		.rule = &x->gemm, .coverage = {1000, 1000}, .verdict = VERDICT_FAIL};
	x->results[1] = (struct rule_result){.rule = &x->literal,
	                                     .coverage = {1000, 1000},
	                                     .verdict = VERDICT_FAIL,
	                                     .count[VERDICT_FAIL] = 1000};
	x->card = card_of(OVERALL_REJECT);
	x->card.vendor = "vendor-x";
	x->card.card = "A100-SXM4-80GB";
	x->card.expected_nodes = CARDS / 8;
	x->card.expected_cards = CARDS;
	x->card.rules = x->card.rules_judged = 5;
	x->card.criteria = x->criteria;
	x->card.n_criteria = 5;
	x->card.rule_results = x->results;
	x->card.n_rules = 2;
	x->card.findings = x->f;
	x->card.n_findings = n;
	x->card.culprits = x->culprits;
	x->card.n_culprits = 4;
	return x;
}

static void reject(void **state)
{
	struct failed *x = failed_acceptance();

	(void)state;
	check_golden("reject", &x->card, 80);
	check_golden("reject", &x->card, 40);
	assert_says(&x->card, "REJECT   2 of 1,000 cards, 1 pair of nodes, 1 storage path\n", true);
	assert_says(&x->card, "125 nodes x 8 A100-SXM4-80GB", true);
	assert_says(&x->card, "median of", true);
	assert_says(&x->card, "610K IOPS at depth=64; limit >= 1000K IOPS", true);
	free(x);
}

/* The same card blamed by two rules is one card; all missing cards of two nodes
 * are two subjects "*" that stand for several. */
static void blamed_twice(void **state)
{
	struct failed *x = failed_acceptance();

	(void)state;
	x->f[CARDS].subject = x->f[0].subject;
	x->f[CARDS].node = x->f[0].node;
	assert_says(&x->card, "REJECT   1 of 1,000 cards,", true);
	for (int i = 0; i < 2; i++) {
		x->f[i] = finding_of(&x->gemm, SUBJECT_CARD, "*", x->nodes[i], VERDICT_FAIL);
		x->f[i].subjects = 8;
		x->culprits[i] = &x->f[i];
	}
	x->card.n_culprits = 2;
	assert_says(&x->card, "REJECT   16 of 1,000 cards\n", true);
	free(x);
}

/* A thousand culprits take a few lines and a count. */
static void all_fail(void **state)
{
	struct failed *x = failed_acceptance();

	(void)state;
	for (int i = 0; i < CARDS; i++) {
		x->f[i].verdict = VERDICT_FAIL;
		x->f[i].value = 100 + (i * 37) % 100;
	}
	assert_says(&x->card, "gemm_fp16_tflops: 1,000 cards, 100 to 199 TFLOP/s", true);
	assert_says(&x->card, "fluctuation 3.10 %", true);
	check_golden("all-fail", &x->card, 80);
	free(x);
}

/* --- other scorecards ------------------------------------------------------------- */

struct small {
	struct rule_info gpu, gpu2, cpu;
	struct finding f[4];
	const struct finding *culprits[4];
	struct rule_result results[3];
	struct criterion_result criteria[2];
	struct reading info[8];
	const struct reading *information[8];
	struct scorecard card;
};

static struct reading info_of(const char *metric, const char *unit, double value)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.unit = unit;
	r.node = "laptop";
	r.probe = "host";
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = "laptop";
	r.value_kind = VALUE_NUMBER;
	r.value = value;
	return r;
}

static void small_information(struct small *x)
{
	x->info[0] = info_of("node_cpu_model", "text", 0);
	x->info[0].value_kind = VALUE_TEXT;
	x->info[0].text = "Intel(R) Xeon(R) Processor";
	x->info[1] = info_of("node_memory_gib", "GiB", 23.5);
	for (int i = 2; i < 5; i++) {
		x->info[i] = info_of("local_storage_read_iops", "IOPS", i == 2 ? 61559 : 90000);
		x->info[i].subject =
			(struct subject){.kind = SUBJECT_PATH, .id = "/var/tmp", .index = -1};
		x->info[i].point = i == 2 ? "depth=4" : "depth=16";
	}
	x->info[4].value = 95000;
	x->info[5] = info_of("node_rdma_devices", "1", 0);
	x->info[6] = info_of("node_gone", "1", 0);
	x->info[6].outcome = OUTCOME_NOT_MEASURED;
	x->info[7] = info_of("cpu_gemm_fp32_gflops", "GFLOP/s", 31.9);
	x->info[7].subject =
		(struct subject){.kind = SUBJECT_CARD, .id = "cpu-socket-0", .index = -1};
	for (int i = 0; i < 8; i++)
		x->information[i] = &x->info[i];
	x->card.information = x->information;
	x->card.n_information = 8;
}

static struct small *laptop(void)
{
	struct small *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->gpu = rule_of("1.fp16", "1", "gemm_fp16_tflops", "TFLOP/s", ">= 255 TFLOP/s");
	x->gpu2 = rule_of("1.bw", "1", "membw_triad_gbs", "GB/s", ">= 1700 GB/s");
	x->cpu = rule_of("2.clock", "2", "node_clock", "1", "= 1");
	x->f[0] = with_why(finding_of(&x->gpu, SUBJECT_CARD, "*", "laptop", VERDICT_NOT_MEASURED),
	                   "no_driver", "no NVIDIA driver (libcuda.so.1 not found)",
	                   "remove what prevents it");
	x->f[1] = x->f[0];
	x->f[1].rule = &x->gpu2;
	x->f[2] = with_value(finding_of(&x->cpu, SUBJECT_NODE, "laptop", "laptop", VERDICT_PASS), 1,
	                     1);
	for (int i = 0; i < 3; i++) {
		x->results[i] = (struct rule_result){
			.rule = x->f[i].rule, .coverage = {1, i == 2}, .verdict = x->f[i].verdict};
		x->culprits[i] = &x->f[i];
	}
	x->criteria[0] = (struct criterion_result){.id = "1",
	                                           .title = "compute authenticity",
	                                           .verdict = VERDICT_NOT_MEASURED,
	                                           .coverage = {2, 0}};
	x->criteria[1] = (struct criterion_result){
		.id = "2", .title = "interconnect", .verdict = VERDICT_PASS, .coverage = {1, 1}};
	x->card = card_of(OVERALL_INCOMPLETE);
	x->card.card_guessed = true;
	x->card.rules = 3;
	x->card.rules_judged = 1;
	x->card.criteria = x->criteria;
	x->card.n_criteria = 2;
	x->card.rule_results = x->results;
	x->card.n_rules = 3;
	x->card.findings = x->f;
	x->card.n_findings = 3;
	x->card.culprits = x->culprits;
	x->card.n_culprits = 2;
	small_information(x);
	return x;
}

static void incomplete(void **state)
{
	struct small *x = laptop();

	(void)state;
	check_golden("laptop", &x->card, 80);
	check_golden("laptop", &x->card, 40);
	assert_says(&x->card, "INCOMPLETE   1 of 3 rules judged", true);
	assert_says(&x->card, "local, depth=4 to 16, /var/tmp", true);
	assert_says(&x->card, "local_storage_read_iops", true);
	free(x);
}

static void accept(void **state)
{
	struct small *x = laptop();

	(void)state;
	x->card.overall = x->card.overall_if_measured = OVERALL_ACCEPT;
	x->card.card_guessed = false;
	x->card.rules_judged = 3;
	x->card.n_culprits = 0;
	x->f[0].verdict = x->f[1].verdict = x->criteria[0].verdict = VERDICT_PASS;
	assert_says(&x->card, "ACCEPT   3 of 3 rules judged", true);
	assert_says(&x->card, "SIMULATED", false);
	assert_says(&x->card, "REJECT", false);
	assert_says(&x->card, "not measured", false);
	free(x);
}

static void banners(void **state)
{
	struct small *x = laptop();

	(void)state;
	x->card.simulated = true;
	x->card.overall_if_measured = OVERALL_ACCEPT;
	assert_says(&x->card, "SIMULATED, would be ACCEPT", true);
	assert_says(&x->card, "\n  ACCEPT", false);
	x->card.imported = x->card.cut = x->card.screen_only = true;
	x->card.altered = "line 7 of \033[2Jreadings.jsonl";
	x->card.stage = RULE_PERIOD;
	x->criteria[1].has_period = true;
	x->criteria[1].period_verdict = VERDICT_FAIL;
	x->cpu.stage = RULE_PERIOD;
	x->f[2].verdict = VERDICT_FAIL;
	check_golden("banners", &x->card, 80);
	assert_says(&x->card, "ALTERED", true);
	assert_says(&x->card, "imported from other tools", true);
	assert_says(&x->card, "--resume", true);
	assert_says(&x->card, "can reject but never accept", true);
	assert_says(&x->card, "stage period", true);
	/* What decides in this stage is listed. */
	assert_says(&x->card, "laptop: node_clock", true);
	free(x);
}

static void gaps_count_and_name(void **state)
{
	struct failed *x = failed_acceptance();

	(void)state;
	for (int i = 997; i < CARDS; i++)
		x->f[i] =
			with_why(finding_of(&x->gemm, SUBJECT_CARD, x->ids[i], x->nodes[i / 8],
		                            VERDICT_NOT_MEASURED),
		                 "slow", "the node was too slow", "complete the run with --resume");
	assert_says(&x->card,
	            "n125: the node was too slow\n      1 rule, 3 cards: gemm_fp16_tflops", true);
	assert_says(&x->card, "-> complete the run with --resume", true);
	free(x);
}

static void literal_may_decide(void **state)
{
	struct failed *x = failed_acceptance();

	(void)state;
	assert_says(&x->card, "gemm_fp16_tflops >= 312 TFLOP/s: fails on 1,000 of 1,000", true);
	x->gemm.reading = RULE_LITERAL; /* required: it decides, so it has its lines */
	assert_says(&x->card, "gemm_fp16_tflops 201 TFLOP/s", true);
	x->gemm.required = false;
	assert_says(&x->card, "gemm_fp16_tflops 201 TFLOP/s", false);
	x->gemm.reading = RULE_SOUND;
	assert_says(&x->card, "not required: ", true);
	free(x);
}

static void empty(void **state)
{
	struct scorecard card = {0};
	static const char *const formats[] = {"terminal", "json", "csv"};

	(void)state;
	check_everywhere(&card);
	for (int i = 0; i < 3; i++) {
		struct str out = print(formats[i], &card, plain(80));

		assert_true(out.len > 0);
		str_release(&out);
	}
	card = card_of(OVERALL_REJECT); /* nobody to blame */
	card.expected_nodes = 0;
	card.expected_cards = 8;
	card.started = "yesterday";
	card.seconds = NAN;
	check_everywhere(&card);
	assert_says(&card, "REJECT   0 of 0 rules judged", true);
	assert_null(report_find("pdf"));
	card.started = NULL;
	check_everywhere(&card);
}

#define HOSTILE_COUNT 8

static const char *hostile(int i)
{
	static char longest[301];
	static const char *const names[HOSTILE_COUNT - 1] = {
		"\033[2J\033]0;owned\a",
		"n\"1\"'`\\",
		"\xe8\xae\xa1\xe7\xae\x97\xe8\x8a\x82\xe7\x82\xb9",
		"\xe2\x80\xae"
		"evil\xe2\x80\x8f",
		"\xff\xfe\xc3(",
		"a\r\nb\tc",
		"=cmd|' /C calc'!A0,\"x\"",
	};

	memset(longest, 'x', 300);
	return i < HOSTILE_COUNT - 1 ? names[i] : longest;
}

static struct failed *hostile_card(int i)
{
	struct failed *x = failed_acceptance();
	struct finding *f = &x->f[0];

	f->subject.id = f->node = f->advice = f->reason.text = x->card.vendor = x->card.altered =
		hostile(i);
	f->text = x->gemm.limit = x->gemm.metric = x->point.point = x->card.profile = hostile(i);
	x->card.card = x->criteria[0].title = x->card.budget = hostile(i);
	return x;
}

static void hostile_names(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTILE_COUNT; i++) {
		struct failed *x = hostile_card(i);
		struct small *s = laptop();

		check_everywhere(&x->card);
		s->info[0].text = s->info[1].metric = s->info[2].point = s->info[2].subject.id =
			hostile(i);
		s->card.expected_nodes = 2;
		s->f[0].reason.text = s->f[0].node = hostile(i);
		s->f[0].subjects = 9;
		check_everywhere(&s->card);
		free(s);
		free(x);
	}
}

static void colour(void **state)
{
	struct failed *x = failed_acceptance();
	struct report_options o = plain(80);
	struct str out;

	(void)state;
	o.color = true;
	out = print("terminal", &x->card, o);
	assert_non_null(strstr(out.data, "\033[1;31mREJECT\033[0m"));
	str_release(&out);
	out = print("terminal", &x->card, plain(80));
	assert_null(strchr(out.data, '\033'));
	str_release(&out);
	free(x);
}

/* --- JSON and CSV ----------------------------------------------------------------- */

static void json(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTILE_COUNT; i++) {
		struct failed *x = hostile_card(i);
		struct str out = print("json", &x->card, plain(80));
		struct json_doc doc;
		struct error err = {0};
		const cJSON *first;

		assert_int_equal(
			json_parse(&doc, "scorecard", out.data, out.len, JSON_STRICT, &err), ST_OK);
		assert_string_equal(json_string(doc.root, "overall", ""), "REJECT");
		assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "findings")),
		                 x->card.n_findings);
		first = cJSON_GetArrayItem(json_get(doc.root, "findings"), 0);
		if (i != 4) /* not UTF-8: cannot be kept */
			assert_string_equal(json_string(first, "node", ""), hostile(i));
		assert_true(json_number(cJSON_GetArrayItem(json_get(doc.root, "findings"), 1),
		                        "limit", 0) == 255);
		assert_true(cJSON_IsNull(json_get(cJSON_GetArrayItem(json_get(doc.root, "findings"),
		                                                     (int)x->card.n_findings - 1),
		                                  "value")));
		json_release(&doc);
		str_release(&out);
		free(x);
	}
}

static void json_schema(void **state)
{
	struct failed *x = hostile_card(0);
	struct small *s = laptop();
	struct str out;
	struct error err = {0};
	char *path = strdup(tmpf("%s/test-report-%d.json", BINARY_DIR, (int)getpid()));
	char *command = strdup(tmpf(
		"/usr/bin/python3 -c 'import json,jsonschema,sys\n"
		"jsonschema.validate(json.load(open(sys.argv[1])),json.load(open(sys.argv[2])))' "
		"'%s' '%s/configs/schemas/scorecard.schema.json'",
		path, SOURCE_DIR));
	bool have = system("/usr/bin/python3 -c 'import jsonschema' 2>/dev/null") == 0;

	(void)state;
	for (int i = 0; have && i < 2; i++) {
		out = print("json", i ? &s->card : &x->card, plain(80));
		assert_int_equal(file_write(path, out.data, out.len, &err), ST_OK);
		assert_int_equal(system(command), 0);
		str_release(&out);
	}
	unlink(path);
	free(command);
	free(path);
	free(s);
	free(x);
	if (!have) {
		print_message("python3 cannot import jsonschema\n");
		skip();
	}
}

static void csv(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTILE_COUNT; i++) {
		struct failed *x = hostile_card(i);
		struct small *s = laptop();
		struct str out;
		struct csv table;
		struct error err = {0};

		x->card.information = s->information;
		x->card.n_information = 8;
		s->info[0].text = "@SUM(1)";
		out = print("csv", &x->card, plain(80));
		assert_null(strchr(out.data, '\033'));
		assert_int_equal(csv_parse(&table, "scorecard.csv", out.data, out.len, &err),
		                 ST_OK);
		assert_int_equal(table.n_rows, x->card.n_findings + 8);
		assert_string_equal(csv_field(&table, 1, "verdict"), "pass");
		assert_string_equal(csv_field(&table, 1, "limit"),
		                    hostile(i)[0] == '=' ? "'=cmd|' /C calc'!A0,\"x\""
		                                         : csv_field(&table, 0, "limit"));
		for (int r = 0; r < table.n_rows; r++)
			for (int c = 0; c < table.n_columns; c++)
				assert_null(strchr("=+-@", table.rows[r][c][0] ? table.rows[r][c][0]
				                                               : ' '));
		assert_string_equal(csv_field(&table, (int)x->card.n_findings, "text"), "'@SUM(1)");
		assert_string_equal(csv_field(&table, (int)x->card.n_findings + 2, "point"),
		                    "depth=4");
		csv_release(&table);
		str_release(&out);
		free(s);
		free(x);
	}
}

int main(void)
{
	/* Wide characters are measured by the locale where the program prints them. */
	setlocale(LC_CTYPE, "C.UTF-8");

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reject),        cmocka_unit_test(blamed_twice),
		cmocka_unit_test(all_fail),      cmocka_unit_test(incomplete),
		cmocka_unit_test(accept),        cmocka_unit_test(banners),
		cmocka_unit_test(empty),         cmocka_unit_test(gaps_count_and_name),
		cmocka_unit_test(hostile_names), cmocka_unit_test(literal_may_decide),
		cmocka_unit_test(colour),        cmocka_unit_test(json),
		cmocka_unit_test(json_schema),   cmocka_unit_test(csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
