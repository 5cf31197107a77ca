/* CUDA, NCCL and cublasLt on function tables filled by hand, no library is
 * loaded: errors by cause, patience with an end, cards, plans of products. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "hw/cublas.h"
#include "hw/cuda.h"
#include "hw/nccl.h"

/* What the fake libraries answer; reset before each test. */
static struct {
	int init_answers; /* 802 so many times */
	cu_result init_then;
	int cards;
	int64_t now;
	int open;  /* descriptors of cublasLt not given back */
	int found; /* algorithms */
	int8_t fast;
	cublas_operation trans_a;
	uint64_t rows[3];
} fake;

static struct arena arena;
static struct error err;
static struct cuda cuda;
static struct nccl nccl;
static struct cublas cublas;

static void assert_says(const char *words)
{
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" does not say \"%s\"", str_text(&err.text), words);
	error_release(&err);
}

static int64_t fake_now(void *self)
{
	(void)self;
	return fake.now;
}

static void fake_sleep(void *self, int64_t ns)
{
	(void)self;
	fake.now += ns;
}

static const struct clock_source fake_clock = {
	.now_ns = fake_now, .wall_ns = fake_now, .sleep_ns = fake_sleep};

/* --- errors by cause ------------------------------------------------------------------ */

static cu_result error_name(cu_result code, const char **name)
{
	*name = code == 4711 ? NULL : "CUDA_ERROR_X";
	return code == 4711 ? CU_INVALID_VALUE : CU_OK;
}

