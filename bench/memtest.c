/* memtest: whether the memory of a card is there and keeps what it is given. All
 * that can be had of it holds its own addresses at the same time, which memory
 * that is claimed and not there cannot do, then patterns and their complements.
 * How much was tested is a result too: a test of half a card passes nobody.
 *
 * What is wrong is counted in memory of the host, which is not under test. */
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "cards.h"
#include "inventory.h"
#include "kernels/kernels.h"
#include "kernels/ptx.h"
#include "hw/device_cuda.h"
#include "telemetry.h"

/* Bytes of a real card; on stand-ins divided as their memory is. */
#define SPARE_BYTES ((double)(256 << 20)) /* left to the driver */
#define SLICE_BYTES ((double)(1 << 30))   /* between two looks at the counters */
#define GRAIN_BYTES ((double)(2 << 20))   /* smallest piece worth having */
#define LEAST_GRAIN 65536

#define MOST_PIECES 64
/* Enough to be sure; counting on would take minutes where every word is wrong. */
#define ENOUGH_BAD ((uint64_t)1 << 20)
#define LOOKS      1024 /* at single words, to tell how much memory is really there */
#define RESERVE_NS (5 * NS_PER_S)
/* Seconds to read or write all memory once: the slowest of the usual cards. */
#define SWEEP_S 0.1

struct ecc {
	int64_t uncorrected, corrected; /* -1: not told */
	nvml_result uncorrected_code, corrected_code;
};

struct memtest {
	struct card_unit *unit;
	struct device_cuda *dev;
	cu_function write, check;
	void *counter; /* a struct kernel_check of the host, seen by the card */
	cu_ptr counter_at;
	struct device_buffer pieces[MOST_PIECES];
	int n_pieces;
	int64_t free_bytes, tested_bytes;
	uint64_t slice_bytes;
	int done, planned; /* patterns */
	bool cut, enough;  /* by the deadline; by the errors */
	/* What was wrong. */
	uint64_t bad, bits, first; /* words; bits of any; address */
	const char *pattern;       /* that found the first */
	uint64_t holds;            /* what stands at `first`, when it is another address; else 0 */
	double there;              /* share of the tested memory that held its own address */
	struct telemetry telemetry;
	struct ecc before, after;
};

struct pattern {
	const char *name;
	uint32_t kind;
	uint64_t seed;
};

/* --- memory ----------------------------------------------------------------------- */

static uint64_t scaled(const struct memtest *m, double bytes)
{
	double fewer = bytes / m->unit->memory_scale;

	return fewer < LEAST_GRAIN ? LEAST_GRAIN : (uint64_t)fewer / LEAST_GRAIN * LEAST_GRAIN;
}

/* In pieces that get smaller where one as large is not to be had. */
static enum status take_memory(struct memtest *m, struct error *err)
{
	struct device *device = &m->dev->device;
	uint64_t spare = scaled(m, SPARE_BYTES), grain = scaled(m, GRAIN_BYTES);
	uint64_t rest = (uint64_t)m->free_bytes > spare ? (uint64_t)m->free_bytes - spare : 0;
	uint64_t size = rest / grain * grain;
	enum status st = ST_OK;

	while (size >= grain && m->n_pieces < MOST_PIECES) {
		struct device_buffer *piece = &m->pieces[m->n_pieces];

		error_release(err);
		st = device->ops->alloc(device, piece, size, err);
		if (st == ST_OK) {
			m->n_pieces++;
			m->tested_bytes += (int64_t)size;
			rest -= size;
			size = size < rest ? size : rest / grain * grain;
		} else if (st == ST_NOMEM) {
			size = size / 2 / grain * grain;
		} else {
			return st;
		}
	}
	if (m->n_pieces == 0)
		return st == ST_NOMEM ? st
		                      : error_set(err, ST_NOMEM, MSG_device_memory, device->info.id,
		                                  fmt_bytes((int64_t)grain));
	error_release(err);
	/* That some of it was refused is no trouble of the card. */
	device_cuda_forget(m->dev);
	return ST_OK;
}

static void give_back(struct memtest *m)
{
	for (int i = 0; i < m->n_pieces; i++)
		m->dev->device.ops->release(&m->dev->device, &m->pieces[i]);
}

/* Whether it is an address of a word under test. */
static bool under_test(const struct memtest *m, uint64_t address)
{
	for (int i = 0; i < m->n_pieces; i++) {
		uint64_t at = device_cuda_address(&m->pieces[i]);

		if (address >= at && address - at < m->pieces[i].bytes)
			return address % sizeof(uint64_t) == 0;
	}
	return false;
}

