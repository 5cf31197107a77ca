/* gemm_rows: three nodes with a socket each, one of which plays back, computes
 * wrongly, exchanges, falls silent or comes late; two nodes with GPUs by the doubles of
 * NVIDIA's libraries. */
#include "company_kit.h"

#include <math.h>

#include "bench/gemm_rows.h"
#include "card_kit.h"

extern const struct probe probe_gemm_rows;

#define BLAS      BINARY_DIR "/tests/probes/"
#define ORDER     128
#define ORDER_SET "128"

/* --- three nodes --------------------------------------------------------------------- */

struct set {
	struct company *c;
	char right[64]; /* directory of a BLAS, and of nothing else */
};

static int set_up(void **state)
{
	struct set *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->c = calloc(1, sizeof(*s->c));
	assert_non_null(s->c);
	strcpy(s->right, "/tmp/assay-rows-XXXXXX");
	assert_non_null(mkdtemp(s->right));
	assert_int_equal(
		symlink(BLAS "right_blas/libopenblas.so.0", tmpf("%s/libopenblas.so.0", s->right)),
		0);
	company_init(s->c, &probe_gemm_rows, 3, "*");
	company_set(s->c, "order", ORDER_SET);
	company_set(s->c, "patience_s", "20");
	for (int i = 0; i < 3; i++)
		s->c->all[i].h.ctx.lib_dir = s->right;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct set *s = *state;

	company_release(s->c);
	free(s->c);
	unlink(tmpf("%s/libopenblas.so.0", s->right));
	rmdir(s->right);
	free(s);
	return 0;
}

static struct probe_ctx *ctx_of(struct set *s, int i)
{
	return &s->c->all[i].h.ctx;
}

/* The one about a card of this node; subject NULL: whichever. */
static const struct reading *of_node(const struct company *c, const char *metric, int node,
                                     const char *subject)
{
	const struct harness *h = &c->all[0].h;
	const struct reading *found = NULL;

	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];

		if (strcmp(r->metric, metric) != 0 || strcmp(r->node, company_nodes[node]) != 0 ||
		    (subject && strcmp(r->subject.id, subject) != 0))
			continue;
		if (found)
			fail_msg("%s of %s twice", metric, company_nodes[node]);
		found = r;
	}
	if (!found)
		fail_msg("no %s of %s", metric, company_nodes[node]);
	return found;
}

static const struct reading *expect(const struct company *c, const char *metric, int node,
                                    enum outcome outcome, const char *code)
{
	const struct reading *r = of_node(c, metric, node, NULL);

	if (r->outcome != outcome || (code && strcmp(r->reason.code, code) != 0))
		fail_msg("%s of %s: %s, %s", metric, company_nodes[node], outcome_name(r->outcome),
		         r->reason.text ? r->reason.text : "");
	return r;
}

static void expect_right(const struct company *c, const char *prefix, int node)
{
	const struct reading *r =
		expect(c, tmpf("%sgemm_rows_wrong", prefix), node, OUTCOME_MEASURED, NULL);

	assert_true(r->value == 0);
	assert_true(harness_param(r, "row") >= 0);
	assert_true(harness_param(r, "row") < ORDER);
	assert_true(harness_param(r, "blocks_checked") == 2);
	assert_true(harness_param(r, "worst_of_tolerance") < 0.5);
	r = expect(c, tmpf("%sgemm_rows_answer_ms", prefix), node, OUTCOME_MEASURED, NULL);
	assert_true(r->value >= 0);
}

/* The second's card for this; the others are well. */
static const struct reading *expect_second(struct set *s, enum outcome outcome, const char *code)
{
	const struct reading *r = expect(s->c, "cpu_gemm_rows_wrong", 1, outcome, code);

	assert_non_null(strstr(r->reason.text, "n002"));
	assert_null(strstr(r->reason.text, "n001"));
	expect_right(s->c, "cpu_", 0);
	expect_right(s->c, "cpu_", 2);
	return r;
}

