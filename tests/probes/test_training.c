/* training: buckets, the course on CPUs of several nodes and on doubles of cards in
 * one node and in three, and one of them slow, wrong, hanging, silent or gone. */
#include "card_kit.h"
#include "company_kit.h"

#include <math.h>

#include "training.h"

extern const struct probe probe_training;

/* Products that take a tenth of their usual rate: in so small a model sums would take
 * longer than all of them. */
#define NODE(count, ...)                                                                           \
	"{\"count\":" #count ",\"memory_divisor\":65536,\"achieved\":{\"bf16\":0.1},"              \
	"\"costs\":{\"host_call_ns\":0,\"first_call_ms\":300,\"collective_us\":0.001},"            \
	"\"cards\":[{\"model\":\"a100-sxm4-80gb\"}]" __VA_ARGS__ "}"
#define FAULT(...) ",\"faults\":[{" __VA_ARGS__ "}]"
#define PRODUCT_S  (2.0 * 128 * 128 * 128 / 31.2e12)
#define STEP_S     (4 * 3 * PRODUCT_S)
#define CARD_2     "0000:3d:00.0"

static void set(struct harness *h)
{
	static const char *const values[][2] = {
		{"width", "128"},      {"layers", "4"},       {"tokens", "128"},
		{"bucket", "32K"},     {"steps", "6"},        {"warm", "1"},
		{"cpu_width", "32"},   {"cpu_layers", "3"},   {"cpu_tokens", "32"},
		{"cpu_bucket", "4K"},  {"interface", "lo"},   {"timeout_s", "20"},
		{"patience_s", "0.5"}, {"sizes", "doubling"}, {"run_s", "1"},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		harness_set(h, values[i][0], values[i][1]);
}

/* --- buckets ------------------------------------------------------------------------------- */

/* All of the gradients, each once, the last layers first. */
static void buckets_hold_every_gradient_once(void **state)
{
	static const size_t bytes[] = {1024, 8191, 8192, 20000, 24576, 1 << 30};
	static const int counts[] = {5 * 8, 5 * 2, 5, 3, 2, 1};
	const struct training_shape shape = {.layers = 5, .width = 64};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct training_bucket *b;
		int n = training_buckets(&arena, &shape, 2, bytes[i], &b);
		bool seen[5 * 64 * 64] = {false};
		int layer = 5;

		assert_int_equal(n, counts[i]);
		for (int k = 0; k < n; k++) {
			assert_true(b[k].count > 0 && b[k].layer <= layer);
			layer = b[k].layer;
			/* Whole once that layer is: nothing of lower ones is in it. */
			assert_true(b[k].first >= (size_t)layer * 64 * 64);
			for (size_t e = 0; e < b[k].count; e++) {
				assert_false(seen[b[k].first + e]);
				seen[b[k].first + e] = true;
			}
		}
		for (size_t e = 0; e < sizeof(seen); e++)
			assert_true(seen[e]);
	}
	arena_release(&arena);
}

/* --- CPUs ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct company *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	company_init(c, &probe_training, 3, "*");
	for (int i = 0; i < 3; i++) {
		set(&c->all[i].h);
		c->all[i].h.ctx.sys_root = "";
	}
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	company_release(*state);
	free(*state);
	return 0;
}

static void cpus_show_that_it_works(void **state)
{
	struct company *c = *state;
	struct harness *h = &c->all[0].h;
	const struct reading *r;

	company_run(c);
	r = harness_expect(h, "cpu_training_scaling_efficiency", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0);
	assert_true(harness_param(r, "cards") == 3);
	assert_non_null(strstr(r->params, "shows that it works, judges no card"));
	/* Two nodes, then all; one CPU a node has nothing to sum within it. */
	assert_non_null(strstr(r->params, "\"curve\":[{\"nodes\":2,\"cards\":2"));
	assert_non_null(strstr(r->params, "{\"nodes\":3,\"cards\":3"));
	assert_non_null(harness_raw(h, "training-curve.csv"));
	r = harness_expect(h, "cpu_training_step_ms", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0 && r->stats[STAT_N] >= 5 && r->stats[STAT_P99] > 0);
	r = harness_expect(h, "cpu_training_wrong_elements", OUTCOME_MEASURED, NULL);
	assert_true(r->value == 0);
	/* Before and after, at two sizes, on all of them. */
	assert_true(harness_param(r, "checked") == 2 * (2 + 3) * 3 * 32 * 32);
	r = harness_expect(h, "cpu_training_overlap", OUTCOME_MEASURED, NULL);
	assert_true(r->value >= 0 && r->value <= 1);
	/* No rule of cards is met by CPUs. */
	harness_expect(h, "training_scaling_efficiency", OUTCOME_NOT_MEASURED, "no_driver");
	assert_int_equal(harness_count(h, "training_card_pace"), 3);
}

