/* The doubles of the GPU libraries, driven directly: figures are those of the
 * node file whatever a call costs the host, results are right, misuse is
 * refused, sensors tell what the work tells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/standin_kit.h"
#include "tests/unit/unit.h"

#define A100 "{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"count\":2"

/* --- timing ---------------------------------------------------------------------------- */

static void time_gemm(const struct gpu *g)
{
	struct bench b;
	cu_ptr a, x, c;
	double s;

	bench_open(&b, g, 0);
	a = bench_alloc(&b, 256 * 256 * 8);
	x = bench_alloc(&b, 256 * 256 * 8);
	c = bench_alloc(&b, 256 * 256 * 8);
	bench_fill(&b, a, 65536, KERNEL_FP16, 1);
	bench_fill(&b, x, 65536, KERNEL_FP16, 2);
	bench_hold(&b);
	for (int i = 0; i < 200; i++)
		SAME(bench_gemm(&b, 256, CUDA_FP16, CUBLAS_COMPUTE_FP32, a, x, c), CUBLAS_OK);
	s = bench_release(&b);
	NEAR(200 * 2.0 * 256 * 256 * 256 / s / 1e12, 312, 0.005);
	bench_fill(&b, a, 65536, KERNEL_FP64, 1);
	bench_fill(&b, x, 65536, KERNEL_FP64, 2);
	bench_hold(&b);
	SAME(bench_gemm(&b, 256, CUDA_FP64, CUBLAS_COMPUTE_FP64_PEDANTIC, a, x, c), CUBLAS_OK);
	SAME(bench_gemm(&b, 256, CUDA_FP64, CUBLAS_COMPUTE_FP64_PEDANTIC, a, x, c), CUBLAS_OK);
	s = bench_release(&b);
	NEAR(2 * 2.0 * 256 * 256 * 256 / s / 1e12, 9.7, 0.005);
}

static void time_memory(const struct gpu *g)
{
	struct bench b;
	cu_ptr a, x, c;
	u64 n = (4 << 20) / 16, doubles = 2 * n, mod_b = 1024, mod_c = 509;
	double scalar = 3, s;

	bench_open(&b, g, 0);
	a = bench_alloc(&b, 4 << 20);
	x = bench_alloc(&b, 4 << 20);
	c = bench_alloc(&b, 4 << 20);
	SAME(LAUNCH(&b, "assay_ramp", 64, 256, &x, &doubles, &mod_b), CU_OK);
	SAME(LAUNCH(&b, "assay_ramp", 64, 256, &c, &doubles, &mod_c), CU_OK);
	bench_hold(&b);
	for (int i = 0; i < 100; i++)
		SAME(LAUNCH(&b, "assay_triad", 64, 256, &a, &x, &c, &scalar, &n), CU_OK);
	s = bench_release(&b);
	NEAR(100 * 3.0 * (4 << 20) / s / 1e9, 2039, 0.005);
}

static void time_host_copy(const struct gpu *g)
{
	struct bench b;
	cu_ptr p;
	void *host;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 4 << 20);
	SAME(g->cu.host_alloc(&host, 4 << 20, 0), CU_OK);
	bench_hold(&b);
	for (int i = 0; i < 16; i++)
		SAME(g->cu.copy_to_device(p, host, 4 << 20, b.stream), CU_OK);
	NEAR(16.0 * (4 << 20) / bench_release(&b) / 1e9, 16 * 1.969, 0.005);
}

/* Queued work is timed the same whatever the calls cost. */
static void at_costs(const char *node, void (*body)(const struct gpu *g))
{
	const char *costs[] = {"0", "100", "2000", "5000"};

	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		char json[1024];

		snprintf(json, sizeof(json), "%s,\"costs\":{\"host_call_ns\":%s}}", node, costs[i]);
		on_node(json, body);
	}
}

static void gemm_rates(void **state)
{
	(void)state;
	at_costs(A100, time_gemm);
}