static void right_rows_pass(void **state)
{
	struct set *s = *state;
	double row[3];

	company_run(s->c);
	for (int i = 0; i < 3; i++) {
		const struct reading *r = of_node(s->c, "cpu_gemm_rows_wrong", i, NULL);

		expect_right(s->c, "cpu_", i);
		row[i] = harness_param(r, "row");
		assert_true(str_starts(r->subject.id, "cpu-socket-"));
		assert_true(harness_param(r, "order") == ORDER);
		assert_string_equal(harness_param_text(&s->c->all[0].h, r, "format"), "fp32");
		assert_string_equal(harness_param_text(&s->c->all[0].h, r, "asked_by"), "n001");
		/* No GPU there: said once, of all. */
		assert_string_equal(
			expect(s->c, "gemm_rows_wrong", i, OUTCOME_NOT_MEASURED, "no_driver")
				->subject.id,
			"*");
	}
	assert_true(row[0] != row[1] && row[1] != row[2] && row[0] != row[2]);
	assert_false(ctx_of(s, 0)->simulated);
}

static void seeds_are_fresh(void **state)
{
	struct set *s = *state;
	const char *first;
	struct harness *h = &s->c->all[0].h;

	company_run(s->c);
	first = harness_param_text(h, of_node(s->c, "cpu_gemm_rows_wrong", 0, NULL), "seed");
	harness_clear(h);
	company_run(s->c);
	assert_string_not_equal(
		first,
		harness_param_text(h, of_node(s->c, "cpu_gemm_rows_wrong", 0, NULL), "seed"));
}

/* --- what a node may do instead --------------------------------------------------------- */

/* Changes what it is told. */
static enum status hear(struct probe_ctx *ctx, int from, double seconds, const char **text,
                        void (*change)(struct probe_ctx *ctx, cJSON *order))
{
	enum status st = company_recv(ctx, from, seconds, text);
	cJSON *order = st == ST_OK ? cJSON_Parse(*text) : NULL;
	char *changed;

	if (!order)
		return st;
	change(ctx, order);
	changed = cJSON_PrintUnformatted(order);
	*text = arena_str(ctx->arena, changed);
	free(changed);
	cJSON_Delete(order);
	return st;
}

static bool is_step(const cJSON *order, const char *step)
{
	return strcmp(json_string(order, "step", ""), step) == 0;
}

static void another_seed(struct probe_ctx *ctx, cJSON *order)
{
	(void)ctx;
	cJSON_ReplaceItemInObject(order, "seed", cJSON_CreateString("00000000c0ffee00"));
}

static enum status plays_back(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	return hear(ctx, from, seconds, text, another_seed);
}

static void a_product_of_another_seed(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	ctx_of(s, 1)->recv_text = plays_back;
	company_run(s->c);
	r = expect_second(s, OUTCOME_FAILED, "gemm_rows_off");
	assert_true(r->value == 2);
	expect(s->c, "cpu_gemm_rows_answer_ms", 1, OUTCOME_MEASURED, NULL);
}

static void one_wrong_element_a_row(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	ctx_of(s, 1)->lib_dir = BLAS "wrong_rows_blas";
	company_run(s->c);
	r = expect_second(s, OUTCOME_FAILED, "gemm_rows_off");
	assert_true(r->value == 1);
	/* Element n - 3 is in the second block of 64. */
	assert_string_equal(r->reason.args[5], "64");
	assert_string_equal(r->reason.args[6], "127");
}

static void another_row(struct probe_ctx *ctx, cJSON *order)
{
	cJSON *rows = cJSON_GetObjectItem(order, "rows");

	(void)ctx;
	if (is_step(order, "show"))
		cJSON_ReplaceItemInArray(
			rows, 0,
			cJSON_CreateNumber((cJSON_GetArrayItem(rows, 0)->valueint + 1) % ORDER));
}

static enum status shows_another(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	return hear(ctx, from, seconds, text, another_row);
}

static void a_row_of_another_place(void **state)
{
	struct set *s = *state;

	ctx_of(s, 1)->recv_text = shows_another;
	company_run(s->c);
	expect_second(s, OUTCOME_FAILED, "gemm_rows_broken");
}

/* The last digit of the row: an element's highest byte. */
static bool changes_the_row(cJSON *text, int n)
{
	char *row = n == 1 ? cJSON_GetObjectItem(text, "row")->valuestring : NULL;

	if (row)
		row[strlen(row) - 1] = row[strlen(row) - 1] == '0' ? '1' : '0';
	return true;
}

