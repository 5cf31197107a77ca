/* Facts of a card from function tables filled by hand: answers that come in sequences,
 * and those that no stand-in gives. */
#include "probe_harness.h"

#include <stdlib.h>
#include <string.h>

#include "inventory_cards.h"

extern const struct probe probe_inventory;

/* What the fake driver answers; reset before each test. */
static struct {
	unsigned generations[8]; /* one a question; the last from then on */
	int asked;
	nvml_result generation_code;
	int64_t recovery;
	unsigned long long errors;
	nvml_result fabric_status;
	int fabric_polls; /* in progress so many times, then completed */
} fake;

static struct harness h;
static struct fake_clock clock_fake;
static struct gpus gpus;
static struct gpu_card card;

static const struct reading *only(const char *metric)
{
	return harness_expect(&h, metric, OUTCOME_MEASURED, NULL);
}

/* --- PCIe -------------------------------------------------------------------------------- */

static nvml_result generation(nvml_device dev, unsigned *now)
{
	int at = fake.asked++;

	(void)dev;
	while (at >= 7 || (at > 0 && fake.generations[at] == 0))
		at--;
	*now = fake.generations[at];
	return fake.generation_code;
}

static nvml_result most(nvml_device dev, unsigned *value)
{
	(void)dev;
	*value = 5;
	return NVML_OK;
}

static nvml_result lanes(nvml_device dev, unsigned *value)
{
	(void)dev;
	*value = 8;
	return NVML_OK;
}

static nvml_result most_lanes(nvml_device dev, unsigned *value)
{
	(void)dev;
	*value = 16;
	return NVML_OK;
}

static cu_result retain(cu_context *context, cu_device dev)
{
	(void)dev;
	*context = NULL;
	return CU_OK;
}

static cu_result release(cu_device dev)
{
	(void)dev;
	return CU_OK;
}

static cu_result set(cu_context context)
{
	(void)context;
	return CU_OK;
}

static cu_result stream_create(cu_stream *stream, unsigned flags)
{
	(void)flags;
	*stream = NULL;
	return CU_OK;
}

static cu_result alloc(cu_ptr *at, size_t bytes)
{
	(void)bytes;
	*at = 0;
	return CU_OK;
}

static cu_result host_alloc(void **at, size_t bytes, unsigned flags)
{
	(void)bytes;
	(void)flags;
	*at = NULL;
	return CU_OK;
}

static cu_result copy(cu_ptr to, const void *from, size_t bytes, cu_stream stream)
{
	(void)to, (void)from, (void)bytes, (void)stream;
	return CU_OK;
}

static cu_result sync_stream(cu_stream stream)
{
	(void)stream;
	clock_fake.now_ns += 10000000;
	return CU_OK;
}

static const struct reading *read_pcie(const unsigned *generations, int n)
{
	harness_clear(&h);
	memset(fake.generations, 0, sizeof(fake.generations));
	memcpy(fake.generations, generations, (size_t)n * sizeof(*generations));
	fake.asked = 0;
	gpus.nvml.call.pcie_generation = generation;
	gpus.nvml.call.pcie_max_generation = most;
	gpus.nvml.call.pcie_width = lanes;
	gpus.nvml.call.pcie_max_width = most_lanes;
	gpus.cuda.call.context_retain = retain;
	gpus.cuda.call.context_release = release;
	gpus.cuda.call.context_set = set;
	gpus.cuda.call.stream_create = stream_create;
	gpus.cuda.call.alloc = alloc;
	gpus.cuda.call.host_alloc = host_alloc;
	gpus.cuda.call.copy_to_device = copy;
	gpus.cuda.call.stream_sync = sync_stream;
	card.has_cu = true;
	assert_int_equal(pcie_facts(&gpus, &card), ST_OK);
	return harness_reading(&h, "card_pcie_gen");
}

/* The generation reads 1 while the card idles, or flaps: one look gives a false fail or a
 * false pass. The highest that was seen under load counts, and it is looked for no longer
 * than a second. A width below the most needs no load to be a finding. */
static void a_flapping_link_is_read_under_load(void **state)
{
	static const unsigned flaps[] = {1, 5, 2, 5}, late[] = {1, 1, 2, 1, 4, 3, 5};
	static const unsigned slow[] = {1, 4, 1, 3, 4}, asleep[] = {1};
	const struct reading *r = read_pcie(flaps, 4);

	(void)state;
	assert_true(r->outcome == OUTCOME_MEASURED && r->value == 5);
	assert_true(harness_param(r, "idle_generation") == 1);
	assert_true(harness_param(r, "rounds_of_load") == 1);
	assert_true(only("card_pcie_width")->value == 8);
	r = read_pcie(late, 7);
	assert_true(r->value == 5);
	r = read_pcie(slow, 5);
	assert_true(r->outcome == OUTCOME_MEASURED && r->value == 4);
	assert_true(harness_param(r, "rounds_of_load") > 90);
	assert_true(harness_param(r, "rounds_of_load") < 110);
	r = read_pcie(asleep, 1);
	assert_true(r->outcome == OUTCOME_MEASURED && r->value == 1);
}

