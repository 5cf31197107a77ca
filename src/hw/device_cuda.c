/* A card as a device: memory, products and the triad in one stream of the
 * primary context. cuBLAS is column-major, so C = A B in rows is asked for as
 * the product of the transposes in columns, B' A', which moves nothing. */
#include "hw/device_cuda.h"

#include <stdlib.h>

#include "base/unit.h"

/* What cublasLt may use: NVIDIA's advice for Hopper, and never much of a card. */
#define WORKSPACE       ((size_t)32 << 20)
#define WORKSPACE_SHARE 16

/* --- errors and launches --------------------------------------------------------- */

const struct gpu_cause *device_cuda_fault(const struct device_cuda *dev)
{
	return dev->cublas.fault ? dev->cublas.fault : dev->cuda->fault;
}

void device_cuda_forget(struct device_cuda *dev)
{
	dev->cublas.fault = NULL;
	dev->cuda->fault = NULL;
}

enum status device_cuda_kernel(struct device_cuda *dev, const char *name, cu_function *function,
                               struct error *err)
{
	return CUDA_TRY(dev->cuda, err, module_function, function, dev->module, name);
}

static enum status launch(struct device_cuda *dev, cu_function function, unsigned blocks,
                          unsigned threads, void **arguments, struct error *err)
{
	return CUDA_TRY(dev->cuda, err, launch, function, blocks, 1, 1, threads, 1, 1, 0,
	                dev->stream, arguments, NULL);
}

enum status device_cuda_wide(struct device_cuda *dev, cu_function function, void **arguments,
                             struct error *err)
{
	unsigned blocks = (unsigned)(dev->card.sm_count * dev->code.blocks_per_sm);

	return launch(dev, function, blocks, (unsigned)dev->code.threads, arguments, err);
}

enum status device_cuda_single(struct device_cuda *dev, cu_function function, void **arguments,
                               struct error *err)
{
	return launch(dev, function, 1, 1, arguments, err);
}

enum status device_cuda_wait(struct device_cuda *dev, struct error *err)
{
	return CUDA_TRY(dev->cuda, err, stream_sync, dev->stream);
}

/* Seconds between the two events of the device, once both have passed. */
static enum status take_time(struct device_cuda *dev, double *seconds, struct error *err)
{
	float ms = 0;
	enum status st = CUDA_TRY(dev->cuda, err, event_record, dev->end, dev->stream);

	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, event_sync, dev->end);
	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, event_elapsed, &ms, dev->begin, dev->end);
	*seconds = (double)ms / 1e3;
	return st;
}

/* --- memory ------------------------------------------------------------------------- */

static enum status cuda_alloc(struct device *device, struct device_buffer *out, size_t bytes,
                              struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	cu_ptr at = 0;
	cu_result code = dev->cuda->call.alloc(&at, bytes);

	*out = (struct device_buffer){0};
	if (code == CU_OUT_OF_MEMORY) {
		cuda_check(dev->cuda, code, "alloc", NULL);
		return error_set(err, ST_NOMEM, MSG_device_memory, device->info.id,
		                 fmt_bytes((int64_t)bytes));
	}
	if (code == CU_OK)
		*out = (struct device_buffer){(void *)(uintptr_t)at, bytes};
	return cuda_check(dev->cuda, code, "alloc", err);
}

static void cuda_release(struct device *device, struct device_buffer *buffer)
{
	struct device_cuda *dev = (struct device_cuda *)device;

	/* On a card that is lost even this fails; the child ends soon. */
	if (buffer->data)
		dev->cuda->call.free(device_cuda_address(buffer));
	*buffer = (struct device_buffer){0};
}

static enum status check_range(const struct device *device, const struct device_buffer *b,
                               size_t offset, size_t bytes, struct error *err)
{
	if (offset <= b->bytes && bytes <= b->bytes - offset)
		return ST_OK;
	return error_set(err, ST_RANGE, MSG_device_range, device->info.id);
}

static enum status cuda_write(struct device *device, struct device_buffer *to, size_t offset,
                              const void *from, size_t bytes, struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	enum status st = check_range(device, to, offset, bytes, err);

	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, copy_to_device, device_cuda_address(to) + offset,
		              from, bytes, dev->stream);
	return st == ST_OK ? device_cuda_wait(dev, err) : st;
}