static bool changes_the_digest(cJSON *text, int n)
{
	cJSON *card = cJSON_GetArrayItem(cJSON_GetObjectItem(text, "cards"), 0);
	char *root = n == 0 ? cJSON_GetObjectItem(card, "root")->valuestring : NULL;

	if (root)
		root[0] = root[0] == '0' ? '1' : '0';
	return true;
}

static void what_was_not_pledged(void **state)
{
	struct set *s = *state;

	s->c->all[1].meddle = changes_the_row;
	company_run(s->c);
	expect_second(s, OUTCOME_FAILED, "gemm_rows_broken");
	harness_clear(&s->c->all[0].h);
	s->c->all[1].meddle = changes_the_digest;
	company_run(s->c);
	expect_second(s, OUTCOME_FAILED, "gemm_rows_broken");
}

/* --- no answer, or none that is one -------------------------------------------------------- */

/* The first waits for the second a moment, however long it may. */
static enum status impatiently(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	return company_recv(ctx, from, from == 1 ? fmin(seconds, 0.3) : seconds, text);
}

/* The same, for what comes after its pledge. */
static enum status after_a_pledge(struct probe_ctx *ctx, int from, double seconds,
                                  const char **text)
{
	/* The pledge may take its time; an answer has less. */
	return seconds > 10 ? company_recv(ctx, from, seconds, text)
	                    : impatiently(ctx, from, seconds, text);
}

static bool shows_nothing(cJSON *text, int n)
{
	(void)text;
	return n < 1;
}

static void a_silent_node(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[1].meddle = shows_nothing;
	ctx_of(s, 0)->recv_text = after_a_pledge;
	company_run(s->c);
	expect_second(s, OUTCOME_TIMED_OUT, "gemm_rows_silent");
	r = expect(s->c, "cpu_gemm_rows_answer_ms", 1, OUTCOME_TIMED_OUT, "gemm_rows_silent");
	assert_int_equal(r->value_kind, VALUE_NONE);
}

static bool ends_there(cJSON *text, int n)
{
	(void)text;
	if (n == 1)
		_exit(0);
	return true;
}

static void a_node_that_is_lost(void **state)
{
	struct set *s = *state;

	s->c->all[1].meddle = ends_there;
	ctx_of(s, 0)->recv_text = after_a_pledge;
	company_run(s->c);
	expect_second(s, OUTCOME_TIMED_OUT, "gemm_rows_silent");
}

/* Nobody knows which cards it has: all that it may have are named. */
static void a_node_without_a_pledge(void **state)
{
	struct set *s = *state;

	s->c->all[1].meddle = ends_there;
	s->c->all[1].sent = 1;
	ctx_of(s, 0)->recv_text = impatiently;
	company_run(s->c);
	for (const struct metric *m = probe_gemm_rows.metrics; m->name; m++)
		assert_string_equal(
			expect(s->c, m->name, 1, OUTCOME_TIMED_OUT, "gemm_rows_no_pledge")
				->subject.id,
			"*");
	expect_right(s->c, "cpu_", 2);
}

static int64_t skew_ns;

static int64_t skewed_now(void *self)
{
	(void)self;
	return clock_now(&clock_system) + skew_ns;
}

/* The row of the second takes seven seconds by the first one's clock. */
static enum status slowly(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	enum status st = company_recv(ctx, from, seconds, text);

	if (st == ST_OK && from == 1 && strstr(*text, "proof"))
		skew_ns += 7 * NS_PER_S;
	return st;
}

static void a_late_node(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	s->c->all[0].clock.now_ns = skewed_now;
	ctx_of(s, 0)->recv_text = slowly;
	company_run(s->c);
	r = expect_second(s, OUTCOME_TIMED_OUT, "gemm_rows_late");
	assert_string_equal(r->reason.args[3], "5000");
	r = expect(s->c, "cpu_gemm_rows_answer_ms", 1, OUTCOME_MEASURED, NULL);
	assert_true(r->value >= 7000);
}

static bool sends_no_hex(cJSON *text, int n)
{
	if (n == 1)
		cJSON_ReplaceItemInObject(text, "row", cJSON_CreateString("no row"));
	return true;
}