/* --- a slice ------------------------------------------------------------------------- */

static enum status write_slice(struct memtest *m, const struct pattern *p, uint64_t at, uint64_t n,
                               struct error *err)
{
	uint64_t seed = p->kind == PATTERN_RANDOM ? p->seed ^ at : p->seed, invert = 0;
	uint32_t kind = p->kind;

	return device_cuda_wide(m->dev, m->write, (void *[]){&at, &n, &kind, &at, &seed, &invert},
	                        err);
}

static void count_slice(struct memtest *m, const struct pattern *p, uint64_t at)
{
	const struct kernel_check *found = m->counter;

	if (found->bad == 0)
		return;
	if (m->bad == 0) {
		m->first = at + sizeof(uint64_t) * found->first;
		m->pattern = p->name;
	}
	m->bad += found->bad;
	m->bits |= found->bits;
	m->enough |= m->bad >= ENOUGH_BAD;
}

static enum status check_slice(struct memtest *m, const struct pattern *p, uint64_t at, uint64_t n,
                               uint64_t invert, uint32_t rewrite, struct error *err)
{
	uint64_t seed = p->kind == PATTERN_RANDOM ? p->seed ^ at : p->seed;
	uint32_t kind = p->kind;
	enum status st;

	*(struct kernel_check *)m->counter = (struct kernel_check){0, UINT64_MAX, 0};
	st = device_cuda_wide(
		m->dev, m->check,
		(void *[]){&at, &n, &kind, &at, &seed, &invert, &rewrite, &m->counter_at}, err);
	if (st == ST_OK)
		st = device_cuda_wait(m->dev, err);
	if (st == ST_OK)
		count_slice(m, p, at);
	return st;
}

/* --- all memory ------------------------------------------------------------------------ */

enum sweep { SWEEP_WRITE, SWEEP_CHECK, SWEEP_INVERT, SWEEP_CHECK_INVERTED };

static bool stopped(struct memtest *m)
{
	struct probe_ctx *ctx = m->unit->ctx;

	m->cut |= clock_now(ctx->clock) > ctx->deadline_ns - RESERVE_NS;
	return m->cut || m->enough;
}

static enum status sweep_slice(struct memtest *m, const struct pattern *p, enum sweep sweep,
                               uint64_t at, uint64_t n, struct error *err)
{
	if (sweep == SWEEP_WRITE)
		return write_slice(m, p, at, n, err);
	return check_slice(m, p, at, n, sweep == SWEEP_CHECK_INVERTED ? ~(uint64_t)0 : 0,
	                   sweep == SWEEP_INVERT, err);
}

static enum status sweep_all(struct memtest *m, const struct pattern *p, enum sweep sweep,
                             struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; i < m->n_pieces; i++) {
		uint64_t at = device_cuda_address(&m->pieces[i]);
		uint64_t left = m->pieces[i].bytes;

		while (left && st == ST_OK && !stopped(m)) {
			uint64_t bytes = left < m->slice_bytes ? left : m->slice_bytes;

			st = sweep_slice(m, p, sweep, at, bytes / sizeof(uint64_t), err);
			at += bytes;
			left -= bytes;
		}
	}
	return st == ST_OK && sweep == SWEEP_WRITE ? device_cuda_wait(m->dev, err) : st;
}

/* Written, read back and inverted, read back again. */
static enum status run_pattern(struct memtest *m, const struct pattern *p, struct error *err)
{
	static const enum sweep sweeps[] = {SWEEP_WRITE, SWEEP_INVERT, SWEEP_CHECK_INVERTED};
	enum status st = ST_OK;

	for (int i = 0; i < 3 && st == ST_OK && !stopped(m); i++)
		st = sweep_all(m, p, sweeps[i], err);
	if (st == ST_OK && !m->cut && !m->enough)
		m->done++;
	m->unit->ctx->progress(m->unit->ctx, STAGE_MEASURING, (double)m->done / m->planned,
	                       MSG_doing_memtest);
	return st;
}

/* --- own addresses ------------------------------------------------------------------------ */

static enum status read_words(struct memtest *m, uint64_t at, uint64_t *words, size_t n,
                              struct error *err)
{
	enum status st = CUDA_TRY(m->dev->cuda, err, copy_to_host, words, at, n * sizeof(*words),
	                          m->dev->stream);

	return st == ST_OK ? device_cuda_wait(m->dev, err) : st;
}

/* Looks at words all over the memory. */
static enum status count_there(struct memtest *m, struct error *err)
{
	enum status st = ST_OK;
	int own = 0, looked = 0;