static enum status cuda_read(struct device *device, const struct device_buffer *from, size_t offset,
                             void *to, size_t bytes, struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	enum status st = check_range(device, from, offset, bytes, err);

	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, copy_to_host, to, device_cuda_address(from) + offset,
		              bytes, dev->stream);
	return st == ST_OK ? device_cuda_wait(dev, err) : st;
}

/* --- products -------------------------------------------------------------------------- */

/* What each format is to cuBLAS, and the compute capability from which cards
 * multiply it. Pedantic types keep TF32 and emulation out of FP32 and FP64. */
static const struct {
	cuda_type type;
	cublas_compute compute;
	int capability; /* 10 x major + minor */
} formats[] = {
	[NUMBER_FP64] = {CUDA_FP64, CUBLAS_COMPUTE_FP64_PEDANTIC, 13},
	[NUMBER_FP32] = {CUDA_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, 10},
	[NUMBER_TF32] = {CUDA_FP32, CUBLAS_COMPUTE_TF32, 80},
	[NUMBER_FP16] = {CUDA_FP16, CUBLAS_COMPUTE_FP32, 53},
	[NUMBER_BF16] = {CUDA_BF16, CUBLAS_COMPUTE_FP32, 80},
	[NUMBER_FP8] = {CUDA_FP8_E4M3, CUBLAS_COMPUTE_FP32, 89},
};

static bool cuda_can_gemm(struct device *device, enum number_format format)
{
	struct device_cuda *dev = (struct device_cuda *)device;

	if (!dev->blas || (format == NUMBER_FP8 && !dev->lt))
		return false;
	return 10 * dev->card.major + dev->card.minor >= formats[format].capability;
}

static enum status queue_fp8(struct device_cuda *dev, const struct device_gemm *job,
                             struct error *err)
{
	/* In columns: C' (n x m) = (B stored n x k, so in columns k x n)' A'. */
	struct cublaslt_product p = {.m = job->n,
	                             .n = job->m,
	                             .k = job->k,
	                             .fast = true,
	                             .a = device_cuda_address(job->b),
	                             .b = device_cuda_address(job->a),
	                             .c = device_cuda_address(job->c),
	                             .workspace = dev->workspace,
	                             .workspace_bytes = dev->workspace_bytes};

	if (dev->plan_m != p.m || dev->plan_n != p.n || dev->plan_k != p.k) {
		enum status st;

		cublaslt_plan_release(&dev->cublas, &dev->plan);
		dev->plan_m = 0;
		st = cublaslt_plan_make(&dev->cublas, dev->lt, &p, &dev->plan, err);
		if (st != ST_OK)
			return st;
		dev->plan_m = p.m;
		dev->plan_n = p.n;
		dev->plan_k = p.k;
	}
	return cublaslt_plan_run(&dev->cublas, dev->lt, &p, &dev->plan, dev->stream, err);
}

enum status device_cuda_gemm(struct device_cuda *dev, const struct device_gemm *job,
                             struct error *err)
{
	static const float one = 1, zero = 0;
	static const double one_wide = 1, zero_wide = 0;
	bool wide = job->format == NUMBER_FP64;
	cuda_type type = formats[job->format].type;

	if (job->format == NUMBER_FP8)
		return queue_fp8(dev, job, err);
	return cublas_check(
		&dev->cublas,
		dev->cublas.call.gemm(dev->blas, CUBLAS_NO_TRANSPOSE, CUBLAS_NO_TRANSPOSE, job->n,
	                              job->m, job->k, wide ? (const void *)&one_wide : &one,
	                              job->b->data, type, job->n, job->a->data, type, job->k,
	                              wide ? (const void *)&zero_wide : &zero, job->c->data, type,
	                              job->n, formats[job->format].compute, CUBLAS_ALGO_DEFAULT),
		"cublasGemmEx", err);
}

static enum status cuda_gemm(struct device *device, const struct device_gemm *job, int reps,
                             double *seconds, struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	enum status st;

	*seconds = 0;
	if (!cuda_can_gemm(device, job->format))
		return error_set(err, ST_UNSUPPORTED, MSG_device_format, device->info.id,
		                 number_format_name(job->format));
	st = CUDA_TRY(dev->cuda, err, event_record, dev->begin, dev->stream);
	for (int i = 0; i < reps && st == ST_OK; i++)
		st = device_cuda_gemm(dev, job, err);
	return st == ST_OK ? take_time(dev, seconds, err) : st;
}

