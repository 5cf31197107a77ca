/* A CPU socket as a device. A pinned thread sits on each core for the whole
 * life of the device, so that memory is touched first by the thread that will
 * stream it. The BLAS has threads of its own; ours sleep while it computes. */
#include "hw/device_cpu.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/unit.h"
#include "hw/blas.h"
#include "hw/host.h"
#include "hw/pool.h"
#include "hw/topology.h"

/* Parts are cut at pages of this many bytes, so that no page has two owners. */
#define GRAIN 4096
/* Order of the product by which BLAS libraries are compared. */
#define TRIAL 768

struct cpu_device {
	struct device device;
	const struct clock_source *clock;
	struct blas blas;
	const int *before; /* CPUs of the caller, given back on close */
	int n_before;
	struct pool *pool;
};

/* What the threads need to know of a job; length in bytes. */
struct cpu_job {
	size_t length;
	char *bytes;
	const struct device_triad *triad;
	int reps;
	atomic_llong wrong;
};

/* --- memory ------------------------------------------------------------------- */

/* Where a part begins: even shares of whole grains. */
static size_t part_begin(size_t length, int part, int parts)
{
	size_t grains = (length + GRAIN - 1) / GRAIN;
	size_t at = grains * (size_t)part / (size_t)parts * GRAIN;

	return at < length ? at : length;
}

static void touch_part(void *arg, int part, int parts)
{
	struct cpu_job *job = arg;
	size_t begin = part_begin(job->length, part, parts);

	memset(job->bytes + begin, 0, part_begin(job->length, part + 1, parts) - begin);
}

/* Mapped rather than malloc'ed, so that no page was touched before. */
static enum status cpu_alloc(struct device *dev, struct device_buffer *out, size_t bytes,
                             struct error *err)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;
	struct cpu_job job = {.length = bytes};
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*out = (struct device_buffer){0};
	if (data == MAP_FAILED)
		return error_set(err, ST_NOMEM, MSG_device_memory, dev->info.id,
		                 fmt_bytes((int64_t)bytes));
	/* Large pages where the machine allows them; refusal is no fault. */
	madvise(data, bytes, MADV_HUGEPAGE);
	job.bytes = data;
	pool_run(cpu->pool, touch_part, &job);
	*out = (struct device_buffer){data, bytes};
	return ST_OK;
}

static void cpu_release(struct device *dev, struct device_buffer *buffer)
{
	(void)dev;
	if (buffer->data)
		munmap(buffer->data, buffer->bytes);
	*buffer = (struct device_buffer){0};
}

static enum status check_range(const struct device *dev, const struct device_buffer *b,
                               size_t offset, size_t bytes, struct error *err)
{
	if (offset <= b->bytes && bytes <= b->bytes - offset)
		return ST_OK;
	return error_set(err, ST_RANGE, MSG_device_range, dev->info.id);
}

static enum status cpu_write(struct device *dev, struct device_buffer *to, size_t offset,
                             const void *from, size_t bytes, struct error *err)
{
	enum status st = check_range(dev, to, offset, bytes, err);

	if (st == ST_OK)
		memcpy((char *)to->data + offset, from, bytes);
	return st;
}

static enum status cpu_read(struct device *dev, const struct device_buffer *from, size_t offset,
                            void *to, size_t bytes, struct error *err)
{
	enum status st = check_range(dev, from, offset, bytes, err);

	if (st == ST_OK)
		memcpy(to, (const char *)from->data + offset, bytes);
	return st;
}

/* --- matrix product --------------------------------------------------------------- */

static bool cpu_can_gemm(struct device *dev, enum number_format format)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;

	return cpu->blas.sgemm && (format == NUMBER_FP64 || format == NUMBER_FP32);
}

static enum status cpu_gemm(struct device *dev, const struct device_gemm *job, int reps,
                            double *seconds, struct error *err)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;
	const struct blas *blas = &cpu->blas;
	int m = job->m, n = job->n, k = job->k;
	int64_t begun;

	if (!cpu_can_gemm(dev, job->format))
		return error_set(err, ST_UNSUPPORTED, MSG_device_format, dev->info.id,
		                 number_format_name(job->format));
	begun = clock_now(cpu->clock);
	for (int i = 0; i < reps; i++) {
		if (job->format == NUMBER_FP32)
			blas->sgemm(BLAS_ROW_MAJOR, BLAS_NO_TRANS, BLAS_NO_TRANS, m, n, k, 1.0F,
			            job->a->data, k, job->b->data, n, 0.0F, job->c->data, n);
		else
			blas->dgemm(BLAS_ROW_MAJOR, BLAS_NO_TRANS, BLAS_NO_TRANS, m, n, k, 1.0,
			            job->a->data, k, job->b->data, n, 0.0, job->c->data, n);
	}
	*seconds = (double)(clock_now(cpu->clock) - begun) / (double)NS_PER_S;
	return ST_OK;
}