static bool sends_half_a_row(cJSON *text, int n)
{
	char *row = n == 1 ? cJSON_GetObjectItem(text, "row")->valuestring : NULL;

	if (row)
		row[strlen(row) / 2] = '\0';
	return true;
}

static bool sends_half_a_proof(cJSON *text, int n)
{
	if (n == 1)
		cJSON_DeleteItemFromArray(cJSON_GetObjectItem(text, "proof"), 0);
	return true;
}

static bool sends_of_another_card(cJSON *text, int n)
{
	if (n == 1)
		cJSON_ReplaceItemInObject(text, "card", cJSON_CreateNumber(1));
	return true;
}

static void an_answer_that_is_none(void **state)
{
	static bool (*const ways[])(cJSON *, int) = {sends_no_hex, sends_half_a_row,
	                                             sends_half_a_proof, sends_of_another_card};
	struct set *s = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		s->c->all[1].meddle = ways[i];
		company_run(s->c);
		expect_second(s, OUTCOME_FAILED, "gemm_rows_garbled");
		harness_clear(&s->c->all[0].h);
	}
}

static bool pledges_nonsense(cJSON *text, int n)
{
	cJSON *card = cJSON_GetArrayItem(cJSON_GetObjectItem(text, "cards"), 0);

	if (n == 0)
		cJSON_ReplaceItemInObject(card, "root", cJSON_CreateString("0123"));
	return true;
}

static bool pledges_no_card(cJSON *text, int n)
{
	if (n == 0)
		cJSON_DeleteItemFromArray(cJSON_GetObjectItem(text, "cards"), 0);
	return true;
}

static void a_pledge_that_is_none(void **state)
{
	struct set *s = *state;

	s->c->all[1].meddle = pledges_nonsense;
	s->c->all[2].meddle = pledges_no_card;
	company_run(s->c);
	for (const struct metric *m = probe_gemm_rows.metrics; m->name; m++)
		for (int i = 1; i < 3; i++)
			expect(s->c, m->name, i, OUTCOME_FAILED, "gemm_rows_bad_pledge");
	expect_right(s->c, "cpu_", 0);
}

static void a_node_that_cannot_multiply(void **state)
{
	struct set *s = *state;
	const struct reading *r;

	ctx_of(s, 1)->lib_dir = "/nonexistent";
	company_run(s->c);
	r = expect(s->c, "cpu_gemm_rows_wrong", 1, OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(r->reason.text, "BLAS"));
	expect(s->c, "cpu_gemm_rows_answer_ms", 1, OUTCOME_NOT_MEASURED, "card_refused");
	expect_right(s->c, "cpu_", 0);
	expect_right(s->c, "cpu_", 2);
}

static void one_node_proves_nothing(void **state)
{
	struct set *s = *state;

	ctx_of(s, 0)->n_peers = 1;
	harness_run(&s->c->all[0].h, ST_OK);
	for (const struct metric *m = probe_gemm_rows.metrics; m->name; m++)
		harness_expect(&s->c->all[0].h, m->name, OUTCOME_NOT_MEASURED, "gemm_rows_alone");
}

/* --- GPUs ----------------------------------------------------------------------------------- */

#define A100 "a100-sxm4-80gb"

/* Two nodes of two cards; in a process of its own. */
static struct company *gpu_nodes(void)
{
	struct company *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	company_init(c, &probe_gemm_rows, 2, "*");
	company_set(c, "card_order", ORDER_SET);
	for (int i = 0; i < 2; i++)
		c->all[i].h.ctx.lib_dir = STANDINS;
	return c;
}

static void both_cards_of_both(struct harness *unused)
{
	struct company *c = gpu_nodes();
	const struct harness *h = &c->all[0].h;
	int right = 0;

	(void)unused;
	company_run(c);
	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];

		assert_true(str_starts(r->subject.id, "GPU-"));
		assert_true(str_starts(r->subject.pci, "0000:"));
		assert_int_equal(r->outcome, OUTCOME_MEASURED);
		if (strcmp(r->metric, "gemm_rows_wrong") != 0)
			continue;
		assert_true(r->value == 0);
		assert_true(harness_param(r, "worst_of_tolerance") < 0.5);
		right++;
	}
	assert_int_equal(h->n_readings, 8);
	assert_int_equal(right, 4);
	assert_true(h->ctx.simulated);
	company_release(c);
	free(c);
}