	for (int i = 0; i < m->n_pieces; i++) {
		uint64_t at = device_cuda_address(&m->pieces[i]);
		uint64_t bytes = m->pieces[i].bytes;
		uint64_t step = (uint64_t)m->tested_bytes / LOOKS / 8 * 8;

		for (uint64_t k = 0; k < bytes && st == ST_OK; k += step ? step : 8, looked++) {
			uint64_t word = 0;

			st = read_words(m, at + k, &word, 1, err);
			own += word == at + k;
		}
	}
	m->there = (double)own / looked;
	return st;
}

/* A bad cell changes a word; of memory that is another's twice, neighbours hold
 * the addresses of neighbours. */
static enum status find_alias(struct memtest *m, struct error *err)
{
	uint64_t words[2] = {0, 0};
	enum status st;

	if (!under_test(m, m->first + 8))
		return ST_OK;
	st = read_words(m, m->first, words, 2, err);
	if (st != ST_OK || words[1] != words[0] + 8 || words[0] == m->first ||
	    !under_test(m, words[0]))
		return st;
	m->holds = words[0];
	return count_there(m, err);
}

static enum status run_addresses(struct memtest *m, struct error *err)
{
	const struct pattern own = {"own address", PATTERN_ADDRESS, 0};
	enum status st = sweep_all(m, &own, SWEEP_WRITE, err);

	if (st == ST_OK)
		st = sweep_all(m, &own, SWEEP_CHECK, err);
	if (st == ST_OK && m->bad)
		st = find_alias(m, err);
	if (st == ST_OK && !stopped(m))
		st = sweep_all(m, &own, SWEEP_INVERT, err);
	if (st == ST_OK && !stopped(m))
		st = sweep_all(m, &own, SWEEP_CHECK_INVERTED, err);
	if (st == ST_OK && !m->cut && !m->enough)
		m->done++;
	return st;
}

/* Bits that leak show after some time only. */
static enum status run_fade(struct memtest *m, double seconds, struct error *err)
{
	const struct pattern fade = {"fade", PATTERN_RANDOM, m->unit->ctx->seed ^ 0xfade};
	int64_t ns = (int64_t)(seconds * 1e9);
	enum status st = sweep_all(m, &fade, SWEEP_WRITE, err);

	/* Long enough to be worth the wait, or not at all. */
	m->cut |= clock_now(m->unit->ctx->clock) + ns > m->unit->ctx->deadline_ns - RESERVE_NS;
	if (st != ST_OK || m->cut)
		return st;
	clock_sleep(m->unit->ctx->clock, ns);
	st = sweep_all(m, &fade, SWEEP_CHECK, err);
	if (st == ST_OK && !m->cut)
		m->done++;
	return st;
}

static enum status run_patterns(struct memtest *m, struct error *err)
{
	static const struct pattern fixed[] = {{"zeros", PATTERN_CONSTANT, 0},
	                                       {"checks", PATTERN_CONSTANT, 0x5555555555555555u}};
	struct probe_ctx *ctx = m->unit->ctx;
	int walking = (int)ctx->param_int(ctx, "walking");
	int random = (int)ctx->param_int(ctx, "random");
	double fade_s = ctx->param_real(ctx, "fade_s");
	enum status st;

	m->planned = 3 + walking + random + (fade_s > 0);
	st = run_addresses(m, err);
	for (int i = 0; i < 2 && st == ST_OK && !stopped(m); i++)
		st = run_pattern(m, &fixed[i], err);
	for (int i = 0; i < walking && st == ST_OK && !stopped(m); i++) {
		struct pattern p = {"walking bit", PATTERN_WALKING, (uint64_t)(i * 64 / walking)};

		st = run_pattern(m, &p, err);
	}
	for (int i = 0; i < random && st == ST_OK && !stopped(m); i++) {
		struct pattern p = {"random", PATTERN_RANDOM, ctx->seed + (uint64_t)i};

		st = run_pattern(m, &p, err);
	}
	if (fade_s > 0 && st == ST_OK && !stopped(m))
		st = run_fade(m, fade_s, err);
	return st;
}

/* --- error counters --------------------------------------------------------------------- */

static struct ecc read_ecc(const struct telemetry *t)
{
	struct ecc ecc = {-1, -1, NVML_FUNCTION_NOT_FOUND, NVML_FUNCTION_NOT_FOUND};
	unsigned long long corrected = 0;