/* The answer to the first check of all three. */
static bool lies(cJSON *text, int n)
{
	cJSON *cards = cJSON_GetObjectItem(text, "cards");
	cJSON *checked = cJSON_GetObjectItem(text, "checked");

	(void)n;
	if (cards && checked && checked->valuedouble > 0)
		cJSON_SetNumberValue(cJSON_GetObjectItem(cJSON_GetArrayItem(cards, 0), "wrong"), 7);
	return true;
}

static void wrong_sums_are_no_speed(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[1].meddle = lies;
	company_run(c);
	r = harness_expect(&c->all[0].h, "cpu_training_scaling_efficiency", OUTCOME_FAILED,
	                   "training_wrong");
	assert_non_null(strstr(r->reason.text, "n002"));
	r = harness_expect(&c->all[0].h, "cpu_training_wrong_elements", OUTCOME_MEASURED, NULL);
	assert_true(r->value == 7);
}

static bool garbles(cJSON *text, int n)
{
	cJSON *steps = cJSON_GetObjectItem(text, "steps");

	(void)n;
	if (cJSON_GetArraySize(steps) > 0)
		cJSON_SetNumberValue(cJSON_GetArrayItem(steps, 0), -1);
	return true;
}

static bool falls_silent(cJSON *text, int n)
{
	(void)text;
	return n < 1;
}

static void expect_named(struct company *c, const char *node, const char *words)
{
	const struct reading *r = harness_expect(&c->all[0].h, "cpu_training_step_ms",
	                                         OUTCOME_NOT_MEASURED, "training_missing");

	if (!strstr(r->reason.text, node) || !strstr(r->reason.text, words))
		fail_msg("%s", r->reason.text);
}

static void an_answer_that_cannot_be_is_not_believed(void **state)
{
	struct company *c = *state;

	c->all[2].meddle = garbles;
	company_run(c);
	expect_named(c, "n003", "cannot be read");
}

static void a_silent_node_is_named(void **state)
{
	struct company *c = *state;

	company_set(c, "timeout_s", "0.5");
	company_set(c, "run_s", "0.05");
	c->all[1].meddle = falls_silent;
	company_run(c);
	expect_named(c, "n002", "no answer in time");
}

/* --- cards of one node ------------------------------------------------------------------------ */