static void memory_rates(void **state)
{
	(void)state;
	at_costs(A100, time_memory);
	at_costs(A100, time_host_copy);
}

/* Both cards open, peers enabled; a stream on each. */
static void open_pair(const struct gpu *g, struct bench *b, struct bench *other, bool peers)
{
	bench_open(b, g, 0);
	bench_open(other, g, 1);
	if (peers)
		SAME(g->cu.enable_peer(b->context, 0), CU_OK);
	SAME(g->cu.context_set(b->context), CU_OK);
	if (peers)
		SAME(g->cu.enable_peer(other->context, 0), CU_OK);
}

static double peer_copy_gbs(struct bench *b, struct bench *other)
{
	cu_ptr from = bench_alloc(b, 4 << 20), to;

	SAME(b->g->cu.context_set(other->context), CU_OK);
	to = bench_alloc(other, 4 << 20);
	SAME(b->g->cu.context_set(b->context), CU_OK);
	bench_hold(b);
	for (int i = 0; i < 16; i++)
		SAME(b->g->cu.copy_peer(to, other->context, from, b->context, 4 << 20, b->stream),
		     CU_OK);
	return 16.0 * (4 << 20) / bench_release(b) / 1e9;
}

static void time_peers(const struct gpu *g)
{
	struct bench b, other;
	cu_ptr from, to;
	u64 n = (4 << 20) / 16;

	open_pair(g, &b, &other, true);
	NEAR(peer_copy_gbs(&b, &other), 300, 0.005);
	from = bench_alloc(&b, 4 << 20);
	SAME(g->cu.context_set(other.context), CU_OK);
	to = bench_alloc(&other, 4 << 20);
	SAME(g->cu.context_set(b.context), CU_OK);
	/* Push by SMs, then pull. */
	bench_hold(&b);
	SAME(LAUNCH(&b, "assay_copy", 64, 256, &to, &from, &n), CU_OK);
	NEAR((4 << 20) / bench_release(&b) / 1e9, 300, 0.005);
	bench_hold(&b);
	SAME(LAUNCH(&b, "assay_copy", 64, 256, &from, &to, &n), CU_OK);
	NEAR((4 << 20) / bench_release(&b) / 1e9, 300, 0.005);
}