/* The second node plays back: both of its cards are named, and no card of the first. */
static void both_cards_of_one_play_back(struct harness *unused)
{
	struct company *c = gpu_nodes();
	const struct harness *h = &c->all[0].h;
	int wrong = 0;

	(void)unused;
	c->all[1].h.ctx.recv_text = plays_back;
	company_run(c);
	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];
		bool second = strcmp(r->node, "n002") == 0;

		if (strcmp(r->metric, "gemm_rows_wrong") != 0)
			continue;
		assert_int_equal(r->outcome, second ? OUTCOME_FAILED : OUTCOME_MEASURED);
		assert_true(r->value == (second ? 2 : 0));
		wrong += second;
	}
	assert_int_equal(wrong, 2);
	company_release(c);
	free(c);
}

/* Runs on the second node in the place of the probe. */
static enum status with_a_lost_card(struct probe_ctx *ctx)
{
	char path[] = "/tmp/assay-rows-XXXXXX";
	int fd = mkstemp(path);
	enum status st;

	assert_true(fd >= 0);
	dprintf(fd, CARDS(A100, ",\"count\":2,\"faults\":[{\"kind\":\"lost\",\"card\":0,"
	                        "\"after\":3}]"));
	close(fd);
	setenv("ASSAY_STANDIN", path, 1);
	st = probe_gemm_rows.run(ctx);
	unlink(path);
	return st;
}

static void one_card_is_lost(struct harness *unused)
{
	struct company *c = gpu_nodes();
	const struct harness *h = &c->all[0].h;
	struct probe bad = probe_gemm_rows;
	int lost = 0;

	(void)unused;
	bad.run = with_a_lost_card;
	c->all[1].h.ctx.probe = &bad;
	company_run(c);
	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];

		if (r->outcome == OUTCOME_MEASURED)
			continue;
		assert_string_equal(r->node, "n002");
		assert_int_equal(r->subject.index, 0);
		assert_string_equal(r->reason.code, "card_refused");
		lost++;
	}
	assert_int_equal(h->n_readings, 8);
	assert_int_equal(lost, 2);
	company_release(c);
	free(c);
}

/* Its node goes on without it. */
static void a_card_hangs(struct harness *h)
{
	struct rows_node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	*node = (struct rows_node){.ctx = &h->ctx, .clock = &clock_system};
	harness_set(h, "card_order", ORDER_SET);
	rows_node_multiply(node, 1, 1);
	assert_int_equal(node->pledge.n_cards, 2);
	assert_int_equal(node->pledge.cards[0].outcome, OUTCOME_TIMED_OUT);
	assert_string_equal(node->pledge.cards[0].id, "cuda-0");
	assert_int_equal(node->pledge.cards[1].outcome, OUTCOME_NOT_MEASURED);
	assert_non_null(strstr(node->pledge.cards[1].why, "hangs"));
	/* Its thread still stands there. */
	_exit(0);
}

static void gpus_of_two_nodes(void **state)
{
	(void)state;
	on_cards(&probe_gemm_rows, CARDS(A100, ",\"count\":2"), both_cards_of_both);
	on_cards(&probe_gemm_rows, CARDS(A100, ",\"count\":2"), both_cards_of_one_play_back);
	on_cards(&probe_gemm_rows, CARDS(A100, ",\"count\":2"), one_card_is_lost);
	on_cards(&probe_gemm_rows,
	         CARDS(A100, ",\"count\":2,\"faults\":[{\"kind\":\"hang\",\"card\":0,"
	                     "\"call\":\"cublasGemmEx\"}]"),
	         a_card_hangs);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(right_rows_pass),
		TEST(seeds_are_fresh),
		TEST(a_product_of_another_seed),
		TEST(one_wrong_element_a_row),
		TEST(a_row_of_another_place),
		TEST(what_was_not_pledged),
		TEST(a_silent_node),
		TEST(a_node_that_is_lost),
		TEST(a_node_without_a_pledge),
		TEST(a_late_node),
		TEST(an_answer_that_is_none),
		TEST(a_pledge_that_is_none),
		TEST(a_node_that_cannot_multiply),
		TEST(one_node_proves_nothing),
		cmocka_unit_test(gpus_of_two_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
