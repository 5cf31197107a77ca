/* See standin_kit.h. The doubles hold the state of a whole process, so each
 * node gets one of its own. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kernels/ptx.h"
#include "tests/standin/standin_kit.h"
#include "tests/unit/unit.h"

static void *open_library(const char *name)
{
	char path[4096];
	void *lib;

	snprintf(path, sizeof(path), "%s/tests/standin/lib/%s", BINARY_DIR, name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	CHECK(dlsym(lib, GPU_STANDIN_SYMBOL));
	return lib;
}

/* All symbols, optional ones too: a double lacks nothing. */
static void load(struct gpu *g)
{
	void *lib;

#define FIND(slot, symbol, need, result, params)                                                   \
	*(void **)&calls->slot = dlsym(lib, #symbol);                                              \
	CHECK(calls->slot);
#define LIBRARY(name, member, type, rows)                                                          \
	{                                                                                          \
		struct type *calls = &g->member;                                                   \
                                                                                                   \
		lib = open_library(name);                                                          \
		rows(FIND)                                                                         \
	}
	LIBRARY("libcuda.so.1", cu, cuda_calls, CUDA_SYMBOLS)
	*(void **)&g->now_ns = dlsym(lib, "assay_standin_now_ns");
	*(void **)&g->sleep_ns = dlsym(lib, "assay_standin_sleep_ns");
	LIBRARY("libnvidia-ml.so.1", nvml, nvml_calls, NVML_SYMBOLS)
	LIBRARY("libcublas.so.13", blas, cublas_calls, CUBLAS_SYMBOLS)
	LIBRARY("libcublasLt.so.13", lt, cublaslt_calls, CUBLASLT_SYMBOLS)
	LIBRARY("libnccl.so.2", nccl, nccl_calls, NCCL_SYMBOLS)
#undef LIBRARY
#undef FIND
	CHECK(g->now_ns && g->sleep_ns);
}

static pid_t start(const char *json, void (*body)(const struct gpu *g), char *path)
{
	int fd = mkstemp(path);
	pid_t pid;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	close(fd);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct gpu g;

		setenv("ASSAY_STANDIN", path, 1);
		load(&g);
		body(&g);
		_exit(0);
	}
	return pid;
}

void on_node(const char *json, void (*body)(const struct gpu *g))
{
	char path[] = "/tmp/standin-XXXXXX";
	pid_t pid = start(json, body, path);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void stuck_on_node(const char *json, void (*body)(const struct gpu *g))
{
	char path[] = "/tmp/standin-XXXXXX";
	pid_t pid = start(json, body, path);
	int status, rounds = 0;

	while (waitpid(pid, &status, WNOHANG) == 0 && rounds++ < 100)
		usleep(10000);
	unlink(path);
	assert_true(rounds >= 100);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* --- a card in use ------------------------------------------------------------------------ */

void bench_open(struct bench *b, const struct gpu *g, int device)
{
	void *flag;

	memset(b, 0, sizeof(*b));
	b->g = g;
	SAME(g->cu.init(0), CU_OK);
	SAME(g->cu.device_get(&b->device, device), CU_OK);
	SAME(g->cu.context_retain(&b->context, b->device), CU_OK);
	SAME(g->cu.context_set(b->context), CU_OK);
	SAME(g->cu.module_load(&b->module, kernels_ptx, 0, NULL, NULL), CU_OK);
	SAME(g->cu.stream_create(&b->stream, 1), CU_OK);
	SAME(g->cu.event_create(&b->begin, 0), CU_OK);
	SAME(g->cu.event_create(&b->end, 0), CU_OK);
	SAME(g->cu.host_alloc(&flag, 64, 0), CU_OK);
	b->flag = flag;
	SAME(g->blas.create(&b->blas), CUBLAS_OK);
	SAME(g->blas.set_stream(b->blas, b->stream), CUBLAS_OK);
}

cu_function bench_kernel(const struct bench *b, const char *name)
{
	cu_function f;

	SAME(b->g->cu.module_function(&f, b->module, name), CU_OK);
	return f;
}

cu_ptr bench_alloc(const struct bench *b, size_t bytes)
{
	cu_ptr p = 0;

	SAME(b->g->cu.alloc(&p, bytes), CU_OK);
	return p;
}

int bench_launch(const struct bench *b, const char *name, unsigned blocks, unsigned threads,
                 void **params)
{
	return b->g->cu.launch(bench_kernel(b, name), blocks, 1, 1, threads, 1, 1, 0, b->stream,
	                       params, NULL);
}

void bench_hold(struct bench *b)
{
	cu_ptr flag = (cu_ptr)(uintptr_t)b->flag, expired = flag + 4;
	u64 limit = 10000000000;
	u32 one = 1;

	b->flag[0] = b->flag[1] = 0;
	SAME(LAUNCH(b, "assay_spin", 1, 1, &flag, &one, &limit, &expired), CU_OK);
	SAME(b->g->cu.event_record(b->begin, b->stream), CU_OK);
}

double bench_release(struct bench *b)
{
	float ms;

	SAME(b->g->cu.event_record(b->end, b->stream), CU_OK);
	b->flag[0] = 1;
	SAME(b->g->cu.stream_sync(b->stream), CU_OK);
	SAME(b->g->cu.event_elapsed(&ms, b->begin, b->end), CU_OK);
	SAME(b->flag[1], 0);
	return (double)ms / 1e3;
}

int bench_gemm(const struct bench *b, int n, cuda_type type, cublas_compute compute, cu_ptr a,
               cu_ptr at_b, cu_ptr c)
{
	const float one = 1, zero = 0;
	const double one_wide = 1, zero_wide = 0;
	bool wide = type == CUDA_FP64;

	return b->g->blas.gemm(b->blas, CUBLAS_NO_TRANSPOSE, CUBLAS_NO_TRANSPOSE, n, n, n,
	                       wide ? (const void *)&one_wide : &one, (void *)a, type, n,
	                       (void *)at_b, type, n, wide ? (const void *)&zero_wide : &zero,
	                       (void *)c, type, n, compute, CUBLAS_ALGO_DEFAULT);
}

void bench_fill(const struct bench *b, cu_ptr p, size_t elements, uint32_t type, uint64_t seed)
{
	u64 n = elements, s = seed;
	u32 uniform = 0;
	double scale = 1;

	SAME(LAUNCH(b, "assay_fill", 64, 256, &p, &n, &type, &uniform, &s, &scale), CU_OK);
}