static void the_step_is_that_of_the_cards(struct harness *h)
{
	const struct reading *r, *work;

	set(h);
	harness_run(h, ST_OK);
	r = harness_expect(h, "training_scaling_efficiency", OUTCOME_MEASURED, NULL);
	near(harness_param(r, "base_ms"), STEP_S * 1e3);
	assert_true(r->value > 0.75 && r->value < 0.9);
	near(harness_reading(h, "training_step_ms")->value, STEP_S * 1e3 / r->value);
	work = harness_reading(h, "training_card_tflops");
	near(work->value * harness_reading(h, "training_step_ms")->value * 1e9,
	     6 * harness_param(r, "tokens") * harness_param(r, "width") *
	             harness_param(r, "width") * harness_param(r, "layers") *
	             harness_param(r, "accumulate"));
	assert_true(harness_reading(h, "training_wrong_elements")->value == 0);
	assert_int_equal(harness_count(h, "training_card_pace"), 4);
	near(card_reading_of(h, "training_card_pace", CARD_2)->value, 1);
	assert_true(harness_reading(h, "training_skew")->value < 1e-6);
	assert_true(harness_reading(h, "training_overlap")->value > 0.3);
	/* All shares are there. */
	near(r->value + harness_reading(h, "training_loss_serial")->value +
	             harness_reading(h, "training_loss_slow_card")->value +
	             harness_reading(h, "training_loss_jitter")->value +
	             harness_reading(h, "training_loss_intra_node")->value +
	             harness_reading(h, "training_loss_fabric")->value,
	     1);
	assert_true(harness_reading(h, "training_loss_fabric")->value < 1e-9);
	harness_expect(h, "training_projected_efficiency", OUTCOME_NOT_MEASURED,
	               "training_few_sizes");
	assert_true(h->ctx.simulated);
}

static void a_slow_card_is_what_it_is_lost_to(struct harness *h)
{
	const struct reading *r, *slow;

	set(h);
	harness_run(h, ST_OK);
	slow = card_reading_of(h, "training_card_pace", CARD_2);
	near(slow->value, 0.75);
	near(harness_reading(h, "training_skew")->value, 1 / 0.75 - 1);
	/* A third of the base, as a share of the step. */
	near(harness_reading(h, "training_loss_slow_card")->value,
	     STEP_S / 3 / (harness_reading(h, "training_step_ms")->value / 1e3));
	r = harness_expect(h, "training_shortfall", OUTCOME_MEASURED, NULL);
	assert_non_null(strstr(r->text, slow->subject.id));
	assert_non_null(strstr(r->text, "slow card"));
}

/* Three steps at full speed, three at half. */
static void a_jittery_node_is_what_it_is_lost_to(struct harness *h)
{
	set(h);
	harness_set(h, "steps", "30");
	harness_run(h, ST_OK);
	assert_true(harness_reading(h, "training_loss_jitter")->value > 0.1);
	assert_true(harness_reading(h, "training_node_stall")->value > 0.1);
	assert_non_null(strstr(harness_reading(h, "training_shortfall")->text, "jitter"));
}

static void slow_sums_are_not_the_cards(struct harness *h)
{
	set(h);
	harness_run(h, ST_OK);
	near(card_reading_of(h, "training_card_pace", CARD_2)->value, 1);
	assert_true(harness_reading(h, "training_loss_intra_node")->value > 0.5);
	assert_true(harness_reading(h, "training_loss_slow_card")->value < 0.001);
}

static void a_wrong_sum_is_named(struct harness *h)
{
	const struct reading *r;

	set(h);
	harness_run(h, ST_OK);
	r = harness_expect(h, "training_scaling_efficiency", OUTCOME_FAILED, "training_wrong");
	assert_non_null(strstr(r->reason.text, "n001 GPU-"));
	assert_true(harness_reading(h, "training_wrong_elements")->value == 1);
}

static void a_card_that_hangs_is_named(struct harness *h)
{
	const struct reading *r;

	set(h);
	harness_set(h, "timeout_s", "0.2");
	harness_set(h, "run_s", "0.1");
	harness_run(h, ST_OK);
	r = harness_expect(h, "training_scaling_efficiency", OUTCOME_TIMED_OUT, "training_missing");
	assert_non_null(strstr(r->reason.text, CARD_2));
	/* The others are not to blame. */
	harness_expect(h, "training_card_pace", OUTCOME_NOT_MEASURED, "training_missing");
	/* What a card that hangs and the others hold goes with the process. */
	_exit(0);
}