/* --- triad ------------------------------------------------------------------------------ */

/* Of the ramps that b and c are: small whole numbers, whose sums are exact. */
#define MOD_B 1024
#define MOD_C 509

static enum status triad_range(struct device *device, const struct device_triad *t,
                               struct error *err)
{
	size_t bytes = t->n * sizeof(double);

	if (bytes <= t->a->bytes && bytes <= t->b->bytes && bytes <= t->c->bytes && t->n % 2 == 0)
		return ST_OK;
	return error_set(err, ST_RANGE, MSG_device_range, device->info.id);
}

static enum status cuda_triad_fill(struct device *device, const struct device_triad *t,
                                   struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	cu_ptr a = device_cuda_address(t->a), b = device_cuda_address(t->b),
	       c = device_cuda_address(t->c);
	uint64_t n = t->n, mod_b = MOD_B, mod_c = MOD_C;
	enum status st = triad_range(device, t, err);

	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, set8, a, 0xff, t->n * sizeof(double), dev->stream);
	if (st == ST_OK)
		st = device_cuda_wide(dev, dev->ramp, (void *[]){&b, &n, &mod_b}, err);
	if (st == ST_OK)
		st = device_cuda_wide(dev, dev->ramp, (void *[]){&c, &n, &mod_c}, err);
	return st == ST_OK ? device_cuda_wait(dev, err) : st;
}

static enum status cuda_triad(struct device *device, const struct device_triad *t, int reps,
                              double *seconds, struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	cu_ptr a = device_cuda_address(t->a), b = device_cuda_address(t->b),
	       c = device_cuda_address(t->c);
	uint64_t pairs = t->n / 2;
	double scalar = t->scalar;
	enum status st = triad_range(device, t, err);

	*seconds = 0;
	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, event_record, dev->begin, dev->stream);
	for (int i = 0; i < reps && st == ST_OK; i++)
		st = device_cuda_wide(dev, dev->triad, (void *[]){&a, &b, &c, &scalar, &pairs},
		                      err);
	return st == ST_OK ? take_time(dev, seconds, err) : st;
}

static enum status cuda_triad_check(struct device *device, const struct device_triad *t,
                                    int64_t *wrong, struct error *err)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	/* Count of wrong elements, the first, and the bits that were wrong. */
	uint64_t found[3] = {0, UINT64_MAX, 0}, n = t->n, mod_b = MOD_B, mod_c = MOD_C;
	cu_ptr a = device_cuda_address(t->a), to;
	struct device_buffer check;
	double scalar = t->scalar;
	enum status st = triad_range(device, t, err);

	*wrong = 0;
	if (st == ST_OK)
		st = cuda_alloc(device, &check, sizeof(found), err);
	if (st != ST_OK)
		return st;
	to = device_cuda_address(&check);
	st = cuda_write(device, &check, 0, found, sizeof(found), err);
	if (st == ST_OK)
		st = device_cuda_wide(dev, dev->triad_check,
		                      (void *[]){&a, &n, &mod_b, &mod_c, &scalar, &to}, err);
	if (st == ST_OK)
		st = cuda_read(device, &check, 0, found, sizeof(found), err);
	cuda_release(device, &check);
	*wrong = found[0] > INT64_MAX ? INT64_MAX : (int64_t)found[0];
	return st;
}

/* --- opening and closing -------------------------------------------------------------------- */

static void cuda_close(struct device *device)
{
	struct device_cuda *dev = (struct device_cuda *)device;
	const struct cuda_calls *call = &dev->cuda->call;

	cublaslt_plan_release(&dev->cublas, &dev->plan);
	if (dev->lt)
		dev->cublas.lt_call.destroy(dev->lt);
	if (dev->blas)
		dev->cublas.call.destroy(dev->blas);
	if (dev->workspace)
		call->free(dev->workspace);
	if (dev->begin)
		call->event_destroy(dev->begin);
	if (dev->end)
		call->event_destroy(dev->end);
	if (dev->module)
		call->module_unload(dev->module);
	if (dev->stream)
		call->stream_destroy(dev->stream);
	if (dev->context)
		call->context_release(dev->card.device);
	free(dev);
}