static void time_latency(const struct gpu *g)
{
	struct bench b, other;
	cu_ptr ring, out, mine, theirs, out_theirs;
	u64 lines = 1000, step = 7, hops = 1000, rounds = 500, limit = 1000000000;
	u32 first = 1, second = 0;
	struct kernel_span span;

	open_pair(g, &b, &other, true);
	ring = bench_alloc(&b, 128 * lines);
	out = bench_alloc(&b, sizeof(span));
	mine = bench_alloc(&b, 64);
	SAME(LAUNCH(&b, "assay_ring", 8, 256, &ring, &lines, &step), CU_OK);
	SAME(LAUNCH(&b, "assay_chase", 1, 1, &ring, &hops, &out), CU_OK);
	SAME(g->cu.copy_to_host(&span, out, sizeof(span), b.stream), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	SAME(span.value, hops * step % lines);
	SAME(span.ns / hops, 500);
	SAME(g->cu.context_set(other.context), CU_OK);
	theirs = bench_alloc(&other, 64);
	out_theirs = bench_alloc(&other, sizeof(span));
	SAME(g->cu.set8(theirs, 0, 64, other.stream), CU_OK);
	SAME(LAUNCH(&other, "assay_pingpong", 1, 1, &theirs, &mine, &rounds, &second, &limit,
	            &out_theirs),
	     CU_OK);
	SAME(g->cu.context_set(b.context), CU_OK);
	SAME(g->cu.set8(mine, 0, 64, b.stream), CU_OK);
	SAME(LAUNCH(&b, "assay_pingpong", 1, 1, &mine, &theirs, &rounds, &first, &limit, &out),
	     CU_OK);
	SAME(g->cu.copy_to_host(&span, out, sizeof(span), b.stream), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	SAME(span.value, rounds);
	SAME(span.ns / rounds / 2, 900);
}

static void peer_rates(void **state)
{
	(void)state;
	at_costs(A100, time_peers);
	at_costs(A100, time_latency);
}

/* A copy without peer access goes through the host, and says a low figure. */
static void staged(const struct gpu *g)
{
	struct bench b, other;

	open_pair(g, &b, &other, false);
	NEAR(peer_copy_gbs(&b, &other), 16 * 1.969 / 2, 0.005);
}

static void not_enabled(void **state)
{
	(void)state;
	on_node(A100 "}", staged);
}

/* Work on one card runs one after the other, on two at once. */
static void overlap(const struct gpu *g)
{
	struct bench b;
	cu_stream second;
	cu_ptr out, span, out2;
	u64 rounds = 1000;
	float x = 0.5f, y = 1;
	double alone, both;

	bench_open(&b, g, 0);
	out = bench_alloc(&b, 1024 * 4);
	out2 = bench_alloc(&b, 1024 * 4);
	span = bench_alloc(&b, 4 * sizeof(struct kernel_span));
	SAME(g->cu.stream_create(&second, 1), CU_OK);
	bench_hold(&b);
	SAME(LAUNCH(&b, "assay_fma32", 4, 256, &out, &rounds, &x, &y, &span), CU_OK);
	alone = bench_release(&b);
	NEAR(2.0 * KERNEL_FMA_CHAINS * 1000 * 1024 / alone / 1e12, 19.5, 0.005);
	bench_hold(&b);
	SAME(g->cu.launch(bench_kernel(&b, "assay_fma32"), 4, 1, 1, 256, 1, 1, 0, second,
	                  (void *[]){&out2, &rounds, &x, &y, &span}, NULL),
	     CU_OK);
	SAME(LAUNCH(&b, "assay_fma32", 4, 256, &out, &rounds, &x, &y, &span), CU_OK);
	both = bench_release(&b);
	CHECK(both > 0);
	SAME(g->cu.context_sync(), CU_OK);
}

static void resources(void **state)
{
	(void)state;
	on_node(A100 "}", overlap);
}

/* --- results ------------------------------------------------------------------------------- */

static void products(const struct gpu *g)
{
	enum { N = 48 };
	struct bench b;
	cu_ptr a, x, c;
	static double ha[N * N], hx[N * N], hc[N * N];

	bench_open(&b, g, 0);
	a = bench_alloc(&b, sizeof(ha));
	x = bench_alloc(&b, sizeof(hx));
	c = bench_alloc(&b, sizeof(hc));
	bench_fill(&b, a, N * N, KERNEL_FP64, 11);
	bench_fill(&b, x, N * N, KERNEL_FP64, 12);
	SAME(bench_gemm(&b, N, CUDA_FP64, CUBLAS_COMPUTE_FP64_PEDANTIC, a, x, c), CUBLAS_OK);
	SAME(g->cu.copy_to_host(ha, a, sizeof(ha), b.stream), CU_OK);
	SAME(g->cu.copy_to_host(hx, x, sizeof(hx), b.stream), CU_OK);
	SAME(g->cu.copy_to_host(hc, c, sizeof(hc), b.stream), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = 0;

			for (int k = 0; k < N; k++)
				sum += ha[i + N * k] * hx[k + N * j];
			CHECK(fabs(sum - hc[i + N * j]) < 1e-12);
		}
}

/* Sums, checks, comparisons and digests see what is there. */
static void checks(const struct gpu *g)
{
	struct bench b;
	cu_ptr p, q, out;
	u64 n = 8192, base = 0x1000, seed = 5, invert = 0, sums[2] = {0};
	u32 kind = PATTERN_ADDRESS, rewrite = 0, element = 2;
	struct kernel_check check, fresh = {0, UINT64_MAX, 0};

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 65536);
	q = bench_alloc(&b, 65536);
	out = bench_alloc(&b, 64);
	for (kind = PATTERN_ADDRESS; kind <= PATTERN_CONSTANT; kind++) {
		SAME(g->cu.copy_to_device(out, &fresh, sizeof(fresh), b.stream), CU_OK);
		SAME(LAUNCH(&b, "assay_pattern_write", 8, 256, &p, &n, &kind, &base, &seed,
		            &invert),
		     CU_OK);
		SAME(g->cu.copy_on_device(q, p, 65536, b.stream), CU_OK);
		SAME(LAUNCH(&b, "assay_pattern_check", 8, 256, &p, &n, &kind, &base, &seed, &invert,
		            &rewrite, &out),
		     CU_OK);
		SAME(g->cu.copy_to_host(&check, out, sizeof(check), b.stream), CU_OK);
		SAME(check.bad, 0);
		/* One wrong bit in byte 1003: half 501, word 125. */
		SAME(g->cu.set8(p + 1003, 0x5e, 1, b.stream), CU_OK);
		SAME(LAUNCH(&b, "assay_pattern_check", 8, 256, &p, &n, &kind, &base, &seed, &invert,
		            &rewrite, &out),
		     CU_OK);
		SAME(g->cu.copy_to_host(&check, out, sizeof(check), b.stream), CU_OK);
		SAME(check.bad, 1);
		SAME(check.first, 125);
		SAME(g->cu.copy_to_device(out, &fresh, sizeof(fresh), b.stream), CU_OK);
		SAME(LAUNCH(&b, "assay_compare", 8, 256, &p, &q, &n, &element, &out), CU_OK);
		SAME(g->cu.copy_to_host(&check, out, sizeof(check), b.stream), CU_OK);
		SAME(check.bad, 1);
		SAME(check.first, 501);
	}
	SAME(g->cu.set8(out, 0, 64, b.stream), CU_OK);
	SAME(LAUNCH(&b, "assay_digest", 8, 256, &p, &n, &out), CU_OK);
	q = out + 8;
	SAME(g->cu.set8(p + 1003, 0x78, 1, b.stream), CU_OK);
	SAME(LAUNCH(&b, "assay_digest", 8, 256, &p, &n, &q), CU_OK);
	SAME(g->cu.copy_to_host(sums, out, sizeof(sums), b.stream), CU_OK);
	CHECK(sums[0] && sums[1] && sums[0] != sums[1]);
}

static uint16_t half_of(double value)
{
	_Float16 h = (_Float16)value;
	uint16_t bits;

	memcpy(&bits, &h, 2);
	return bits;
}

/* Filled values are normal, and the narrow formats are the wide one rounded. */
static void fills(const struct gpu *g)
{
	enum { N = 20000 };
	struct bench b;
	cu_ptr p;
	static double wide[N];
	static float single[N];
	static uint16_t half[N];
	double sum = 0, squares = 0;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, N * 8);
	bench_fill(&b, p, N, KERNEL_FP64, 3);
	SAME(g->cu.copy_to_host(wide, p, sizeof(wide), b.stream), CU_OK);
	bench_fill(&b, p, N, KERNEL_FP32, 3);
	SAME(g->cu.copy_to_host(single, p, sizeof(single), b.stream), CU_OK);
	bench_fill(&b, p, N, KERNEL_FP16, 3);
	SAME(g->cu.copy_to_host(half, p, sizeof(half), b.stream), CU_OK);
	for (int i = 0; i < N; i++) {
		sum += wide[i];
		squares += wide[i] * wide[i];
		CHECK(single[i] == (float)wide[i]);
		SAME(half[i], half_of(single[i]));
	}
	CHECK(fabs(sum / N) < 0.02);
	NEAR(squares / N, 1, 0.03);
}

