/* collective on stand-ins: figures are those of the node file whatever a call costs
 * the host, a sound node is spoken well of, and what is wrong with one card, one
 * link or one rank is found there. */
#include "tests/probes/cards_kit.h"

#include "collective.h"
#include "coord/plan.h"

#include "base/csv.h"
#include "base/file.h"

extern const struct probe probe_collective;

/* The least that a collective takes must not hide its rate in a message of 1 MiB. */
#define FAST    "\"count\":4,\"costs\":{\"collective_us\":0.1},"
#define PROFILE "a100-sxm4-80gb"
#define A100    "{\"model\":\"a100-sxm4-80gb\"}"

static const char *const rates[] = {
	"collective_allreduce_ring_busbw_gbs", "collective_allreduce_busbw_gbs",
	"collective_allgather_busbw_gbs",      "collective_reducescatter_busbw_gbs",
	"collective_alltoall_busbw_gbs",       "collective_broadcast_busbw_gbs",
	"collective_sendrecv_busbw_gbs",       "collective_pair_gbs",
};
#define RATES (sizeof(rates) / sizeof(*rates))

static struct seen *all_cards(const char *faults, const char *more, const char *params)
{
	return ask((struct ask){
		.probe = "collective",
		/* Stand-ins have a 1,024th of it. */
		.params = params ? params : "\"max_size\":\"1G\"",
		.look = {.faults = faults, .more = more ? more : FAST, .cards = A100}});
}

/* --- a sound node ---------------------------------------- */

static void figures_are_those_of_the_node(void **state)
{
	static const int costs[] = {0, 1000, 5000};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct seen *s = all_cards(
			NULL,
			tmpf("\"count\":4,\"costs\":{\"collective_us\":0.1,\"host_call_ns\":%d},",
		             costs[i]),
			NULL);
		const struct reading *r;

		assert_int_equal(s->status, 0);
		for (size_t k = 0; k < RATES; k++)
			expect_near(value_of(s, rates[k], NULL), 300);
		expect_near(value_of(s, "collective_allreduce_node_us", NULL), 0.1);
		expect_near(value_of(s, "collective_allreduce_of_ring", NULL), 1);
		assert_true(value_of(s, "collective_wrong_elements", NULL) == 0);
		r = reading_of(s, rates[0], NULL);
		assert_int_equal(r->origin, ORIGIN_SIMULATED);
		assert_int_equal(r->subject.kind, SUBJECT_NODE);
		assert_string_equal(r->subject.id, "n001");
		assert_string_equal(param_of(s, r, "cards"), "4");
		assert_string_equal(param_of(s, r, "bytes"), "1048576");
		judge(s, PROFILE, 4);
		expect_no_finding(s, &probe_collective);
		look_away(s);
	}
}

/* Each raw file is a table of one kind of rows. */
static void raw_files_are_tables(void **state)
{
	struct seen *s = all_cards(NULL, NULL, NULL);
	static const struct {
		const char *file;
		int columns;
	} files[] = {{"collective_pairs", 5}, {"collective_allreduce_busbw_gbs", 8}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct str text = {0};
		struct csv csv;

		assert_int_equal(file_read(&text, tmpf("%s/raw/%s.csv", s->root, files[i].file),
		                           1 << 20, NULL),
		                 ST_OK);
		assert_int_equal(csv_parse(&csv, "raw", text.data, text.len, NULL), ST_OK);
		assert_int_equal(csv.n_columns, files[i].columns);
		if (i == 0)
			assert_int_equal(csv.n_rows, 4 * 3);
		csv_release(&csv);
		str_release(&text);
	}
	look_away(s);
}

static void what_nccl_chose_is_told(void **state)
{
	struct seen *s;

	(void)state;
	setenv("NCCL_ALGO", "Tree", 1);
	setenv("NCCL_MIN_NCHANNELS", "4", 1);
	s = all_cards(NULL, NULL, NULL);
	unsetenv("NCCL_ALGO");
	unsetenv("NCCL_MIN_NCHANNELS");
	assert_string_equal(param_of(s, reading_of(s, rates[0], NULL), "algorithm"),
	                    "\"RING SIMPLE, 24 channels\"");
	assert_string_equal(param_of(s, reading_of(s, rates[1], NULL), "algorithm"),
	                    "\"TREE SIMPLE, 24 channels\"");
	assert_string_equal(
		param_of(s, reading_of(s, "collective_allreduce_node_us", NULL), "algorithm"),
		"\"TREE LL, 2 channels\"");
	assert_string_equal(param_of(s, reading_of(s, rates[1], NULL), "environment"),
	                    "{\"NCCL_ALGO\":\"Tree\",\"NCCL_MIN_NCHANNELS\":\"4\"}");
	assert_non_null(
		strstr(param_of(s, reading_of(s, rates[1], NULL), "library"), "nccl 2.28.9"));
	look_away(s);
}