static const struct device_ops cuda_ops = {
	.close = cuda_close,
	.alloc = cuda_alloc,
	.release = cuda_release,
	.write = cuda_write,
	.read = cuda_read,
	.can_gemm = cuda_can_gemm,
	.gemm = cuda_gemm,
	.triad_fill = cuda_triad_fill,
	.triad = cuda_triad,
	.triad_check = cuda_triad_check,
};

static enum status set_up(struct device_cuda *dev, struct error *err)
{
	struct cuda *cuda = dev->cuda;
	enum status st = cuda_context(cuda, dev->card.device, &dev->context, err);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, stream_create, &dev->stream, CU_STREAM_INDEPENDENT);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_create, &dev->begin, CU_EVENT_TIMED);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_create, &dev->end, CU_EVENT_TIMED);
	if (st == ST_OK)
		st = cuda_module(cuda, dev->code.ptx, &dev->module, err);
	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_ramp", &dev->ramp, err);
	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_triad", &dev->triad, err);
	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_triad_check", &dev->triad_check, err);
	return st;
}

/* Without cublasLt all but FP8 can be had: its trouble is kept in words. */
static void start_lt(struct device_cuda *dev, struct arena *arena, size_t memory_free)
{
	struct cublas *cublas = &dev->cublas;
	struct error err = {0};
	enum status st;

	dev->lt_why = cublas->lt_why;
	if (!cublas->lt.handle || cublas->lt_why)
		return;
	dev->workspace_bytes = memory_free / WORKSPACE_SHARE & ~(size_t)255;
	if (dev->workspace_bytes > WORKSPACE)
		dev->workspace_bytes = WORKSPACE;
	st = CUDA_TRY(dev->cuda, &err, alloc, &dev->workspace, dev->workspace_bytes);
	if (st == ST_OK)
		st = cublas_check(cublas, cublas->lt_call.create(&dev->lt), "cublasLtCreate", &err);
	if (st != ST_OK) {
		dev->lt = NULL;
		dev->lt_why = arena_str(arena, str_text(&err.text));
		device_cuda_forget(dev);
	}
	error_release(&err);
}

static enum status start_blas(struct device_cuda *dev, struct arena *arena,
                              const struct gpu_search *where, struct error *err)
{
	struct cublas *cublas = &dev->cublas;
	size_t memory_free = 0, memory_total = 0;
	enum status st = cublas_open(cublas, arena, where, dev->cuda->version, err);

	if (st == ST_OK)
		st = cublas_check(cublas, cublas->call.create(&dev->blas), "cublasCreate_v2", err);
	if (st == ST_OK)
		st = cublas_check(cublas, cublas->call.set_stream(dev->blas, dev->stream),
		                  "cublasSetStream_v2", err);
	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, memory_info, &memory_free, &memory_total);
	if (st != ST_OK)
		return st;
	start_lt(dev, arena, memory_free);
	dev->device.info.library = "cublas";
	dev->device.info.library_version = cublas->lib.version;
	dev->device.info.library_path = cublas->lib.path;
	return ST_OK;
}

enum status device_cuda_open(struct device_cuda **out, struct arena *arena,
                             const struct device_cuda_request *request, struct error *err)
{
	struct device_cuda *dev = calloc(1, sizeof(*dev));
	size_t memory_free = 0, memory_total = 0;
	enum status st;

	*out = NULL;
	if (!dev)
		die_nomem();
	dev->cuda = request->cuda;
	dev->card = *request->card;
	dev->code = request->code;
	dev->device.ops = &cuda_ops;
	dev->device.info = (struct device_info){
		.id = request->card->uuid,
		.name = request->card->name,
		.units = request->card->sm_count,
		.cache_bytes = request->card->l2_bytes > 0 ? request->card->l2_bytes : 0,
	};
	/* An earlier card's trouble is not this one's. */
	device_cuda_forget(dev);
	st = set_up(dev, err);
	if (st == ST_OK && request->blas)
		st = start_blas(dev, arena, request->where, err);
	if (st == ST_OK)
		st = CUDA_TRY(dev->cuda, err, memory_info, &memory_free, &memory_total);
	dev->device.info.memory_free = (int64_t)memory_free;
	if (st != ST_OK) {
		/* What the cause was outlives the device. */
		if (dev->cublas.fault)
			dev->cuda->fault = dev->cublas.fault;
		cuda_close(&dev->device);
		return st;
	}
	*out = dev;
	return ST_OK;
}