	if (!t->ready)
		return ecc;
	ecc.uncorrected = telemetry_ecc(t, &ecc.uncorrected_code);
	ecc.corrected_code = NVML_ASK(&t->nvml, ecc_total, t->device, NVML_ECC_CORRECTED,
	                              NVML_ECC_SINCE_BOOT, &corrected);
	if (ecc.corrected_code == NVML_OK)
		ecc.corrected = (int64_t)corrected;
	return ecc;
}

static enum status emit_ecc(const struct memtest *m, const char *metric, int64_t before,
                            int64_t after, nvml_result code)
{
	struct probe_ctx *ctx = m->unit->ctx;
	struct reading r = card_reading(m->unit, metric);
	const struct gpu_cause *cause = nvml_cause(code);

	r.params = arena_strf(ctx->arena, "{\"before\":%lld,\"after\":%lld}", (long long)before,
	                      (long long)after);
	if (before >= 0 && after >= before) {
		r.value_kind = VALUE_NUMBER;
		r.value = (double)(after - before);
	} else if (!m->telemetry.ready) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_gpu_library_unusable, "libnvidia-ml.so.1",
		           m->telemetry.why);
	} else if (cause) {
		r.outcome = cause->outcome;
		reason_set_list(ctx, &r.reason, cause->why,
		                (const char *const[]){"nvmlDeviceGetTotalEccErrors", NULL});
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_telemetry_silent);
	}
	return ctx->emit(ctx, &r);
}

/* --- readings ----------------------------------------------------------------------------- */

static const char *params_of(const struct memtest *m)
{
	struct json_text t = json_text_begin();

	json_put_int(&t.j, "card_bytes", m->unit->card.memory_bytes);
	json_put_int(&t.j, "free_bytes", m->free_bytes);
	json_put_int(&t.j, "tested_bytes", m->tested_bytes);
	json_put_int(&t.j, "pieces", m->n_pieces);
	json_put_int(&t.j, "patterns_planned", m->planned);
	json_put_int(&t.j, "patterns_done", m->done);
	json_put_string(&t.j, "seed", tmpf("%016llx", (unsigned long long)m->unit->ctx->seed));
	if (m->bad) {
		json_put_string(&t.j, "first_bad_address",
		                tmpf("0x%llx", (unsigned long long)m->first));
		json_put_string(&t.j, "bad_bits", tmpf("0x%llx", (unsigned long long)m->bits));
		json_put_string(&t.j, "bad_pattern", m->pattern);
		json_put_bool(&t.j, "counted_all", !m->enough);
	}
	if (m->holds) {
		json_put_string(&t.j, "first_bad_holds",
		                tmpf("0x%llx", (unsigned long long)m->holds));
		json_put_number(&t.j, "share_there", m->there);
	}
	return json_text_end(&t, m->unit->ctx->arena);
}

static void say_wrong(const struct memtest *m, struct reading *r)
{
	struct probe_ctx *ctx = m->unit->ctx;
	const char *first = tmpf("0x%llx", (unsigned long long)m->first);
	int64_t there = (int64_t)(m->there * (double)m->tested_bytes);

	r->outcome = OUTCOME_FAILED;
	if (m->holds)
		reason_set(ctx, &r->reason, MSG_memtest_aliased, first,
		           tmpf("0x%llx", (unsigned long long)m->holds), fmt_bytes(there),
		           fmt_bytes(m->tested_bytes));
	else
		reason_set(
			ctx, &r->reason, MSG_memtest_wrong,
			tmpf("%s%llu", m->enough ? "more than " : "", (unsigned long long)m->bad),
			first, m->pattern, tmpf("0x%llx", (unsigned long long)m->bits));
}

static void say_cut(const struct memtest *m, struct reading *r)
{
	r->outcome = OUTCOME_NOT_MEASURED;
	reason_set(m->unit->ctx, &r->reason, MSG_memtest_cut, tmpf("%d", m->done),
	           tmpf("%d", m->planned));
}

static enum status emit_results(const struct memtest *m)
{
	struct probe_ctx *ctx = m->unit->ctx;
	struct reading errors = card_reading(m->unit, "memtest_errors");
	struct reading share = card_reading(m->unit, "memtest_share");
	enum status st;

	errors.params = share.params = params_of(m);
	errors.value_kind = share.value_kind = VALUE_NUMBER;
	errors.value = (double)m->bad;
	share.value = (double)m->tested_bytes / (double)m->free_bytes;
	if (m->bad)
		say_wrong(m, &errors);
	else if (m->cut)
		say_cut(m, &errors);
	if (m->cut)
		say_cut(m, &share);
	st = ctx->emit(ctx, &errors);
	if (st == ST_OK)
		st = ctx->emit(ctx, &share);
	if (st == ST_OK)
		st = emit_ecc(m, "memtest_ecc_uncorrected", m->before.uncorrected,
		              m->after.uncorrected, m->after.uncorrected_code);
	return st == ST_OK ? emit_ecc(m, "memtest_ecc_corrected", m->before.corrected,
	                              m->after.corrected, m->after.corrected_code)
	                   : st;
}