/* --- triad ---------------------------------------------------------------------- */

struct part_range {
	size_t begin, end; /* elements */
};

static struct part_range part_range(const struct cpu_job *job, int part, int parts)
{
	return (struct part_range){part_begin(job->length, part, parts) / sizeof(double),
	                           part_begin(job->length, part + 1, parts) / sizeof(double)};
}

static void fill_part(void *arg, int part, int parts)
{
	struct cpu_job *job = arg;
	struct part_range r = part_range(job, part, parts);
	double *a = job->triad->a->data, *b = job->triad->b->data, *c = job->triad->c->data;

	for (size_t i = r.begin; i < r.end; i++) {
		a[i] = NAN;
		b[i] = (double)(i % 1024);
		c[i] = (double)(i % 509);
	}
}

static void triad_part(void *arg, int part, int parts)
{
	struct cpu_job *job = arg;
	struct part_range r = part_range(job, part, parts);
	double *restrict a = job->triad->a->data;
	const double *restrict b = job->triad->b->data;
	const double *restrict c = job->triad->c->data;
	double scalar = job->triad->scalar;

	for (int rep = 0; rep < job->reps; rep++) {
		for (size_t i = r.begin; i < r.end; i++)
			a[i] = b[i] + scalar * c[i];
		/* Each pass must reach memory: without this the compiler may keep
		 * only the last one. */
		atomic_signal_fence(memory_order_seq_cst);
	}
}

/* Small whole numbers: the sum is exact with and without fused multiply-add. */
static void check_part(void *arg, int part, int parts)
{
	struct cpu_job *job = arg;
	struct part_range r = part_range(job, part, parts);
	const double *a = job->triad->a->data;
	double scalar = job->triad->scalar;
	long long wrong = 0;

	for (size_t i = r.begin; i < r.end; i++)
		wrong += !(a[i] == (double)(i % 1024) + scalar * (double)(i % 509));
	atomic_fetch_add(&job->wrong, wrong);
}

static enum status triad_job(struct device *dev, const struct device_triad *triad, int reps,
                             struct cpu_job *job, struct error *err)
{
	size_t bytes = triad->n * sizeof(double);

	*job = (struct cpu_job){.length = bytes, .triad = triad, .reps = reps};
	if (bytes > triad->a->bytes || bytes > triad->b->bytes || bytes > triad->c->bytes)
		return error_set(err, ST_RANGE, MSG_device_range, dev->info.id);
	return ST_OK;
}

static enum status cpu_triad_fill(struct device *dev, const struct device_triad *triad,
                                  struct error *err)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;
	struct cpu_job job;
	enum status st = triad_job(dev, triad, 1, &job, err);

	if (st == ST_OK)
		pool_run(cpu->pool, fill_part, &job);
	return st;
}

static enum status cpu_triad(struct device *dev, const struct device_triad *triad, int reps,
                             double *seconds, struct error *err)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;
	struct cpu_job job;
	enum status st = triad_job(dev, triad, reps, &job, err);
	int64_t begun;

	if (st != ST_OK)
		return st;
	begun = clock_now(cpu->clock);
	pool_run(cpu->pool, triad_part, &job);
	*seconds = (double)(clock_now(cpu->clock) - begun) / (double)NS_PER_S;
	return ST_OK;
}

static enum status cpu_triad_check(struct device *dev, const struct device_triad *triad,
                                   int64_t *wrong, struct error *err)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;
	struct cpu_job job;
	enum status st = triad_job(dev, triad, 1, &job, err);

	*wrong = 0;
	if (st != ST_OK)
		return st;
	pool_run(cpu->pool, check_part, &job);
	*wrong = job.wrong;
	return ST_OK;
}

/* --- opening and closing ------------------------------------------------------------ */

static void cpu_close(struct device *dev)
{
	struct cpu_device *cpu = (struct cpu_device *)dev;

	pool_stop(cpu->pool);
	if (cpu->n_before)
		thread_bind(cpu->before, cpu->n_before);
	free(cpu);
}

static const struct device_ops cpu_ops = {
	.close = cpu_close,
	.alloc = cpu_alloc,
	.release = cpu_release,
	.write = cpu_write,
	.read = cpu_read,
	.can_gemm = cpu_can_gemm,
	.gemm = cpu_gemm,
	.triad_fill = cpu_triad_fill,
	.triad = cpu_triad,
	.triad_check = cpu_triad_check,
};

