/* Finding, opening and binding NVIDIA's libraries: real ones without a GPU
 * where a toolkit is installed, doubles for what goes wrong, and trees laid out
 * as rented images are. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "hw/cublas.h"
#include "hw/cuda.h"
#include "hw/nccl.h"
#include "hw/nvml.h"
#include "tests/cleanup.h"

#define DOUBLES BINARY_DIR "/doubles"

struct scene {
	struct arena arena;
	char dir[40];
	struct error err;
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/tmp/assay-gpu-XXXXXX");
	*state = s;
	return mkdtemp(s->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	dir_remove(s->dir, NULL);
	error_release(&s->err);
	arena_release(&s->arena);
	free(s);
	return 0;
}

static const char *below(struct scene *s, const char *path)
{
	return arena_strf(&s->arena, "%s/%s", s->dir, path);
}

/* Copies a double to a path below the scene's directory. */
static const char *put(struct scene *s, const char *name, const char *path)
{
	const char *to = below(s, path);
	struct str text = {0};
	char *dir = arena_strn(&s->arena, to, (size_t)(strrchr(to, '/') - to));

	assert_int_equal(dir_make(dir, NULL), ST_OK);
	assert_int_equal(
		file_read(&text, arena_strf(&s->arena, DOUBLES "/%s.so", name), 1 << 26, &s->err),
		ST_OK);
	assert_int_equal(file_write(to, text.data, text.len, NULL), ST_OK);
	str_release(&text);
	return to;
}

static struct gpu_search only(const struct scene *s)
{
	return (struct gpu_search){.lib_dir = s->dir, .root = ""};
}

static void assert_says(struct scene *s, const char *words)
{
	if (!strstr(str_text(&s->err.text), words))
		fail_msg("\"%s\" does not say \"%s\"", str_text(&s->err.text), words);
	error_release(&s->err);
}

/* --- what is wrong with a library ------------------------------------------------ */

static void an_empty_directory_has_none(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	struct cuda cuda;
	struct nvml nvml;
	struct cublas cublas;
	struct nccl nccl;

	assert_int_equal(cuda_open(&cuda, &s->arena, &where, &s->err), ST_NOTFOUND);
	assert_says(s, "libcuda.so.1");
	assert_int_equal(nvml_open(&nvml, &s->arena, &where, &s->err), ST_NOTFOUND);
	assert_says(s, "libnvidia-ml.so.1");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 13000, &s->err), ST_NOTFOUND);
	assert_says(s, "libcublas.so.13");
	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_NOTFOUND);
	assert_says(s, "libnccl.so.2");
	assert_false(gpu_lib_simulated(&nccl.lib));
	assert_null(nccl.lib.problem);
}

static void a_broken_file_is_not_absent(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	struct nccl nccl;

	assert_int_equal(file_write(below(s, "libnccl.so.2"), "no ELF file at all", 18, NULL),
	                 ST_OK);
	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_UNSUPPORTED);
	assert_non_null(nccl.lib.problem);
	assert_non_null(strstr(nccl.lib.problem, "libnccl.so.2"));
	assert_says(s, nccl.lib.problem);
}

/* A library of 32 bits: byte 4 of the head. */
static void the_wrong_class_is_said(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	const char *path = put(s, "nccl", "libnccl.so.2");
	struct nccl nccl;
	struct str text = {0};

	assert_int_equal(file_read(&text, path, 1 << 26, NULL), ST_OK);
	text.data[4] = 1;
	assert_int_equal(file_write(path, text.data, text.len, NULL), ST_OK);
	str_release(&text);
	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_UNSUPPORTED);
	assert_says(s, "ELFCLASS32");
}

static void a_missing_function_is_named(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	const char *path = put(s, "nccl_old", "libnccl.so.2");
	struct nccl nccl;

	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_UNSUPPORTED);
	assert_string_equal(nccl.lib.missing, "ncclCommInitRankConfig");
	assert_string_equal(nccl.lib.path, path);
	assert_string_equal(nccl.lib.version, "2.8.4");
	assert_non_null(nccl.call.abort);
	assert_null(nccl.call.finalize);
	assert_says(s, "ncclCommInitRankConfig");
}