/* Unknown, and not generation 0. */
static void a_generation_that_is_not_told_is_none(void **state)
{
	static const unsigned nothing[] = {0};
	const struct reading *r;

	(void)state;
	fake.generation_code = NVML_NOT_SUPPORTED;
	r = read_pcie(nothing, 1);
	assert_int_equal(r->outcome, OUTCOME_UNSUPPORTED);
	assert_int_equal(r->value_kind, VALUE_NONE);
	assert_true(only("card_pcie_width")->value == 8);
}

/* --- fabric ------------------------------------------------------------------------------- */

static nvml_result fabric(nvml_device dev, nvml_fabric *f)
{
	(void)dev;
	f->state = fake.fabric_polls-- > 0 ? NVML_FABRIC_IN_PROGRESS : NVML_FABRIC_COMPLETED;
	f->status = fake.fabric_status;
	f->clique = 7;
	return NVML_OK;
}

/* The listing works while the fabric is still on its way, or never gets there: it is asked
 * when the card is first looked at and once more after CUDA has waited for it. */
static void a_fabric_on_its_way_is_asked_again(void **state)
{
	const struct reading *r;

	(void)state;
	gpus.nvml.call.fabric = fabric;
	fake.fabric_polls = 1;
	assert_int_equal(nvlink_facts(&gpus, &card), ST_OK);
	assert_int_equal(harness_count(&h, "card_fabric"), 0);
	assert_int_equal(fabric_facts(&gpus, &card), ST_OK);
	r = only("card_fabric");
	assert_string_equal(r->text, "completed");
	assert_string_equal(harness_param_text(&h, r, "status"), "ok");

	harness_clear(&h);
	card.fabric_begun = false;
	fake.fabric_polls = 1 << 30;
	nvlink_facts(&gpus, &card);
	assert_int_equal(fabric_facts(&gpus, &card), ST_OK);
	assert_string_equal(only("card_fabric")->text, "in progress");

	/* Done at once: nothing is said twice. */
	harness_clear(&h);
	card.fabric_begun = false;
	fake.fabric_polls = 0;
	nvlink_facts(&gpus, &card);
	assert_int_equal(fabric_facts(&gpus, &card), ST_OK);
	assert_string_equal(only("card_fabric")->text, "completed");

	/* Completed, and not with success. */
	harness_clear(&h);
	fake.fabric_status = NVML_UNKNOWN;
	nvlink_facts(&gpus, &card);
	r = only("card_fabric");
	assert_string_equal(r->text, "failed");
	assert_string_equal(harness_param_text(&h, r, "status"), "Unknown Error");
}

/* --- health ---------------------------------------------------------------------------------- */

static nvml_result fields(nvml_device dev, int count, nvml_field *values)
{
	(void)dev;
	assert_int_equal(count, 1);
	if (values->id != NVML_FIELD_RECOVERY_ACTION) {
		values->result = NVML_NOT_SUPPORTED;
		return NVML_OK;
	}
	values->result = NVML_OK;
	values->type = NVML_TYPE_I64;
	values->value.i64 = fake.recovery;
	return NVML_OK;
}

static nvml_result ecc_total(nvml_device dev, nvml_ecc_kind kind, nvml_ecc_counter since,
                             unsigned long long *count)
{
	(void)dev, (void)kind, (void)since;
	*count = fake.errors;
	return NVML_OK;
}

/* In a row where all else looked well, the recovery action alone told a bad card from a
 * good one. Numbers of later drivers are not taken for none. */
static void what_the_driver_wants_done_is_told(void **state)
{
	static const struct {
		int64_t action;
		const char *word;
	} rows[] = {
		{0, "none"},       {1, "reset"},           {2, "reboot"},
		{3, "drain"},      {4, "drain and reset"}, {7, "action 7"},
		{-1, "action -1"},
	};

	(void)state;
	gpus.nvml.call.fields = fields;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		harness_clear(&h);
		fake.recovery = rows[i].action;
		assert_int_equal(health_facts(&gpus, &card), ST_OK);
		assert_string_equal(only("card_recovery_action")->text, rows[i].word);
	}
}

/* A counter with all its bits set is a very large number, and not -1. */
static void counters_have_64_bits(void **state)
{
	const struct reading *r;

	(void)state;
	gpus.nvml.call.ecc_total = ecc_total;
	fake.errors = ~0ULL;
	assert_int_equal(health_facts(&gpus, &card), ST_OK);
	r = only("card_ecc_uncorrected");
	assert_true(r->value > 1.8e19);
	/* Numbers that readers of JSON would round are texts. */
	assert_string_equal(harness_param_text(&h, r, "corrected"), "9223372036854775807");
}

/* --- setup ------------------------------------------------------------------------------------ */

static const char *error_string(nvml_result code)
{
	return code == NVML_UNKNOWN ? "Unknown Error" : "?";
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	harness_init(&h, &probe_inventory);
	fake_clock_init(&clock_fake, NS_PER_S, 0);
	h.ctx.clock = &clock_fake.source;
	gpus = (struct gpus){.ctx = &h.ctx, .memory_scale = 1};
	gpus.nvml.call.error_string = error_string;
	card = (struct gpu_card){
		.id = "GPU-0", .pci = "0000:17:00.0", .in_nvml = true, .has_nv = true};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	harness_release(&h);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_flapping_link_is_read_under_load),
		TEST(a_generation_that_is_not_told_is_none),
		TEST(a_fabric_on_its_way_is_asked_again),
		TEST(what_the_driver_wants_done_is_told),
		TEST(counters_have_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