static void cuda_errors_say_what_to_do(void **state)
{
	static const struct {
		cu_result code;
		const char *words;
		enum outcome outcome;
		bool sticky;
	} due[] = {
		{CU_OUT_OF_MEMORY, "other processes", OUTCOME_NOT_MEASURED, false},
		{CU_STUB_LIBRARY, "LD_LIBRARY_PATH", OUTCOME_NOT_MEASURED, true},
		{CU_DEVICE_UNAVAILABLE, "exclusive", OUTCOME_NOT_MEASURED, false},
		{CU_NO_DEVICE, "--gpus all", OUTCOME_NOT_MEASURED, true},
		{CU_PTX_VERSION, "too old", OUTCOME_NOT_MEASURED, false},
		{CU_ECC_UNCORRECTABLE, "reset", OUTCOME_FAILED, true},
		{CU_ILLEGAL_ADDRESS, "Xid", OUTCOME_FAILED, true},
		{CU_LAUNCH_FAILED, "Xid", OUTCOME_FAILED, true},
		{CU_SYSTEM_NOT_READY, "nvidia-fabricmanager", OUTCOME_FAILED, true},
		{CU_DRIVER_MISMATCH, "reboot", OUTCOME_NOT_MEASURED, true},
		{CU_COMPAT_UNSUPPORTED, "cuda-compat", OUTCOME_NOT_MEASURED, true},
		{CU_NOT_SUPPORTED, "does not do", OUTCOME_UNSUPPORTED, false},
		{CU_UNKNOWN, "Xid 79", OUTCOME_FAILED, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(due) / sizeof(*due); i++) {
		assert_int_not_equal(cuda_check(&cuda, due[i].code, "launch", &err), ST_OK);
		assert_int_equal(cuda.code, due[i].code);
		assert_int_equal(cuda.fault->outcome, due[i].outcome);
		assert_int_equal(cuda.fault->sticky, due[i].sticky);
		assert_int_equal(strncmp(err.text.data, "cuLaunchKernel: ", 16), 0);
		assert_says(due[i].words);
	}
	assert_int_equal(cuda_check(&cuda, 12345, "launch", &err), ST_UNSUPPORTED);
	assert_null(cuda.fault);
	assert_says("cuLaunchKernel failed: CUDA_ERROR_X (12345)");
	assert_int_equal(cuda_check(&cuda, 4711, "launch", &err), ST_UNSUPPORTED);
	assert_says("? (4711)");
	assert_int_equal(cuda_check(&cuda, CU_OK, "launch", &err), ST_OK);
}

/* --- patience with an end -------------------------------------------------------------- */

static cu_result init(unsigned flags)
{
	assert_int_equal(flags, 0);
	assert_string_equal(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
	return fake.init_answers-- > 0 ? CU_SYSTEM_NOT_READY : fake.init_then;
}

static cu_result device_count(int *count)
{
	*count = fake.cards;
	return CU_OK;
}

static void a_slow_fabric_is_waited_for(void **state)
{
	(void)state;
	cuda.call.init = init;
	cuda.call.device_count = device_count;
	fake.init_answers = 5;
	fake.cards = 8;
	assert_int_equal(cuda_start(&cuda, &fake_clock, 20 * NS_PER_S, &err), ST_OK);
	assert_int_equal(fake.now, 5 * NS_PER_S);
	assert_int_equal(cuda.count, 8);
	/* One that never comes ends at the deadline, by its cause. */
	fake.init_answers = 1000;
	fake.now = 0;
	assert_int_equal(cuda_start(&cuda, &fake_clock, 20 * NS_PER_S, &err), ST_UNSUPPORTED);
	assert_true(fake.now <= 20 * NS_PER_S && fake.now >= 18 * NS_PER_S);
	assert_says("CUDA error 802");
	/* Anything else is not waited for; no card is an error with a cause. */
	fake.init_answers = 0;
	fake.init_then = CU_DRIVER_MISMATCH;
	fake.now = 0;
	assert_int_equal(cuda_start(&cuda, &fake_clock, 20 * NS_PER_S, &err), ST_UNSUPPORTED);
	assert_int_equal(fake.now, 0);
	assert_says("803");
	fake.init_then = CU_OK;
	fake.cards = 0;
	assert_int_equal(cuda_start(&cuda, &fake_clock, 0, &err), ST_NOTFOUND);
	assert_says("CUDA_VISIBLE_DEVICES");
}

static const char *nccl_error_string(nccl_result result)
{
	(void)result;
	return "unhandled";
}

static const char *last_error(nccl_comm comm)
{
	(void)comm;
	return "Bootstrap : no socket interface found";
}

static void a_rank_that_is_lost_is_told(void **state)
{
	nccl_config config = nccl_config_make();

	(void)state;
	assert_int_equal(config.size, 24);
	assert_int_equal(config.blocking, 0);
	nccl.call.error_string = nccl_error_string;
	nccl.call.last_error = last_error;
	assert_int_equal(nccl_check(&nccl, NULL, NCCL_IN_PROGRESS, "ncclX", &err), ST_OK);
	assert_int_equal(nccl_check(&nccl, NULL, NCCL_REMOTE_ERROR, "ncclX", &err), ST_IO);
	assert_int_equal(nccl.fault->outcome, OUTCOME_FAILED);
	assert_says("another rank ended or was lost (6) NCCL says: Bootstrap");
}

/* --- cards and code -------------------------------------------------------------------- */

static cu_result device_get(cu_device *dev, int index)
{
	*dev = index;
	return index == 0 ? CU_ECC_UNCORRECTABLE : CU_OK;
}

static cu_result device_name(char *name, int size, cu_device dev)
{
	(void)dev;
	assert_true(size > 64);
	strcpy(name, "NVIDIA A100-SXM4-80GB");
	return CU_OK;
}

static cu_result device_pci(char *id, int size, cu_device dev)
{
	assert_true(size > 12);
	strcpy(id, dev == 1 ? "0000:0B:00.0" : "0000:A8:00.0");
	return CU_OK;
}

static cu_result device_uuid(cu_uuid *uuid, cu_device dev)
{
	memset(uuid->bytes, 0xf0 + dev, sizeof(uuid->bytes));
	return CU_OK;
}

static cu_result device_memory(size_t *bytes, cu_device dev)
{
	(void)dev;
	*bytes = (size_t)80 << 30;
	return CU_OK;
}

static cu_result device_attribute(int *value, cu_attribute attribute, cu_device dev)
{
	(void)dev;
	*value = attribute == CU_ATTR_CLOCK_KHZ ? 1410000 : attribute;
	return attribute == CU_ATTR_MEMORY_CLOCK_KHZ ? CU_INVALID_VALUE : CU_OK;
}

static void cards_are_found_by_uuid_and_address(void **state)
{
	struct cuda_card card;

	(void)state;
	cuda.call.device_get = device_get;
	cuda.call.device_name = device_name;
	cuda.call.device_pci = device_pci;
	cuda.call.device_uuid = device_uuid;
	cuda.call.device_memory = device_memory;
	cuda.call.device_attribute = device_attribute;
	cuda.count = 3;
	assert_int_equal(cuda_card_read(&cuda, &arena, 0, &card, &err), ST_IO);
	assert_says("memory error");
	assert_int_equal(cuda_card_read(&cuda, &arena, 1, &card, &err), ST_OK);
	assert_string_equal(card.uuid, "GPU-f1f1f1f1-f1f1-f1f1-f1f1-f1f1f1f1f1f1");
	assert_int_equal(card.sm_count, CU_ATTR_SM_COUNT);
	assert_int_equal(card.clock_mhz, 1410);
	assert_int_equal(card.memory_clock_mhz, -1);
	assert_true(card.ecc);
	assert_int_equal(cuda_card_find(&cuda, &arena, "00000000:A8:00.0", &card, &err), ST_OK);
	assert_int_equal(card.index, 2);
	assert_int_equal(cuda_card_find(&cuda, &arena, "GPU-F1F1F1F1-F1F1-F1F1-F1F1-F1F1F1F1F1F1",
	                                &card, &err),
	                 ST_OK);
	assert_int_equal(card.index, 1);
	assert_int_equal(cuda_card_find(&cuda, &arena, "0000:01:00.0", &card, &err), ST_NOTFOUND);
	assert_says("CUDA sees 3 cards");
}

static cu_result module_load(cu_module *module, const void *image, unsigned count,
                             cu_jit_option *options, void **values)
{
	(void)module;
	assert_int_equal(count, 2);
	assert_int_equal(options[0], CU_JIT_ERROR_LOG);
	assert_true((uintptr_t)values[1] >= 1024);
	if (strcmp(image, "new") == 0)
		return CU_PTX_VERSION;
	strcpy(values[0], "ptxas fatal: line 3");
	return CU_INVALID_PTX;
}

static void refused_code_says_why(void **state)
{
	cu_module module;

	(void)state;
	cuda.call.module_load = module_load;
	assert_int_equal(cuda_module(&cuda, "new", &module, &err), ST_UNSUPPORTED);
	assert_int_equal(cuda.code, CU_PTX_VERSION);
	assert_says("driver is too old for Assay's device code");
	assert_int_equal(cuda_module(&cuda, "bad", &module, &err), ST_UNSUPPORTED);
	assert_says("The compiler says: ptxas fatal: line 3");
}

/* --- the plan of a product -------------------------------------------------------- */

static cublas_status desc_create(cublaslt_desc *desc, cublas_compute compute, cuda_type scale)
{
	assert_int_equal(compute, CUBLAS_COMPUTE_FP32);
	assert_int_equal(scale, CUDA_FP32);
	fake.open++;
	*desc = (cublaslt_desc)&fake;
	return CUBLAS_OK;
}

static cublas_status desc_destroy(cublaslt_desc desc)
{
	assert_ptr_equal(desc, &fake);
	fake.open--;
	return CUBLAS_OK;
}

static cublas_status desc_set(cublaslt_desc desc, cublaslt_desc_attr attribute, const void *value,
                              size_t bytes)
{
	(void)desc;
	if (attribute == CUBLASLT_FAST_ACCUMULATION)
		memcpy(&fake.fast, value, bytes);
	if (attribute == CUBLASLT_TRANS_A)
		memcpy(&fake.trans_a, value, bytes);
	return CUBLAS_OK;
}

static cublas_status layout_create(cublaslt_layout *layout, cuda_type type, uint64_t rows,
                                   uint64_t columns, int64_t ld)
{
	int i = fake.open - 1;

	assert_int_equal(rows, ld);
	assert_true(columns > 0);
	assert_int_equal(type, i < 2 ? CUDA_FP8_E4M3 : CUDA_BF16);
	fake.rows[i] = rows;
	fake.open++;
	*layout = (cublaslt_layout)&fake;
	return CUBLAS_OK;
}

static cublas_status layout_destroy(cublaslt_layout layout)
{
	assert_ptr_equal(layout, &fake);
	fake.open--;
	return CUBLAS_OK;
}

static cublas_status pref_create(cublaslt_pref *pref)
{
	fake.open++;
	*pref = (cublaslt_pref)&fake;
	return CUBLAS_OK;
}

static cublas_status pref_destroy(cublaslt_pref pref)
{
	assert_ptr_equal(pref, &fake);
	fake.open--;
	return CUBLAS_OK;
}

static cublas_status pref_set(cublaslt_pref pref, cublaslt_pref_attr attribute, const void *value,
                              size_t bytes)
{
	uint64_t room;

	(void)pref;
	assert_int_equal(attribute, CUBLASLT_MAX_WORKSPACE);
	assert_int_equal(bytes, sizeof(room));
	memcpy(&room, value, bytes);
	assert_int_equal(room, 4096);
	return CUBLAS_OK;
}

static cublas_status heuristic(cublaslt_handle handle, cublaslt_desc desc, cublaslt_layout a,
                               cublaslt_layout b, cublaslt_layout c, cublaslt_layout d,
                               cublaslt_pref pref, int wanted, cublaslt_choice *choices, int *found)
{
	(void)handle, (void)desc, (void)a, (void)b, (void)pref, (void)wanted;
	assert_ptr_equal(c, d);
	*found = fake.found;
	choices[0].state = CUBLAS_OK;
	choices[0].workspace = 256;
	choices[0].algo.data[7] = 42;
	return CUBLAS_OK;
}

static cublas_status matmul(cublaslt_handle handle, cublaslt_desc desc, const void *alpha,
                            const void *a, cublaslt_layout layout_a, const void *b,
                            cublaslt_layout layout_b, const void *beta, const void *c,
                            cublaslt_layout layout_c, void *d, cublaslt_layout layout_d,
                            const cublaslt_algo *algo, void *workspace, size_t workspace_bytes,
                            cu_stream stream)
{
	(void)handle, (void)desc, (void)layout_a, (void)layout_b, (void)layout_c, (void)layout_d;
	(void)workspace, (void)stream;
	assert_true(*(const float *)alpha == 1.0F && *(const float *)beta == 0.0F);
	assert_int_equal((uintptr_t)a, 0x1000);
	assert_int_equal((uintptr_t)b, 0x2000);
	assert_int_equal((uintptr_t)c, 0x3000);
	assert_ptr_equal(c, d);
	assert_int_equal(algo->data[7], 42);
	assert_int_equal(workspace_bytes, 4096);
	return CUBLAS_EXECUTION_FAILED;
}

static void fp8_takes_a_plan(void **state)
{
	const struct cublaslt_product product = {.m = 16,
	                                         .n = 32,
	                                         .k = 48,
	                                         .fast = true,
	                                         .a = 0x1000,
	                                         .b = 0x2000,
	                                         .c = 0x3000,
	                                         .workspace_bytes = 4096};
	struct cublaslt_plan plan;

	(void)state;
	cublas.lt_call = (struct cublaslt_calls){
		.desc_create = desc_create,
		.desc_destroy = desc_destroy,
		.desc_set = desc_set,
		.layout_create = layout_create,
		.layout_destroy = layout_destroy,
		.pref_create = pref_create,
		.pref_destroy = pref_destroy,
		.pref_set = pref_set,
		.heuristic = heuristic,
		.matmul = matmul,
	};
	/* A card without FP8: the library has no algorithm. All is given back. */
	assert_int_equal(cublaslt_plan_make(&cublas, NULL, &product, &plan, &err), ST_UNSUPPORTED);
	assert_int_equal(cublas.fault->outcome, OUTCOME_UNSUPPORTED);
	assert_says("status 15");
	assert_int_equal(fake.open, 0);
	fake.found = 1;
	assert_int_equal(cublaslt_plan_make(&cublas, NULL, &product, &plan, &err), ST_OK);
	assert_int_equal(fake.fast, 1);
	assert_int_equal(fake.trans_a, CUBLAS_TRANSPOSE);
	assert_int_equal(fake.rows[0], 48);
	assert_int_equal(fake.rows[1], 48);
	assert_int_equal(fake.rows[2], 16);
	assert_int_equal(plan.workspace, 256);
	assert_int_equal(cublaslt_plan_run(&cublas, NULL, &product, &plan, NULL, &err), ST_IO);
	assert_says("cublasLtMatmul: the product broke down");
	cublaslt_plan_release(&cublas, &plan);
	assert_int_equal(fake.open, 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	cuda = (struct cuda){.call.error_name = error_name};
	nccl = (struct nccl){0};
	cublas = (struct cublas){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	error_release(&err);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(cuda_errors_say_what_to_do),  TEST(a_slow_fabric_is_waited_for),
		TEST(a_rank_that_is_lost_is_told), TEST(cards_are_found_by_uuid_and_address),
		TEST(refused_code_says_why),       TEST(fp8_takes_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