/* --- the card -------------------------------------------------------------------------------- */

static enum status memtest_open(struct memtest *m, struct error *err)
{
	struct card_unit *unit = m->unit;
	struct device_cuda_request request = {
		.cuda = unit->cuda,
		.card = &unit->card,
		.where = unit->where,
		.code = {kernels_ptx, KERNEL_THREADS, KERNEL_BLOCKS_PER_SM},
	};
	enum status st = device_cuda_open(&m->dev, unit->ctx->arena, &request, err);

	if (st != ST_OK)
		return st;
	m->slice_bytes = scaled(m, SLICE_BYTES);
	st = device_cuda_kernel(m->dev, "assay_pattern_write", &m->write, err);
	if (st == ST_OK)
		st = device_cuda_kernel(m->dev, "assay_pattern_check", &m->check, err);
	if (st == ST_OK)
		st = CUDA_TRY(unit->cuda, err, host_alloc, &m->counter, sizeof(struct kernel_check),
		              CU_HOST_PORTABLE | CU_HOST_MAPPED);
	if (st == ST_OK)
		st = CUDA_TRY(unit->cuda, err, host_device_ptr, &m->counter_at, m->counter, 0);
	m->free_bytes = m->dev->device.info.memory_free;
	return st == ST_OK ? take_memory(m, err) : st;
}

static void memtest_close(struct memtest *m)
{
	if (!m->dev)
		return;
	give_back(m);
	if (m->counter)
		m->unit->cuda->call.host_free(m->counter);
	m->dev->device.ops->close(&m->dev->device);
}

static enum status memtest_card(struct card_unit *unit)
{
	struct memtest *m = arena_alloc(unit->ctx->arena, sizeof(*m));
	struct error err = {0};
	enum status st;

	*m = (struct memtest){.unit = unit};
	unit->ctx->progress(unit->ctx, STAGE_PREPARING, -1, MSG_doing_memtest);
	telemetry_open(&m->telemetry, unit->ctx->arena, unit->where, unit->ctx->clock,
	               unit->card.pci);
	st = memtest_open(m, &err);
	m->before = read_ecc(&m->telemetry);
	if (st == ST_OK)
		st = run_patterns(m, &err);
	m->after = read_ecc(&m->telemetry);
	if (st == ST_OK)
		st = emit_results(m);
	else
		st = card_owe(unit, unit->cuda->fault, &err);
	memtest_close(m);
	error_release(&err);
	return st;
}

/* --- the probe ----------------------------------------------------------------------------------- */

static enum status run(struct probe_ctx *ctx)
{
	return cards_each(ctx, memtest_card);
}

static double duration(struct probe_ctx *ctx)
{
	int64_t patterns = 2 + ctx->param_int(ctx, "walking") + ctx->param_int(ctx, "random");

	/* A pattern is written, read and rewritten, read; addresses once more. */
	return 5 + SWEEP_S * (double)(4 * patterns + 5) + ctx->param_real(ctx, "fade_s");
}

static const struct param params[] = {
	{"walking", PARAM_INT, "1", {"4", "64", "64"}, 0, 64, NULL, MSG_help_memtest_walking},
	{"random", PARAM_INT, "1", {"1", "4", "64"}, 1, 100000, NULL, MSG_help_memtest_random},
	{"fade_s", PARAM_REAL, "s", {"0", "0", "120"}, 0, 86400, NULL, MSG_help_memtest_fade},
	{0},
};

static const struct metric metrics[] = {
	{"memtest_errors", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "words that read back wrong, all patterns"},
	{"memtest_share", "1", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "bytes tested / bytes of the card's memory that were free"},
	{"memtest_ecc_uncorrected", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "uncorrected memory errors counted by the card during the test"},
	{"memtest_ecc_corrected", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_CUDA,
         "corrected memory errors counted by the card during the test"},
	{0},
};

const struct probe probe_memtest = {
	.name = "memtest",
	.title = MSG_probe_memtest,
	.subject = SUBJECT_CARD,
	.phase = "cards",
	.exclusive = true,
	.cards_together = true,
	.seconds = {10, 35, 180},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.subjects = cards_gpus,
	.supported = cards_support,
	.run = run,
};
