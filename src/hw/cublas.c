/* Finding the cuBLAS that fits the driver, its errors by cause, and the FP8
 * product, which takes a plan of descriptors. */
#include "hw/cublas.h"

#include <string.h>

#define CALLS(rows) (sizeof(rows) / sizeof(*(rows)))
#define OLDEST      11 /* its compute types are those of today */

static const struct library_row rows[] = {CUBLAS_SYMBOLS(GPU_ROW)};
static const struct library_row lt_rows[] = {CUBLASLT_SYMBOLS(GPU_ROW)};
_Static_assert(sizeof(struct cublas_calls) == CALLS(rows) * sizeof(void *), "pointers alone");
_Static_assert(sizeof(struct cublaslt_calls) == CALLS(lt_rows) * sizeof(void *), "pointers alone");

/* To add a cause: one row, and its text in messages/gpu.def. */
static const struct gpu_cause causes[] = {
	{CUBLAS_NOT_INITIALIZED, MSG_cublas_not_initialized, OUTCOME_NOT_MEASURED, ST_UNSUPPORTED,
         false},
	{CUBLAS_ALLOC_FAILED, MSG_cublas_no_memory, OUTCOME_NOT_MEASURED, ST_NOMEM, false},
	{CUBLAS_INVALID_VALUE, MSG_cublas_invalid, OUTCOME_FAILED, ST_INTERNAL, false},
	{CUBLAS_ARCH_MISMATCH, MSG_cublas_arch, OUTCOME_UNSUPPORTED, ST_UNSUPPORTED, false},
	{CUBLAS_MAPPING_ERROR, MSG_cublas_failed, OUTCOME_FAILED, ST_IO, true},
	{CUBLAS_EXECUTION_FAILED, MSG_cublas_failed, OUTCOME_FAILED, ST_IO, true},
	{CUBLAS_INTERNAL_ERROR, MSG_cublas_failed, OUTCOME_FAILED, ST_IO, true},
	{CUBLAS_NOT_SUPPORTED, MSG_cublas_unsupported, OUTCOME_UNSUPPORTED, ST_UNSUPPORTED, false},
};

const struct gpu_cause *cublas_cause(cublas_status code)
{
	return gpu_cause_find(causes, CALLS(causes), code);
}

enum status cublas_check(struct cublas *cublas, cublas_status code, const char *call,
                         struct error *err)
{
	const char *name = NULL;

	if (code == CUBLAS_OK)
		return ST_OK;
	cublas->code = code;
	cublas->fault = cublas_cause(code);
	if (cublas->call.status_string)
		name = cublas->call.status_string(code);
	return gpu_cause_error(cublas->fault, call, name, code, err);
}

/* --- opening ------------------------------------------------------------------- */

/* libNAME.so.13, .12, .11 from a major version down. */
static const char *const *soname_list(struct arena *arena, const char *name, int from, int to)
{
	const char **list = arena_array(arena, (size_t)(from - to) + 2, sizeof(*list));

	for (int i = 0; from - i >= to; i++)
		list[i] = arena_strf(arena, "lib%s.so.%d", name, from - i);
	return list;
}

static const char *dir_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? arena_strn(arena, path, (size_t)(slash - path)) : NULL;
}

typedef cublas_status property_function(cublas_property property, int *value);

static const char *version_of(struct arena *arena, property_function *property, int *major)
{
	int minor = 0, patch = 0;

	*major = 0;
	if (property(CUBLAS_PROPERTY_MAJOR, major) != CUBLAS_OK ||
	    property(CUBLAS_PROPERTY_MINOR, &minor) != CUBLAS_OK ||
	    property(CUBLAS_PROPERTY_PATCH, &patch) != CUBLAS_OK)
		return NULL;
	return arena_strf(arena, "%d.%d.%d", *major, minor, patch);
}

/* Of the same major version: another would bring its twin into the process. */
static void open_lt(struct cublas *cublas, struct arena *arena, const struct gpu_search *where,
                    int major)
{
	const char *const *names = soname_list(arena, "cublasLt", major, major);
	struct error err = {0};
	int lt_major;
	enum status st = gpu_lib_open(&cublas->lt, arena, where, names, "cublas",
	                              dir_of(arena, cublas->lib.path), &err);

	if (st == ST_OK)
		st = library_bind(&cublas->lt, arena, lt_rows, CALLS(lt_rows), &cublas->lt_call,
		                  &err);
	if (st == ST_OK)
		cublas->lt.version = version_of(arena, cublas->lt_call.property, &lt_major);
	else
		cublas->lt.handle = NULL;
	cublas->lt_why = arena_str(arena, err.text.data);
	error_release(&err);
}

enum status cublas_open(struct cublas *cublas, struct arena *arena, const struct gpu_search *where,
                        int driver_version, struct error *err)
{
	const char *cuda = tmpf("%d.%d", driver_version / 1000, driver_version % 1000 / 10);
	int driver = driver_version / 1000, major;
	enum status st;

	*cublas = (struct cublas){0};
	if (driver < OLDEST)
		return error_set(err, ST_UNSUPPORTED, MSG_cublas_driver_old, cuda);
	st = gpu_lib_open(&cublas->lib, arena, where, soname_list(arena, "cublas", driver, OLDEST),
	                  "cublas", NULL, err);
	if (st == ST_OK)
		st = library_bind(&cublas->lib, arena, rows, CALLS(rows), &cublas->call, err);
	if (st != ST_OK)
		return st;
	cublas->lib.version = version_of(arena, cublas->call.property, &major);
	if (major > driver)
		return error_set(err, ST_UNSUPPORTED, MSG_cublas_newer, cublas->lib.path,
		                 cublas->lib.version ? cublas->lib.version : tmpf("%d", major),
		                 cuda, tmpf("%d", driver));
	open_lt(cublas, arena, where, major);
	return ST_OK;
}