static void results(void **state)
{
	(void)state;
	on_node(A100 "}", products);
	on_node(A100 "}", checks);
	on_node(A100 "}", fills);
}

/* FP8 through cublasLt, in the one layout that its units take. */
static void fp8_product(const struct gpu *g)
{
	enum { N = 64 };
	struct bench b;
	cublaslt_handle lt;
	cublaslt_desc desc;
	cublaslt_layout in, out;
	cublaslt_pref pref;
	cublaslt_choice choice;
	int32_t trans = CUBLAS_TRANSPOSE;
	uint64_t workspace = 0;
	float one = 1, zero = 0, host[N * N];
	cu_ptr a, x, c;
	int found;

	bench_open(&b, g, 0);
	a = bench_alloc(&b, N * N);
	x = bench_alloc(&b, N * N);
	c = bench_alloc(&b, sizeof(host));
	SAME(g->cu.set8(a, 0x38, N * N, b.stream), CU_OK); /* 1 */
	SAME(g->cu.set8(x, 0x40, N * N, b.stream), CU_OK); /* 2 */
	SAME(g->lt.create(&lt), CUBLAS_OK);
	SAME(g->lt.desc_create(&desc, CUBLAS_COMPUTE_FP32, CUDA_FP32), CUBLAS_OK);
	SAME(g->lt.layout_create(&in, CUDA_FP8_E4M3, N, N, N), CUBLAS_OK);
	SAME(g->lt.layout_create(&out, CUDA_FP32, N, N, N), CUBLAS_OK);
	SAME(g->lt.pref_create(&pref), CUBLAS_OK);
	SAME(g->lt.pref_set(pref, CUBLASLT_MAX_WORKSPACE, &workspace, 8), CUBLAS_OK);
	SAME(g->lt.heuristic(lt, desc, in, in, out, out, pref, 1, &choice, &found),
	     CUBLAS_NOT_SUPPORTED);
	SAME(g->lt.desc_set(desc, CUBLASLT_TRANS_A, &trans, 4), CUBLAS_OK);
	SAME(g->lt.heuristic(lt, desc, in, in, out, out, pref, 1, &choice, &found), CUBLAS_OK);
	SAME(found, 1);
	bench_hold(&b);
	for (int i = 0; i < 100; i++)
		SAME(g->lt.matmul(lt, desc, &one, (void *)a, in, (void *)x, in, &zero, (void *)c,
		                  out, (void *)c, out, &choice.algo, NULL, 0, b.stream),
		     CUBLAS_OK);
	NEAR(100 * 2.0 * N * N * N / bench_release(&b) / 1e12, 1978.9, 0.005);
	SAME(g->cu.copy_to_host(host, c, sizeof(host), b.stream), CU_OK);
	for (int i = 0; i < N * N; i++)
		CHECK(host[i] == 2 * N);
}

