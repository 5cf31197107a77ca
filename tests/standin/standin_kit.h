/* What the tests of the doubles share: a node file, a child process that loads
 * the libraries, and the few steps every measurement begins with. */
#ifndef STANDIN_KIT_H
#define STANDIN_KIT_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "hw/gpu_abi.h"
#include "kernels/kernels_types.h"

/* Everything loaded; NCCL and cublasLt too. */
struct gpu {
	struct cuda_calls cu;
	struct nvml_calls nvml;
	struct cublas_calls blas;
	struct cublaslt_calls lt;
	struct nccl_calls nccl;
	int64_t (*now_ns)(void);
	void (*sleep_ns)(int64_t ns);
};

/* A card in use: context current, module loaded, one stream, a spin flag. */
struct bench {
	const struct gpu *g;
	cu_device device;
	cu_context context;
	cu_stream stream;
	cu_module module;
	cu_event begin, end;
	volatile uint32_t *flag;
	cublas_handle blas;
};

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
/* Equal numbers, printed when not. */
#define SAME(have, want)                                                                           \
	do {                                                                                       \
		long long have_ = (long long)(have), want_ = (long long)(want);                    \
                                                                                                   \
		if (have_ != want_) {                                                              \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__,       \
			        #have, have_, want_);                                              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#define NEAR(have, want, share)                                                                    \
	do {                                                                                       \
		double have_ = (have), want_ = (want);                                             \
                                                                                                   \
		if (!(have_ > want_ * (1 - (share)) && have_ < want_ * (1 + (share)))) {           \
			fprintf(stderr, "%s:%d: %s is %.9g, not %.9g\n", __FILE__, __LINE__,       \
			        #have, have_, want_);                                              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* Runs body in a child on a node with that JSON text; asserts that it ended
 * well. With stuck set: that it was still running after a second, and kills it. */
void on_node(const char *json, void (*body)(const struct gpu *g));
void stuck_on_node(const char *json, void (*body)(const struct gpu *g));

void bench_open(struct bench *b, const struct gpu *g, int device);
cu_function bench_kernel(const struct bench *b, const char *name);
cu_ptr bench_alloc(const struct bench *b, size_t bytes);
int bench_launch(const struct bench *b, const char *name, unsigned blocks, unsigned threads,
                 void **params);
#define LAUNCH(b, name, blocks, threads, ...)                                                      \
	bench_launch(b, name, blocks, threads, (void *[]){__VA_ARGS__})
/* Holds the stream; begins timing behind it. release: lets it go and returns
 * the seconds until everything queued was done. */
void bench_hold(struct bench *b);
double bench_release(struct bench *b);
int bench_gemm(const struct bench *b, int n, cuda_type type, cublas_compute compute, cu_ptr a,
               cu_ptr at_b, cu_ptr c);
void bench_fill(const struct bench *b, cu_ptr p, size_t elements, uint32_t type, uint64_t seed);

#endif