static void an_optional_function_is_listed(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	struct cublas cublas;

	put(s, "cublas_plain", "libcublas.so.11");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 12040, &s->err), ST_OK);
	assert_string_equal(cublas.lib.soname, "libcublas.so.11");
	assert_null(cublas.lib.missing);
	assert_string_equal(cublas.lib.lacks[0], "cublasGetStatusString");
	assert_null(cublas.lib.lacks[1]);
	assert_null(cublas.call.status_string);
	assert_string_equal(cublas.lib.version, "11.1.2");
	/* FP8 alone is lost without cublasLt. */
	assert_null(cublas.lt.handle);
	assert_non_null(strstr(cublas.lt_why, "libcublasLt.so.11"));
	assert_int_equal(cublas_check(&cublas, 4711, "cublasGemmEx", &s->err), ST_UNSUPPORTED);
	assert_says(s, "4711");
}

static void a_stand_in_is_known(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	struct nccl nccl;
	struct cublas cublas;

	put(s, "nccl", "libnccl.so.2");
	put(s, "cublas12", "libcublas.so.12");
	put(s, "cublaslt12", "libcublasLt.so.12");
	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_OK);
	assert_true(gpu_lib_simulated(&nccl.lib));
	assert_string_equal(nccl.lib.version, "2.28.9");
	assert_null(nccl.lib.lacks[0]);
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 13000, &s->err), ST_OK);
	assert_false(gpu_lib_simulated(&cublas.lib));
	assert_non_null(cublas.lt.handle);
	assert_string_equal(cublas.lt.version, "12.1.2");
	assert_string_equal(cublas.lt.path, below(s, "libcublasLt.so.12"));
}

static void cublas_is_never_above_the_driver(void **state)
{
	struct scene *s = *state;
	struct gpu_search where = only(s);
	struct cublas cublas;

	put(s, "cublas13", "libcublas.so.13");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 12080, &s->err), ST_NOTFOUND);
	assert_says(s, "libcublas.so.12");
	put(s, "cublas12", "libcublas.so.12");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 12080, &s->err), ST_OK);
	assert_string_equal(cublas.lib.version, "12.1.2");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 13010, &s->err), ST_OK);
	assert_string_equal(cublas.lib.version, "13.1.2");
	/* A future driver still takes the newest there is. */
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 15000, &s->err), ST_OK);
	assert_string_equal(cublas.lib.soname, "libcublas.so.13");
	/* A file whose name says less than it is. */
	put(s, "cublas13", "wrong/libcublas.so.12");
	where.lib_dir = below(s, "wrong");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 12080, &s->err), ST_UNSUPPORTED);
	assert_says(s, "too new for the driver (CUDA 12.8)");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 10020, &s->err), ST_UNSUPPORTED);
	assert_says(s, "CUDA 10.2");
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, 0, &s->err), ST_UNSUPPORTED);
	error_release(&s->err);
}

/* --- where rented images keep them -------------------------------------------------- */

static const char *const kept[] = {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "HOME"};

static void forget_environment(void)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		unsetenv(kept[i]);
}