/* Adding up in the switch goes above the ring; what is below it is a fault. */
static void the_choice_is_judged_against_the_ring(void **state)
{
	static const double factors[] = {1.3, 0.93, 0.7};
	static const char *const verdicts[] = {NULL, "warn", "fail"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct seen *s =
			all_cards(tmpf("{\"kind\":\"nccl_slow\",\"mode\":\"chosen\",\"factor\":%g}",
		                       factors[i]),
		                  NULL, NULL);

		expect_near(value_of(s, rates[0], NULL), 300);
		expect_near(value_of(s, rates[1], NULL), 300 * factors[i]);
		expect_near(value_of(s, "collective_allreduce_of_ring", NULL), factors[i]);
		judge(s, PROFILE, 4);
		if (verdicts[i])
			expect_finding(s, "allreduce-chosen", NULL, verdicts[i]);
		else
			expect_no_finding(s, &probe_collective);
		look_away(s);
	}
}

/* Numbers of cards that do not divide sizes, and odd ones. */
static void any_number_of_cards(void **state)
{
	static const int counts[] = {2, 3, 5, 8};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct seen *s = all_cards(
			NULL, tmpf("\"count\":%d,\"costs\":{\"collective_us\":0.1},", counts[i]),
			"\"max_size\":\"256M\",\"step\":\"32\",\"in_place_windows\":\"1\","
			"\"windows\":\"1\",\"checks\":\"1\"");

		for (size_t k = 0; k < RATES; k++)
			expect_near(value_of(s, rates[k], NULL), 300);
		assert_true(value_of(s, "collective_wrong_elements", NULL) == 0);
		expect_near(strtod(param_of(s, reading_of(s, rates[1], NULL), "in_place_busbw_gbs"),
		                   NULL),
		            300);
		look_away(s);
	}
}

static void sizes_go_from_8_bytes_to_the_largest(void **state)
{
	struct seen *s =
		all_cards(NULL, NULL, "\"max_size\":\"64M\",\"step\":\"3\",\"windows\":\"1\"");
	const char *sizes = param_of(s, reading_of(s, rates[1], NULL), "sizes");

	(void)state;
	assert_non_null(strstr(sizes, "\"bytes\":65536,"));
	/* Once, though more than one size of the series comes to it. */
	assert_non_null(strstr(sizes, "\"bytes\":8,"));
	assert_null(strstr(strstr(sizes, "\"bytes\":8,") + 1, "\"bytes\":8,"));
	assert_non_null(
		strstr(param_of(s, reading_of(s, rates[2], NULL), "sizes"), "\"bytes\":32,"));
	assert_string_equal(param_of(s, reading_of(s, rates[1], NULL), "cut"), "false");
	/* A mean over all sizes says nothing: small ones are slow by nature. The figure is
	 * that of the largest. */
	assert_non_null(strstr(sizes, "\"busbw_gbs\":0.1"));
	expect_near(value_of(s, rates[1], NULL), 300);
	assert_string_equal(param_of(s, reading_of(s, rates[1], NULL), "bytes"), "65536");
	look_away(s);
}

/* In-switch reductions and trees send less than the formula counts, so that 475 GB/s on
 * links of 450 is no error: it passes, and the algorithm stands beside it. */
static void more_than_the_links_carry_is_no_error(void **state)
{
	struct seen *s = all_cards(NULL, FAST "\"achieved\":{\"collective\":1.055},", NULL);
	const struct reading *r = reading_of(s, rates[1], NULL);

	(void)state;
	expect_near(r->value, 1.055 * 300);
	assert_string_equal(param_of(s, r, "algorithm"), "\"TREE SIMPLE, 24 channels\"");
	judge(s, PROFILE, 4);
	expect_no_finding(s, &probe_collective);
	look_away(s);
}

/* Built or started wrongly, every process is rank 0 of 1 and its rate is a nonsense or
 * zero; two ranks on one card are no two cards. How many took part is in the reading. */