static void fp8(void **state)
{
	(void)state;
	on_node("{\"cards\":[{\"model\":\"h100-sxm5-80gb\"}]}", fp8_product);
}

/* --- misuse ---------------------------------------------------------------------------------- */

static void before_start(const struct gpu *g)
{
	int count;
	unsigned n;
	cu_ptr p;

	SAME(g->cu.device_count(&count), CU_NOT_INITIALIZED);
	SAME(g->nvml.count(&n), NVML_UNINITIALIZED);
	SAME(g->cu.init(0), CU_OK);
	SAME(g->cu.device_count(&count), CU_OK);
	SAME(count, 2);
	SAME(g->cu.alloc(&p, 64), CU_INVALID_CONTEXT);
}

static void events(const struct gpu *g)
{
	struct bench b;
	cu_ptr p;
	float ms;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 4 << 20);
	SAME(g->cu.event_elapsed(&ms, b.begin, b.end), CU_INVALID_HANDLE);
	SAME(g->cu.event_record(b.begin, b.stream), CU_OK);
	SAME(g->cu.set8(p, 1, 4 << 20, b.stream), CU_OK);
	SAME(g->cu.event_record(b.end, b.stream), CU_OK);
	SAME(g->cu.event_elapsed(&ms, b.begin, b.end), CU_NOT_READY);
	SAME(g->cu.event_query(b.end), CU_NOT_READY);
	SAME(g->cu.event_sync(b.end), CU_OK);
	SAME(g->cu.event_elapsed(&ms, b.begin, b.end), CU_OK);
	NEAR((double)ms / 1e3, (4 << 20) / 2039e9, 0.005);
}