static void one_card_has_nobody(struct harness *h)
{
	set(h);
	harness_run(h, ST_OK);
	harness_expect(h, "training_scaling_efficiency", OUTCOME_NOT_MEASURED, "training_one");
}

static void cards_of_one_node(void **state)
{
	(void)state;
	on_cards(&probe_training, NODE(4), the_step_is_that_of_the_cards);
	on_cards(&probe_training, NODE(1), one_card_has_nobody);
	on_cards(&probe_training,
	         NODE(4, FAULT("\"kind\":\"slow\",\"card\":2,\"factor\":0.75,\"of\":\"compute\"")),
	         a_slow_card_is_what_it_is_lost_to);
	on_cards(&probe_training,
	         NODE(4, FAULT("\"kind\":\"oscillation\",\"card\":1,\"factor\":0.5,"
	                       "\"period_s\":0.0000096")),
	         a_jittery_node_is_what_it_is_lost_to);
	on_cards(&probe_training, NODE(4, FAULT("\"kind\":\"nccl_slow\",\"factor\":0.1")),
	         slow_sums_are_not_the_cards);
	on_cards(&probe_training,
	         NODE(4, FAULT("\"kind\":\"nccl_wrong\",\"op\":\"all_reduce\",\"after\":10")),
	         a_wrong_sum_is_named);
	on_cards(&probe_training,
	         NODE(4, FAULT("\"kind\":\"hang\",\"card\":2,\"call\":\"cublasGemmEx\","
	                       "\"after\":100")),
	         a_card_that_hangs_is_named);
}

/* --- cards of several nodes -------------------------------------------------------------------- */

static void three_nodes(struct harness *h)
{
	struct company *c = calloc(1, sizeof(*c));
	struct harness *first;
	const struct reading *r;

	(void)h;
	assert_non_null(c);
	company_init(c, &probe_training, 3, "*");
	for (int i = 0; i < 3; i++) {
		set(&c->all[i].h);
		c->all[i].h.ctx.lib_dir = STANDINS;
	}
	first = &c->all[0].h;
	company_run(c);
	r = harness_reading(first, "training_scaling_efficiency");
	if (r->outcome != OUTCOME_MEASURED)
		fail_msg("%s", r->reason.text);
	assert_true(harness_param(r, "cards") == 6 && harness_param(r, "nodes") == 3);
	near(harness_param(r, "base_ms"), STEP_S * 1e3);
	/* Doubles of other processes are a little late, by how much is up to the machine. */
	assert_true(r->value > 0.4 && r->value < 0.9);
	assert_non_null(strstr(r->params, "NCCL, one communicator over all cards of all nodes"));
	assert_non_null(strstr(r->params, "{\"nodes\":1,\"cards\":2"));
	assert_non_null(strstr(r->params, "{\"nodes\":2,\"cards\":4"));
	assert_true(harness_reading(first, "training_wrong_elements")->value == 0);
	assert_true(harness_reading(first, "training_node_efficiency")->value <= 1.001);
	r = harness_expect(first, "training_projected_efficiency", OUTCOME_MEASURED, NULL);
	assert_true(r->stats[STAT_CI_LO] <= r->value && r->value <= r->stats[STAT_CI_HI]);
	assert_true(harness_param(r, "sizes") == 3);
	assert_int_equal(harness_count(first, "training_card_pace"), 6);
	assert_int_equal(harness_count(first, "training_node_stall"), 3);
	company_release(c);
	free(c);
}

static void cards_of_three_nodes(void **state)
{
	(void)state;
	on_cards(&probe_training, NODE(2), three_nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_hold_every_gradient_once),
		cmocka_unit_test_setup_teardown(cpus_show_that_it_works, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_sums_are_no_speed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_that_cannot_be_is_not_believed, set_up,
	                                        tear_down),
		cmocka_unit_test_setup_teardown(a_silent_node_is_named, set_up, tear_down),
		cmocka_unit_test(cards_of_one_node),
		cmocka_unit_test(cards_of_three_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