static void the_cards_that_took_part_are_counted(void **state)
{
	static const struct {
		const char *visible, *cards;
	} rows[] = {{"0,1", "2"}, {"3,1,0", "3"}, {"0,0", NULL}, {"2", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s = ask((struct ask){
			.probe = "collective",
			.params = "\"max_size\":\"64M\",\"windows\":\"1\"",
			.look = {.more = FAST, .cards = A100, .visible = rows[i].visible}});

		if (rows[i].cards)
			assert_string_equal(param_of(s, reading_of(s, rates[0], NULL), "cards"),
			                    rows[i].cards);
		else
			expect_not(s, rates[0], NULL, OUTCOME_UNSUPPORTED, "collective_one_card");
		look_away(s);
	}
}

/* NCCL's own lines, which whoever set NCCL_DEBUG wants to see, never land among figures:
 * the choice of algorithm is read from our file, and theirs is told as found. */
static void lines_of_nccl_do_not_mix_with_figures(void **state)
{
	struct seen *s;

	(void)state;
	setenv("NCCL_DEBUG", "TRACE", 1);
	setenv("NCCL_DEBUG_FILE", "/dev/full", 1);
	s = all_cards(NULL, NULL, "\"max_size\":\"64M\",\"windows\":\"1\"");
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
	assert_int_equal(s->status, 0);
	expect_near(value_of(s, rates[0], NULL), 300);
	assert_string_equal(param_of(s, reading_of(s, rates[0], NULL), "algorithm"),
	                    "\"RING SIMPLE, 24 channels\"");
	assert_string_equal(param_of(s, reading_of(s, rates[0], NULL), "environment"),
	                    "{\"NCCL_DEBUG\":\"TRACE\",\"NCCL_DEBUG_FILE\":\"/dev/full\"}");
	look_away(s);
}

/* --- what is wrong ---------------------------------------- */

static void a_wrong_element_is_found_on_its_card(void **state)
{
	static const struct {
		const char *op, *name;
		int after; /* results that are right before it */
	} rows[] = {
		{"all_reduce", "\"all-reduce\"", 0}, {"all_reduce", "\"all-reduce\"", 1},
		{"all_gather", "\"all-gather\"", 0}, {"reduce_scatter", "\"reduce-scatter\"", 1},
		{"broadcast", "\"broadcast\"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s = all_cards(
			tmpf("{\"kind\":\"nccl_wrong\",\"rank\":2,\"op\":\"%s\",\"after\":%d}",
		             rows[i].op, rows[i].after),
			NULL, "\"max_size\":\"16M\"");
		const struct reading *r = expect_not(s, "collective_wrong_elements", NULL,
		                                     OUTCOME_FAILED, "collective_wrong");
		const char *first = param_of(s, r, "first_wrong");

		assert_true(r->value == 1);
		assert_non_null(strstr(r->reason.text, CARD2));
		assert_non_null(strstr(first, tmpf("\"operation\":%s", rows[i].name)));
		assert_non_null(strstr(first, "\"pci\":\"" CARD2 "\""));
		assert_non_null(strstr(first, "\"element\":0,"));
		assert_non_null(strstr(first, "\"bits\":\"0x4000000000000000\""));
		judge(s, PROFILE, 4);
		expect_finding(s, "collective-right", NULL, "fail");
		look_away(s);
	}
}

/* Every element of every rank, in windows too. */
static void wrong_elements_are_counted(void **state)
{
	struct seen *s = all_cards("{\"kind\":\"nccl_wrong\",\"op\":\"all_reduce\",\"every\":1}",
	                           NULL, NULL);
	const struct reading *r = expect_not(s, "collective_wrong_elements", NULL, OUTCOME_FAILED,
	                                     "collective_wrong");

	(void)state;
	assert_true(r->value > 4 * 10);
	expect_not(s, rates[0], NULL, OUTCOME_FAILED, "collective_wrong");
	expect_not(s, rates[1], NULL, OUTCOME_FAILED, "collective_wrong");
	expect_near(value_of(s, rates[2], NULL), 300);
	look_away(s);
}

static void a_slow_ring_fails(void **state)
{
	struct seen *s = all_cards("{\"kind\":\"nccl_slow\",\"factor\":0.6}", NULL, NULL);

	(void)state;
	expect_near(value_of(s, rates[0], NULL), 180);
	judge(s, PROFILE, 4);
	expect_finding(s, "allreduce-node", NULL, "fail");
	look_away(s);
}

static void a_slow_link_is_named(void **state)
{
	struct seen *s = all_cards("{\"kind\":\"slow_link\",\"card\":1,\"peer\":2,\"factor\":0.5}",
	                           NULL, NULL);
	const struct reading *r = reading_of(s, "collective_pair_gbs", NULL);

	(void)state;
	expect_near(value_of(s, rates[0], NULL), 150);
	expect_near(r->value, 150);
	assert_int_equal(r->subject.n_ends, 2);
	assert_string_equal(param_of(s, r, "from"), "\"" CARD1 "\"");
	assert_string_equal(param_of(s, r, "to"), "\"" CARD2 "\"");
	expect_near(r->stats[STAT_MEDIAN], 300);
	judge(s, PROFILE, 4);
	expect_finding(s, "allreduce-node", NULL, "fail");
	look_away(s);
}

/* --- who does not come ---------------------------------------- */

static void all_are_owed(const struct seen *s, enum outcome outcome, const char *code)
{
	for (size_t i = 0; i < RATES; i++)
		expect_not(s, rates[i], NULL, outcome, code);
	expect_not(s, "collective_allreduce_of_ring", NULL, outcome, code);
	expect_not(s, "collective_allreduce_node_us", NULL, outcome, code);
	expect_not(s, "collective_wrong_elements", NULL, outcome, code);
	assert_int_equal(s->status, 0);
}

static void an_absent_rank_is_named(void **state)
{
	struct seen *s =
		all_cards("{\"kind\":\"nccl_absent\",\"rank\":3}", NULL, "\"timeout_s\":\"0.5\"");
	const char *text;

	(void)state;
	all_are_owed(s, OUTCOME_TIMED_OUT, "collective_absent");
	text = reading_of(s, rates[0], NULL)->reason.text;
	assert_non_null(strstr(text, CARD3));
	assert_null(strstr(text, CARD0));
	assert_null(strstr(text, CARD1));
	judge(s, PROFILE, 4);
	expect_finding(s, "allreduce-node", NULL, "fail");
	look_away(s);
}

static void a_card_that_hangs_is_named(void **state)
{
	static const char *const calls[] = {"cuStreamCreate", "cuMemAlloc", "cuMemsetD8Async",
	                                    "cuEventRecord"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct seen *s =
			all_cards(tmpf("{\"kind\":\"hang\",\"card\":2,\"call\":\"%s\"}", calls[i]),
		                  NULL, "\"timeout_s\":\"0.5\",\"max_size\":\"1M\"");

		all_are_owed(s, OUTCOME_TIMED_OUT, "card_refused");
		assert_non_null(strstr(reading_of(s, rates[0], NULL)->reason.args[0], CARD2));
		look_away(s);
	}
}

static void a_lost_card_is_named(void **state)
{
	static const int after[] = {3, 50};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct seen *s = all_cards(
			tmpf("{\"kind\":\"lost\",\"card\":1,\"after\":%d}", after[i]), NULL, NULL);

		all_are_owed(s, OUTCOME_FAILED, "card_refused");
		assert_non_null(strstr(reading_of(s, rates[0], NULL)->reason.args[0], CARD1));
		look_away(s);
	}
}