/* One library in each place; the best is taken away one by one. */
static void places_are_searched_in_order(void **state)
{
	static const char *const order[] = {
		"home/lib64",
		"path/lib",
		"root/usr/local/cuda/lib64",
		"root/usr/local/cuda-12.10/lib64",
		"root/usr/local/cuda-12.8/lib64",
		"conda/lib",
		"venv/lib/python3.12/site-packages/nvidia/nccl/lib",
		"venv/lib/python3.12/site-packages/nvidia/cu13/lib",
		"conda/lib/python3.11/site-packages/nvidia/nccl/lib",
		"root/usr/local/lib/python3.10/dist-packages/nvidia/nccl/lib",
		"root/opt/conda/lib/python3.11/site-packages/torch/lib",
		"user/.local/lib/python3.10/site-packages/nvidia/nccl/lib",
		"root/usr/local/nvidia/lib64",
	};
	static const char *const names[] = {"libassaytest.so.2", "libassaytest.so.1", NULL};
	struct scene *s = *state;
	const struct gpu_search where = {.root = below(s, "root")};
	struct library lib;

	forget_environment();
	setenv("CUDA_HOME", below(s, "home"), 1);
	setenv("CUDA_PATH", below(s, "path"), 1);
	setenv("CONDA_PREFIX", below(s, "conda"), 1);
	setenv("VIRTUAL_ENV", below(s, "venv"), 1);
	setenv("HOME", below(s, "user"), 1);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		put(s, "nccl", arena_strf(&s->arena, "%s/libassaytest.so.1", order[i]));
	/* The better name in the worst place wins over the other everywhere. */
	put(s, "nccl", "root/usr/local/nvidia/lib64/libassaytest.so.2");
	assert_int_equal(gpu_lib_open(&lib, &s->arena, &where, names, "nccl", NULL, &s->err),
	                 ST_OK);
	assert_string_equal(lib.soname, "libassaytest.so.2");
	unlink(lib.path);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const char *due =
			arena_strf(&s->arena, "%s/%s/libassaytest.so.1", s->dir, order[i]);

		assert_int_equal(
			gpu_lib_open(&lib, &s->arena, &where, names, "nccl", NULL, &s->err), ST_OK);
		assert_string_equal(lib.path, due);
		assert_string_equal(gpu_lib_find(&s->arena, &where, names, "nccl"), due);
		unlink(due);
	}
	assert_int_equal(gpu_lib_open(&lib, &s->arena, &where, names, "nccl", NULL, &s->err),
	                 ST_NOTFOUND);
	assert_null(gpu_lib_find(&s->arena, &where, names, "nccl"));
	error_release(&s->err);
	forget_environment();
}

static void a_broken_file_does_not_hide_a_good_one(void **state)
{
	static const char *const names[] = {"libassaytest.so.1", NULL};
	struct scene *s = *state;
	const struct gpu_search where = {.root = below(s, "root")};
	struct library lib;

	forget_environment();
	setenv("CUDA_HOME", below(s, "a [b]*"), 1);
	assert_int_equal(dir_make(below(s, "a [b]*/lib64"), NULL), ST_OK);
	assert_int_equal(file_write(below(s, "a [b]*/lib64/libassaytest.so.1"), "x", 1, NULL),
	                 ST_OK);
	put(s, "nccl", "root/usr/local/cuda/lib64/libassaytest.so.1");
	assert_int_equal(gpu_lib_open(&lib, &s->arena, &where, names, "nccl", NULL, &s->err),
	                 ST_OK);
	assert_non_null(strstr(lib.problem, "a [b]*"));
	assert_string_equal(lib.path, below(s, "root/usr/local/cuda/lib64/libassaytest.so.1"));
	/* Beside its partner before anywhere else. */
	put(s, "nccl", "near/libassaytest.so.1");
	assert_int_equal(
		gpu_lib_open(&lib, &s->arena, &where, names, "nccl", below(s, "near"), &s->err),
		ST_OK);
	assert_string_equal(lib.path, below(s, "near/libassaytest.so.1"));
	/* One directory and nothing else: neither places nor partners. */
	assert_int_equal(gpu_lib_open(&lib, &s->arena,
	                              &(struct gpu_search){.lib_dir = below(s, "root")}, names,
	                              "nccl", below(s, "near"), &s->err),
	                 ST_NOTFOUND);
	error_release(&s->err);
	forget_environment();
}

/* --- the real ones, without a GPU ------------------------------------------------------ */

static bool absent(const char *path, const char *what)
{
	if (path[0] == '/' && access(path, R_OK) == 0)
		return false;
	printf("skipped: %s is not installed here\n", what);
	return true;
}