static void memory_misuse(const struct gpu *g)
{
	struct bench b;
	cu_ptr p, odd;
	u64 n = 64, base = 0;
	unsigned char bytes[4];
	size_t free_bytes, total;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 1024);
	SAME(g->cu.copy_to_host(bytes, p, 4, b.stream), CU_OK);
	SAME(bytes[3], 0xa5);
	SAME(g->cu.copy_to_host(bytes, p + 1021, 4, b.stream), CU_INVALID_VALUE);
	SAME(g->cu.memory_info(&free_bytes, &total), CU_OK);
	SAME(total, 81920 * 1024);
	SAME(g->cu.alloc(&odd, free_bytes + 512), CU_OUT_OF_MEMORY);
	SAME(g->cu.free(p + 8), CU_INVALID_VALUE);
	SAME(g->cu.free(p), CU_OK);
	SAME(g->cu.free(p), CU_INVALID_VALUE);
	/* A launch is only found out later, and then for good. */
	SAME(LAUNCH(&b, "assay_write", 8, 256, &p, &n, &base), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_ILLEGAL_ADDRESS);
	SAME(g->cu.alloc(&p, 64), CU_ILLEGAL_ADDRESS);
}

static void alignment(const struct gpu *g)
{
	struct bench b;
	cu_ptr p;
	u64 n = 8, base = 0;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 1024) + 8;
	SAME(LAUNCH(&b, "assay_write", 8, 256, &p, &n, &base), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_MISALIGNED_ADDRESS);
}

static void wrong_context(const struct gpu *g)
{
	struct bench b, other;
	cu_ptr p, theirs;
	u64 n = 8, base = 0;
	u32 flag = 1;

	open_pair(g, &b, &other, false);
	p = bench_alloc(&b, 1024);
	SAME(g->cu.set8(p, 0, 16, other.stream), CU_INVALID_HANDLE);
	SAME(g->cu.event_record(other.begin, b.stream), CU_INVALID_HANDLE);
	SAME(LAUNCH(&other, "assay_write", 8, 256, &p, &n, &base), CU_INVALID_HANDLE);
	SAME(LAUNCH(&b, "assay_spin", 2, 1, &p, &flag, &n, &p), CU_INVALID_VALUE);
	SAME(g->cu.context_set(other.context), CU_OK);
	theirs = bench_alloc(&other, 1024);
	SAME(g->cu.context_set(b.context), CU_OK);
	SAME(LAUNCH(&b, "assay_write", 8, 256, &theirs, &n, &base), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_ILLEGAL_ADDRESS);
}

/* A spin nobody ends gives up after its limit. */
static void forgotten(const struct gpu *g)
{
	struct bench b;
	cu_ptr flag;
	u64 limit = 5000000;
	u32 one = 1;
	cu_ptr expired;
	int64_t before;

	bench_open(&b, g, 0);
	flag = (cu_ptr)(uintptr_t)b.flag;
	expired = flag + 4;
	b.flag[0] = b.flag[1] = 0;
	before = g->now_ns();
	SAME(LAUNCH(&b, "assay_spin", 1, 1, &flag, &one, &limit, &expired), CU_OK);
	SAME(g->cu.stream_query(b.stream), CU_NOT_READY);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	SAME(b.flag[1], 1);
	NEAR((double)(g->now_ns() - before), 5e6, 0.005);
}