/* Queued, begun and not done: all wait for one another. */
static void a_call_that_does_not_end_is_given_up(void **state)
{
	/* Of the stand-ins' time. */
	struct seen *s =
		all_cards("{\"kind\":\"nccl_slow\",\"factor\":1e-9}", NULL, "\"timeout_s\":\"10\"");
	const char *text;

	(void)state;
	all_are_owed(s, OUTCOME_TIMED_OUT, "collective_absent");
	text = reading_of(s, rates[0], NULL)->reason.text;
	assert_non_null(strstr(text, "all-reduce"));
	assert_non_null(strstr(text, CARD0));
	assert_non_null(strstr(text, CARD3));
	look_away(s);
}

static void an_error_of_nccl_is_told(void **state)
{
	struct seen *s =
		all_cards("{\"kind\":\"error\",\"call\":\"ncclAllGather\",\"code\":3}", NULL, NULL);
	const struct reading *r;

	(void)state;
	/* What was measured before it stands. */
	expect_near(value_of(s, rates[0], NULL), 300);
	expect_near(value_of(s, rates[1], NULL), 300);
	r = expect_not(s, rates[2], NULL, OUTCOME_FAILED, "card_refused");
	assert_non_null(strstr(r->reason.text, "NCCL found an error in itself"));
	expect_not(s, "collective_wrong_elements", NULL, OUTCOME_FAILED, "card_refused");
	look_away(s);
}

/* --- what there is not ---------------------------------------- */