static void the_toolkit_stub_is_told_apart(void **state)
{
	struct scene *s = *state;
	const struct gpu_search where = only(s);
	struct cuda cuda;

	if (absent(CUDA_STUB, "the stub libcuda.so of a CUDA toolkit"))
		skip();
	assert_int_equal(symlink(CUDA_STUB, below(s, "libcuda.so.1")), 0);
	assert_int_equal(cuda_open(&cuda, &s->arena, &where, &s->err), ST_OK);
	assert_null(cuda.lib.missing);
	assert_null(cuda.lib.lacks[0]);
	assert_false(gpu_lib_simulated(&cuda.lib));
	assert_int_equal(cuda_start(&cuda, &clock_system, 0, &s->err), ST_UNSUPPORTED);
	assert_int_equal(cuda.code, CU_STUB_LIBRARY);
	assert_int_equal(cuda.fault->outcome, OUTCOME_NOT_MEASURED);
	assert_true(cuda.fault->sticky);
	assert_says(s, "stub of the CUDA toolkit");
}

static void real_cublas_has_all_functions(void **state)
{
	struct scene *s = *state;
	struct gpu_search where = {.root = ""};
	const struct cublaslt_product product = {
		.m = 256, .n = 256, .k = 256, .fast = true, .workspace_bytes = 1 << 20};
	struct cublaslt_plan plan;
	struct cublas cublas;
	int major;

	if (absent(CUBLAS_REAL, "cuBLAS"))
		skip();
	where.lib_dir = arena_strn(&s->arena, CUBLAS_REAL,
	                           (size_t)(strrchr(CUBLAS_REAL, '/') - CUBLAS_REAL));
	major = atoi(strstr(CUBLAS_REAL, ".so.") + 4);
	assert_int_equal(cublas_open(&cublas, &s->arena, &where, major * 1000, &s->err), ST_OK);
	assert_null(cublas.lib.missing);
	assert_null(cublas.lib.lacks[0]);
	assert_int_equal(atoi(cublas.lib.version), major);
	assert_non_null(cublas.lt.handle);
	assert_string_equal(cublas.lt.version, cublas.lib.version);
	assert_false(gpu_lib_simulated(&cublas.lib));
	assert_non_null(strstr(cublas.call.status_string(CUBLAS_EXECUTION_FAILED), "failed"));
	/* Descriptors need no card: it takes ours, and stops where a card is due. */
	assert_int_not_equal(cublaslt_plan_make(&cublas, NULL, &product, &plan, &s->err), ST_OK);
	assert_says(s, "cublasLtMatmulAlgoGetHeuristic");
	printf("%s is cuBLAS %s\n", cublas.lib.path, cublas.lib.version);
}

static void real_nccl_has_all_functions(void **state)
{
	struct scene *s = *state;
	struct gpu_search where = {.root = ""};
	struct nccl nccl;

	if (absent(NCCL_REAL, "NCCL"))
		skip();
	where.lib_dir =
		arena_strn(&s->arena, NCCL_REAL, (size_t)(strrchr(NCCL_REAL, '/') - NCCL_REAL));
	assert_int_equal(nccl_open(&nccl, &s->arena, &where, &s->err), ST_OK);
	assert_null(nccl.lib.missing);
	assert_true(nccl.version >= 21400);
	assert_true(str_starts(nccl.lib.version, "2."));
	printf("%s is NCCL %s\n", nccl.lib.path, nccl.lib.version);
	assert_int_equal(nccl_check(&nccl, NULL, NCCL_IN_PROGRESS, "x", &s->err), ST_OK);
	assert_int_equal(nccl_check(&nccl, NULL, NCCL_SYSTEM_ERROR, "ncclGroupEnd", &s->err),
	                 ST_IO);
	assert_says(s, "/dev/shm");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_empty_directory_has_none),
		TEST(a_broken_file_is_not_absent),
		TEST(the_wrong_class_is_said),
		TEST(a_missing_function_is_named),
		TEST(an_optional_function_is_listed),
		TEST(a_stand_in_is_known),
		TEST(cublas_is_never_above_the_driver),
		TEST(places_are_searched_in_order),
		TEST(a_broken_file_does_not_hide_a_good_one),
		TEST(the_toolkit_stub_is_told_apart),
		TEST(real_cublas_has_all_functions),
		TEST(real_nccl_has_all_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