static void misuse(void **state)
{
	(void)state;
	on_node(A100 "}", before_start);
	on_node(A100 "}", events);
	on_node(A100 "}", memory_misuse);
	on_node(A100 "}", alignment);
	on_node(A100 "}", wrong_context);
	on_node(A100 "}", forgotten);
}

/* --- sensors ----------------------------------------------------------------------------------- */

static void sensors_of(const struct gpu *g)
{
	struct bench b;
	nvml_device d;
	unsigned mw, mhz, idle_mhz;
	unsigned long long mask, before, after;
	cu_ptr p;

	bench_open(&b, g, 0);
	SAME(g->nvml.init(), NVML_OK);
	SAME(g->nvml.by_index(0, &d), NVML_OK);
	SAME(g->nvml.event_reasons(d, &mask), NVML_OK);
	SAME(mask, NVML_REASON_IDLE);
	SAME(g->nvml.clock(d, NVML_SM_CLOCK, &idle_mhz), NVML_OK);
	SAME(g->nvml.energy(d, &before), NVML_OK);
	p = bench_alloc(&b, 4 << 20);
	/* A second of work at 2039 GB/s, watched in the middle. */
	for (int i = 0; i < 1000; i++)
		SAME(g->cu.set8(p, (unsigned char)i, 4 << 20, b.stream), CU_OK);
	g->sleep_ns(1000000);
	SAME(g->nvml.event_reasons(d, &mask), NVML_OK);
	SAME(mask, 0);
	SAME(g->nvml.power(d, &mw), NVML_OK);
	SAME(mw, 360000);
	SAME(g->nvml.clock(d, NVML_SM_CLOCK, &mhz), NVML_OK);
	SAME(mhz, 1410);
	CHECK(idle_mhz < 1000);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	SAME(g->nvml.energy(d, &after), NVML_OK);
	/* mJ of 2.06 ms at 360 W. */
	NEAR((double)(after - before), 1000 * 360 * 1000.0 * (4 << 20) / 2039e9, 0.02);
}

static void sensors(void **state)
{
	(void)state;
	on_node(A100 "}", sensors_of);
}

/* --- which cards --------------------------------------------------------------------------------- */

static int64_t bus_of(const struct gpu *g, int index)
{
	int value = -1;

	return g->cu.device_attribute(&value, CU_ATTR_PCI_BUS, index) ? -1 : value;
}

static void all_cards(const struct gpu *g)
{
	SAME(g->cu.init(0), CU_OK);
	SAME(bus_of(g, 0), 0x17 + 0x13);
	SAME(bus_of(g, 1), 0x17);
}

static void one_card(const struct gpu *g)
{
	char name[64];
	int count;

	SAME(g->cu.init(0), CU_OK);
	SAME(g->cu.device_count(&count), CU_OK);
	SAME(count, 1);
	SAME(bus_of(g, 0), 0x17);
	SAME(g->cu.device_name(name, 64, 0), CU_OK);
	CHECK(strcmp(name, "NVIDIA GeForce RTX 3090") == 0);
}

static void no_card(const struct gpu *g)
{
	SAME(g->cu.init(0), CU_NO_DEVICE);
}

/* CUDA puts the fastest first, and a list ends where it is wrong. */
static void visible(void **state)
{
	const char *node = "{\"cards\":[{\"model\":\"rtx-3090\"},{\"model\":\"rtx-4090\"}]}";

	(void)state;
	on_node(node, all_cards);
	setenv("CUDA_VISIBLE_DEVICES", "1,7,0", 1);
	on_node(node, one_card);
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	on_node(node, no_card);
	unsetenv("CUDA_VISIBLE_DEVICES");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gemm_rates), cmocka_unit_test(memory_rates),
		cmocka_unit_test(peer_rates), cmocka_unit_test(not_enabled),
		cmocka_unit_test(resources),  cmocka_unit_test(results),
		cmocka_unit_test(fp8),        cmocka_unit_test(misuse),
		cmocka_unit_test(sensors),    cmocka_unit_test(visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