static void one_card_has_no_collective(void **state)
{
	struct seen *s = all_cards(NULL, "\"count\":1,", NULL);

	(void)state;
	all_are_owed(s, OUTCOME_UNSUPPORTED, "collective_one_card");
	judge(s, PROFILE, 1);
	expect_finding(s, "allreduce-node", NULL, "not_applicable");
	look_away(s);
}

static void without_nccl_it_is_not_measured(void **state)
{
	static const char *const libraries[] = {"libcuda.so.1", "libnvidia-ml.so.1"};
	char folder[] = "/tmp/assay-no-nccl-XXXXXX";
	struct seen *s;

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(symlink(tmpf("%s/tests/standin/lib/%s", BINARY_DIR, libraries[i]),
		                         tmpf("%s/%s", folder, libraries[i])),
		                 0);
	s = ask((struct ask){
		.probe = "collective", .only = folder, .look = {.more = FAST, .cards = A100}});
	all_are_owed(s, OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(reading_of(s, rates[0], NULL)->reason.text, "libnccl.so.2"));
	look_away(s);
	assert_int_equal(dir_remove(folder, NULL), ST_OK);
}

static void messages_fit_the_fullest_card(void **state)
{
	static const char foreign[] = "{\"kind\":\"foreign_process\",\"card\":1,\"memory_mib\":%d}";
	struct seen *s = all_cards(tmpf(foreign, 78500), NULL, NULL);
	const struct reading *r;

	(void)state;
	assert_string_equal(param_of(s, reading_of(s, rates[0], NULL), "bytes"), "262144");
	look_away(s);
	s = all_cards(tmpf(foreign, 80000), NULL, NULL);
	all_are_owed(s, OUTCOME_NOT_MEASURED, "card_refused");
	r = reading_of(s, rates[0], NULL);
	assert_non_null(strstr(r->reason.text, CARD1));
	assert_non_null(strstr(r->reason.text, "room for two buffers"));
	look_away(s);
}

/* Asks with a deadline that this machine reaches between the first operations and the
 * last: longer while the first are missing, shorter when the last is there. */
static struct seen *ask_half_way(void)
{
	double deadline = 1.8;

	for (int tries = 0; tries < 12; tries++) {
		struct seen *s = ask(
			(struct ask){.probe = "collective",
		                     .look = {.more = FAST, .cards = A100, .deadline_s = deadline},
		                     .params = "\"max_size\":\"1G\""});
		bool first = reading_of(s, rates[1], NULL)->outcome == OUTCOME_MEASURED;
		bool last = reading_of(s, "collective_pair_gbs", NULL)->outcome == OUTCOME_MEASURED;

		if (first && !last)
			return s;
		look_away(s);
		deadline *= last ? 0.8 : 1.5;
	}
	fail_msg("no deadline falls between the operations");
	return NULL;
}

/* What no time was left for is not measured, and what was begun stands. */
static void a_deadline_leaves_operations_out(void **state)
{
	struct seen *s = ask_half_way();

	(void)state;
	assert_int_equal(s->status, 0);
	expect_near(value_of(s, rates[0], NULL), 300);
	expect_near(value_of(s, rates[1], NULL), 300);
	expect_not(s, "collective_pair_gbs", NULL, OUTCOME_NOT_MEASURED, "collective_no_time");
	assert_true(value_of(s, "collective_wrong_elements", NULL) == 0);
	look_away(s);
	/* In the midst of a call: no card is to blame. */
	s = ask((struct ask){.probe = "collective",
	                     .look = {.more = FAST, .cards = A100, .deadline_s = 1}});
	all_are_owed(s, OUTCOME_NOT_MEASURED, "collective_no_time");
	look_away(s);
}

static void without_a_driver_it_is_said(void **state)
{
	struct arena arena = {0};
	struct probe_ctx ctx;
	struct support s;

	(void)state;
	plan_context(&ctx, &arena, &probe_collective,
	             &(struct plan_request){.lib_dir = "/nonexistent", .node = "n001"});
	s = probe_collective.supported(&ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "no_driver");
	arena_release(&arena);
}

static void cards_without_nvlink_are_measured(void **state)
{
	struct seen *s =
		ask((struct ask){.probe = "collective",
	                         .look = {.more = "\"count\":2,\"costs\":{\"collective_us\":0.1},",
	                                  .cards = "{\"model\":\"rtx-4090\"}"}});

	(void)state;
	assert_true(value_of(s, rates[0], NULL) > 20 && value_of(s, rates[0], NULL) < 40);
	judge(s, "rtx-4090", 2);
	expect_no_finding(s, &probe_collective);
	look_away(s);
}