/* --- FP8 ------------------------------------------------------------------------- */

static enum status make_desc(struct cublas *cublas, const struct cublaslt_product *product,
                             struct cublaslt_plan *plan, struct error *err)
{
	const struct cublaslt_calls *lt = &cublas->lt_call;
	const cublas_operation transposed = CUBLAS_TRANSPOSE;
	const int8_t fast = product->fast;
	enum status st =
		cublas_check(cublas, lt->desc_create(&plan->desc, CUBLAS_COMPUTE_FP32, CUDA_FP32),
	                     "cublasLtMatmulDescCreate", err);

	if (st == ST_OK)
		st = cublas_check(
			cublas,
			lt->desc_set(plan->desc, CUBLASLT_TRANS_A, &transposed, sizeof(transposed)),
			"cublasLtMatmulDescSetAttribute", err);
	if (st == ST_OK)
		st = cublas_check(
			cublas,
			lt->desc_set(plan->desc, CUBLASLT_FAST_ACCUMULATION, &fast, sizeof(fast)),
			"cublasLtMatmulDescSetAttribute", err);
	return st;
}

static enum status make_layouts(struct cublas *cublas, const struct cublaslt_product *p,
                                struct cublaslt_plan *plan, struct error *err)
{
	const struct {
		cublaslt_layout *to;
		cuda_type type;
		int rows, columns;
	} wanted[] = {
		{&plan->a, CUDA_FP8_E4M3, p->k, p->m},
		{&plan->b, CUDA_FP8_E4M3, p->k, p->n},
		{&plan->c, CUDA_BF16, p->m, p->n},
	};
	enum status st = ST_OK;

	for (size_t i = 0; st == ST_OK && i < CALLS(wanted); i++)
		st = cublas_check(cublas,
		                  cublas->lt_call.layout_create(
					  wanted[i].to, wanted[i].type, (uint64_t)wanted[i].rows,
					  (uint64_t)wanted[i].columns, wanted[i].rows),
		                  "cublasLtMatrixLayoutCreate", err);
	return st;
}

static enum status choose(struct cublas *cublas, cublaslt_handle handle,
                          const struct cublaslt_product *product, struct cublaslt_plan *plan,
                          struct error *err)
{
	const struct cublaslt_calls *lt = &cublas->lt_call;
	cublaslt_choice choice = {.state = CUBLAS_NOT_SUPPORTED};
	cublaslt_pref pref = NULL;
	uint64_t bytes = product->workspace_bytes;
	int found = 0;
	enum status st =
		cublas_check(cublas, lt->pref_create(&pref), "cublasLtMatmulPreferenceCreate", err);

	if (st != ST_OK)
		return st;
	st = cublas_check(cublas, lt->pref_set(pref, CUBLASLT_MAX_WORKSPACE, &bytes, sizeof(bytes)),
	                  "cublasLtMatmulPreferenceSetAttribute", err);
	if (st == ST_OK)
		st = cublas_check(cublas,
		                  lt->heuristic(handle, plan->desc, plan->a, plan->b, plan->c,
		                                plan->c, pref, 1, &choice, &found),
		                  "cublasLtMatmulAlgoGetHeuristic", err);
	lt->pref_destroy(pref);
	if (st == ST_OK && (found < 1 || choice.state != CUBLAS_OK))
		st = cublas_check(cublas, CUBLAS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic",
		                  err);
	plan->algo = choice.algo;
	plan->workspace = choice.workspace;
	return st;
}

enum status cublaslt_plan_make(struct cublas *cublas, cublaslt_handle handle,
                               const struct cublaslt_product *product, struct cublaslt_plan *plan,
                               struct error *err)
{
	enum status st;

	*plan = (struct cublaslt_plan){0};
	st = make_desc(cublas, product, plan, err);
	if (st == ST_OK)
		st = make_layouts(cublas, product, plan, err);
	if (st == ST_OK)
		st = choose(cublas, handle, product, plan, err);
	if (st != ST_OK)
		cublaslt_plan_release(cublas, plan);
	return st;
}

enum status cublaslt_plan_run(struct cublas *cublas, cublaslt_handle handle,
                              const struct cublaslt_product *p, const struct cublaslt_plan *plan,
                              cu_stream stream, struct error *err)
{
	static const float one = 1.0F, zero = 0.0F;
	void *c = (void *)(uintptr_t)p->c;

	return cublas_check(
		cublas,
		cublas->lt_call.matmul(handle, plan->desc, &one, (const void *)(uintptr_t)p->a,
	                               plan->a, (const void *)(uintptr_t)p->b, plan->b, &zero, c,
	                               plan->c, c, plan->c, &plan->algo,
	                               (void *)(uintptr_t)p->workspace, p->workspace_bytes, stream),
		"cublasLtMatmul", err);
}

void cublaslt_plan_release(struct cublas *cublas, struct cublaslt_plan *plan)
{
	const struct cublaslt_calls *lt = &cublas->lt_call;
	cublaslt_layout layouts[] = {plan->a, plan->b, plan->c};

	for (size_t i = 0; i < CALLS(layouts); i++)
		if (layouts[i])
			lt->layout_destroy(layouts[i]);
	if (plan->desc)
		lt->desc_destroy(plan->desc);
	*plan = (struct cublaslt_plan){0};
}