static enum status find_socket(const struct socket_info **socket, struct arena *arena,
                               const struct device_cpu_request *request, struct error *err)
{
	struct topology topology;
	int64_t id;
	enum status st = topology_read(&topology, arena, request->root, err);

	if (st != ST_OK)
		return st;
	*socket = NULL;
	if (str_starts(request->id, CPU_SOCKET_PREFIX) &&
	    parse_int64(request->id + strlen(CPU_SOCKET_PREFIX), &id))
		*socket = topology_socket(&topology, (int)id);
	return *socket ? ST_OK : error_set(err, ST_UNSUPPORTED, MSG_device_missing, request->id);
}

/* Seconds of one product of order TRIAL, best of three. */
static double trial(const struct blas *blas, const struct clock_source *clock, float *data)
{
	float *a = data, *b = a + TRIAL * TRIAL, *c = b + TRIAL * TRIAL;
	double best = INFINITY;

	for (int i = 0; i < 3; i++) {
		int64_t begun = clock_now(clock);
		double seconds;

		blas->sgemm(BLAS_ROW_MAJOR, BLAS_NO_TRANS, BLAS_NO_TRANS, TRIAL, TRIAL, TRIAL, 1.0F,
		            a, TRIAL, b, TRIAL, 0.0F, c, TRIAL);
		seconds = (double)(clock_now(clock) - begun);
		best = seconds < best ? seconds : best;
	}
	return best;
}

/* A library that does not know the processor takes kernels many times too
 * slow, and that would be said of the machine. */
static int fastest(const struct blas *list, int count, const struct clock_source *clock)
{
	float *data = calloc(3 * TRIAL * TRIAL, sizeof(*data));
	double best = INFINITY;
	int winner = 0;

	if (!data)
		die_nomem();
	for (int i = 0; i < count; i++) {
		double seconds = trial(&list[i], clock, data);

		if (seconds < best) {
			best = seconds;
			winner = i;
		}
		/* Its threads spin for a while before they sleep. */
		clock_sleep(clock, 100 * NS_PER_MS);
	}
	free(data);
	return winner;
}

static enum status load_blas(struct cpu_device *cpu, struct arena *arena,
                             const struct device_cpu_request *request, struct error *err)
{
	struct device_info *info = &cpu->device.info;
	struct blas list[BLAS_FAMILIES];
	int count;
	enum status st = blas_open(list, &count, arena, request->family, request->lib_dir, err);

	if (st != ST_OK)
		return st;
	for (int i = 0; i < count; i++)
		blas_set_threads(&list[i], info->threads);
	cpu->blas = list[count == 1 ? 0 : fastest(list, count, cpu->clock)];
	if (blas_threads(&cpu->blas) > 0)
		info->threads = blas_threads(&cpu->blas);
	info->library = cpu->blas.name;
	info->library_version = cpu->blas.version;
	info->library_path = cpu->blas.lib.path;
	return ST_OK;
}

static enum status set_up(struct cpu_device *cpu, struct arena *arena,
                          const struct socket_info *socket,
                          const struct device_cpu_request *request, struct error *err)
{
	int threads = request->threads > 0 ? request->threads : socket->cores;
	int *cpus = arena_array(arena, (size_t)threads, sizeof(*cpus));
	struct host_cpu model = host_cpu_read(arena, request->root);
	enum status st;

	for (int i = 0; i < threads; i++)
		cpus[i] = socket->cpus[i % socket->cores];
	cpu->device.ops = &cpu_ops;
	cpu->device.info = (struct device_info){
		.id = arena_str(arena, request->id),
		.name = model.model ? model.model : request->id,
		.units = socket->cores,
		.threads = threads,
		.memory_free = host_memory_free(request->root),
		.cache_bytes = socket->llc_bytes,
	};
	cpu->clock = request->clock;
	cpu->before = host_allowed_cpus(arena, "", &cpu->n_before);
	if (!thread_bind(socket->cpus, socket->cores))
		return error_errno(err, request->id, errno);
	st = pool_start(&cpu->pool, cpus, threads, err);
	if (st == ST_OK && request->blas)
		st = load_blas(cpu, arena, request, err);
	return st;
}

enum status device_cpu_open(struct device **out, struct arena *arena,
                            const struct device_cpu_request *request, struct error *err)
{
	const struct socket_info *socket;
	struct cpu_device *cpu;
	enum status st = find_socket(&socket, arena, request, err);

	*out = NULL;
	if (st != ST_OK)
		return st;
	cpu = calloc(1, sizeof(*cpu));
	if (!cpu)
		die_nomem();
	st = set_up(cpu, arena, socket, request, err);
	if (st != ST_OK) {
		cpu_close(&cpu->device);
		return st;
	}
	*out = &cpu->device;
	return ST_OK;
}