/* --- what NCCL tells ---------------------------------------- */

static void choices_are_read_in_every_form(void **state)
{
	static const struct {
		const char *text, *choice;
	} rows[] = {
		{"n:1:2 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL "
	         "channel{Lo..Hi}={0..1}\n",
	         "RING LL, 2 channels"},
		{"NCCL INFO AllReduce: 8589934592 Bytes -> Algo NVLS proto SIMPLE "
	         "channel{Lo..Hi}={0..15}\n",
	         "NVLS SIMPLE, 16 channels"},
		{"NCCL INFO 8 Bytes -> Algo 0 proto 0 time 7.2\nNCCL INFO 1048576 Bytes -> Algo 1 "
	         "proto 2 time 9\n",
	         "RING SIMPLE"},
		{"NCCL INFO AllGather: 37756928 Bytes -> Algo 1 proto 1 time 2860.208008\n",
	         "RING LL128"},
		{"8 Bytes -> Algo 99 proto 7", "99 7"},
		{"8 Bytes -> Algo RING", NULL},
		{"8 Bytes -> Algo ", NULL},
		{"nothing of the kind\n", NULL},
		{"", NULL},
	};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *found = collective_log_find_algorithm(&arena, rows[i].text);

		if (rows[i].choice)
			assert_string_equal(found, rows[i].choice);
		else
			assert_null(found);
	}
	arena_release(&arena);
}

static void formulas_are_those_of_nccl_tests(void **state)
{
	struct collective_job job;

	(void)state;
	assert_true(collective_bus_factor(OP_ALL_REDUCE, 8) == 1.75);
	assert_true(collective_bus_factor(OP_ALL_GATHER, 8) == 0.875);
	assert_true(collective_bus_factor(OP_REDUCE_SCATTER, 4) == 0.75);
	assert_true(collective_bus_factor(OP_ALL_TO_ALL, 2) == 0.5);
	assert_true(collective_bus_factor(OP_BROADCAST, 8) == 1);
	assert_true(collective_bus_factor(OP_SEND_RECV, 8) == 1);
	assert_true(collective_job_make(&job, OP_ALL_REDUCE, 8, 4096));
	assert_true(job.words == 512 && job.bytes == 4096);
	/* The size is that of all ranks' parts. */
	assert_true(collective_job_make(&job, OP_ALL_GATHER, 8, 4096));
	assert_true(job.words == 64 && job.bytes == 4096);
	assert_true(collective_job_make(&job, OP_ALL_GATHER, 3, 4096));
	assert_true(job.words == 160 && job.bytes == 3840);
	assert_false(collective_job_make(&job, OP_REDUCE_SCATTER, 8, 32));
	assert_false(collective_job_make(&job, OP_ALL_REDUCE, 8, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_node),
		cmocka_unit_test(raw_files_are_tables),
		cmocka_unit_test(what_nccl_chose_is_told),
		cmocka_unit_test(the_choice_is_judged_against_the_ring),
		cmocka_unit_test(any_number_of_cards),
		cmocka_unit_test(sizes_go_from_8_bytes_to_the_largest),
		cmocka_unit_test(more_than_the_links_carry_is_no_error),
		cmocka_unit_test(the_cards_that_took_part_are_counted),
		cmocka_unit_test(lines_of_nccl_do_not_mix_with_figures),
		cmocka_unit_test(a_wrong_element_is_found_on_its_card),
		cmocka_unit_test(wrong_elements_are_counted),
		cmocka_unit_test(a_slow_ring_fails),
		cmocka_unit_test(a_slow_link_is_named),
		cmocka_unit_test(an_absent_rank_is_named),
		cmocka_unit_test(a_card_that_hangs_is_named),
		cmocka_unit_test(a_lost_card_is_named),
		cmocka_unit_test(a_call_that_does_not_end_is_given_up),
		cmocka_unit_test(an_error_of_nccl_is_told),
		cmocka_unit_test(one_card_has_no_collective),
		cmocka_unit_test(without_nccl_it_is_not_measured),
		cmocka_unit_test(messages_fit_the_fullest_card),
		cmocka_unit_test(a_deadline_leaves_operations_out),
		cmocka_unit_test(without_a_driver_it_is_said),
		cmocka_unit_test(cards_without_nvlink_are_measured),
		cmocka_unit_test(choices_are_read_in_every_form),
		cmocka_unit_test(formulas_are_those_of_nccl_tests),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
