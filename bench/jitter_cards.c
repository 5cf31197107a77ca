/* A thread on each SM reads the clock without rest; a pause in its readings is
 * time somebody else had the SM. Each card is watched alone, then all of them at
 * the same time, and the same is done with multiply-adds: a card that is sold
 * twice, or shares with its neighbours what should be its own, shows in one of the
 * two and not in the other. */
#include "jitter_cards.h"

#include <math.h>
#include <string.h>

#include "inventory.h"
#include "kernels/kernels.h"
#include "team.h"

/* More blocks than SMs, so that none is without one. */
#define BLOCKS_PER_SM 4
#define MOST_ROWS     16        /* pauses of a block that are kept one by one */
#define MOST_RAW      (1 << 20) /* bytes of them; all are counted */
#define PIECE_S       0.5       /* of watching: below the limit of cards with a display */
#define LEAST_PIECE_S 1e-4
#define SM_LIMIT      1024

/* Kernels of multiply-adds in a row: one before the timed ones, since cards do not
 * start at one moment, and so many after them that the others still work when a card
 * at half its rate is timed. */
#define FMA_TIMED   2
#define FMA_KERNELS (2 * (1 + FMA_TIMED))
#define FMA_TRIAL   1000 /* rounds, to learn the rate */
#define FMA_TRIALS  2    /* the first wakes the card */

enum company { ALONE, TOGETHER, COMPANIES };
static const char *const company_names[COMPANIES] = {"alone", "together"};

/* One SM, over all pieces. */
struct sm {
	double cycles, gap_cycles; /* cycles 0: never seen */
	int64_t gaps;
};

/* What was seen of a card in one company. */
struct watch {
	struct sm sm[SM_LIMIT];
	double longest_us; /* of all SMs */
	double seconds;
	double read_ns; /* of the slowest to read its clock */
	double fma;     /* multiply-adds a second */
};

struct jitter_card {
	cu_function gaps, fma;
	cu_ptr summary, rows, out, spans;
	cu_event begin, end;
	unsigned blocks;          /* of the watch */
	struct kernel_gaps *seen; /* one a block, as read back */
	struct kernel_gap *seen_rows;
	uint64_t rounds; /* that make a kernel of fma_s */
	double ghz;      /* of the SMs in it, whatever is claimed */
	struct watch watch[COMPANIES];
	struct str raw;
};

struct jitter {
	struct team team;
	struct jitter_card *cards;
	double seconds, fma_s;
	double threshold_us;
	enum company company;
};

struct job {
	struct jitter *jitter;
	int card;
	double seconds;
	enum company company;
};

static struct device_cuda *dev_of(const struct jitter *j, int card)
{
	return j->team.cards[card].dev;
}

static int sm_count(const struct jitter *j, int card)
{
	return j->team.cards[card].unit.card.sm_count;
}

/* --- opening ----------------------------------------------------------------------- */

static enum status take_memory(struct jitter *j, int card, struct error *err)
{
	struct jitter_card *c = &j->cards[card];
	struct cuda *cuda = &j->team.cuda;
	size_t wide = (size_t)sm_count(j, card) * KERNEL_BLOCKS_PER_SM;
	enum status st;

	st = CUDA_TRY(cuda, err, alloc, &c->summary, c->blocks * sizeof(struct kernel_gaps));
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &c->rows,
		              c->blocks * MOST_ROWS * sizeof(struct kernel_gap));
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &c->out, wide * KERNEL_THREADS * sizeof(float));
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &c->spans, wide * sizeof(struct kernel_span));
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_create, &c->begin, CU_EVENT_TIMED);
	return st == ST_OK ? CUDA_TRY(cuda, err, event_create, &c->end, CU_EVENT_TIMED) : st;
}

static enum status open_card(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter *j = job->jitter;
	struct jitter_card *c = &j->cards[job->card];
	enum status st = team_use(team, job->card, err);

	c->blocks = (unsigned)sm_count(j, job->card) * BLOCKS_PER_SM;
	c->seen = arena_array(team->ctx->arena, c->blocks, sizeof(*c->seen));
	c->seen_rows =
		arena_array(team->ctx->arena, (size_t)c->blocks * MOST_ROWS, sizeof(*c->seen_rows));
	if (st == ST_OK)
		st = device_cuda_kernel(dev_of(j, job->card), "assay_gaps", &c->gaps, err);
	if (st == ST_OK)
		st = device_cuda_kernel(dev_of(j, job->card), "assay_fma32", &c->fma, err);
	return st == ST_OK ? take_memory(j, job->card, err) : st;
}

static enum status close_card(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter_card *c = &job->jitter->cards[job->card];
	const struct cuda_calls *call = &team->cuda.call;
	cu_ptr memory[] = {c->summary, c->rows, c->out, c->spans};
	enum status st = team_use(team, job->card, err);

	for (size_t i = 0; st == ST_OK && i < sizeof(memory) / sizeof(*memory); i++)
		if (memory[i])
			call->free(memory[i]);
	if (st == ST_OK && c->begin)
		call->event_destroy(c->begin);
	if (st == ST_OK && c->end)
		call->event_destroy(c->end);
	return st;
}

/* --- watching ------------------------------------------------------------------------- */

static enum status start_watch(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter *j = job->jitter;
	struct jitter_card *c = &j->cards[job->card];
	uint64_t most = MOST_ROWS, duration = (uint64_t)(job->seconds * 1e9);
	uint64_t threshold = (uint64_t)(j->threshold_us * 1e3 * c->ghz);
	enum status st = team_use(team, job->card, err);

	return st == ST_OK
	               ? CUDA_TRY(&team->cuda, err, launch, c->gaps, c->blocks, 1, 1, 1, 1, 1, 0,
	                          dev_of(j, job->card)->stream,
	                          (void *[]){&c->summary, &c->rows, &most, &duration, &threshold},
	                          NULL)
	               : st;
}

static void take_rows(const struct job *job, const struct kernel_gaps *g,
                      const struct kernel_gap *rows)
{
	struct jitter_card *c = &job->jitter->cards[job->card];

	for (uint64_t i = 0; i < g->gaps && i < MOST_ROWS && c->raw.len < MOST_RAW; i++)
		str_addf(&c->raw, "%s,%llu,%.3f,%.3f\n", company_names[job->company], g->sm,
		         (double)(rows[i].at_ns - g->start_ns) / 1e3,
		         (double)rows[i].cycles / c->ghz / 1e3);
}

/* The blocks of one SM see the same: the first speaks for it. */
static void take_blocks(const struct job *job)
{
	struct jitter_card *c = &job->jitter->cards[job->card];
	struct watch *w = &c->watch[job->company];
	bool taken[SM_LIMIT] = {0};

	for (unsigned b = 0; b < c->blocks; b++) {
		const struct kernel_gaps *g = &c->seen[b];
		struct sm *sm = &w->sm[g->sm % SM_LIMIT];

		if (taken[g->sm % SM_LIMIT] || g->reads == 0)
			continue;
		taken[g->sm % SM_LIMIT] = true;
		sm->cycles += (double)g->span_cycles;
		sm->gap_cycles += (double)g->gap_cycles;
		sm->gaps += (int64_t)g->gaps;
		w->longest_us = fmax(w->longest_us, (double)g->longest_cycles / c->ghz / 1e3);
		w->read_ns = fmax(w->read_ns, (double)(g->span_cycles - g->gap_cycles) / c->ghz /
		                                      (double)g->reads);
		take_rows(job, g, &c->seen_rows[(size_t)b * MOST_ROWS]);
	}
	w->seconds += job->seconds;
}

static enum status finish_watch(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter *j = job->jitter;
	struct jitter_card *c = &j->cards[job->card];
	struct device_cuda *dev = dev_of(j, job->card);
	enum status st = team_use(team, job->card, err);

	if (st == ST_OK)
		st = CUDA_TRY(&team->cuda, err, copy_to_host, c->seen, c->summary,
		              c->blocks * sizeof(*c->seen), dev->stream);
	if (st == ST_OK)
		st = CUDA_TRY(&team->cuda, err, copy_to_host, c->seen_rows, c->rows,
		              c->blocks * MOST_ROWS * sizeof(*c->seen_rows), dev->stream);
	if (st == ST_OK)
		st = device_cuda_wait(dev, err);
	if (st == ST_OK)
		take_blocks(job);
	return st;
}

/* --- multiply-adds --------------------------------------------------------------------- */

static enum status queue_fma(struct jitter *j, int card, uint64_t rounds, struct error *err)
{
	struct jitter_card *c = &j->cards[card];
	/* Goes to 2: neither grows nor vanishes. */
	float a = 0.5f, b = 1;

	return device_cuda_wide(dev_of(j, card), c->fma,
	                        (void *[]){&c->out, &rounds, &a, &b, &c->spans}, err);
}

/* Queues `n` kernels, `timed` of them timed after the first. */
static enum status queue_timed(struct jitter *j, int card, uint64_t rounds, int timed, int n,
                               struct error *err)
{
	struct jitter_card *c = &j->cards[card];
	cu_stream stream = dev_of(j, card)->stream;
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++) {
		st = queue_fma(j, card, rounds, err);
		if (st == ST_OK && (i == 0 || i == timed))
			st = CUDA_TRY(&j->team.cuda, err, event_record, i ? c->end : c->begin,
			              stream);
	}
	return st;
}

static enum status take_fma(struct jitter *j, int card, uint64_t rounds, int timed, double *rate,
                            struct error *err)
{
	struct jitter_card *c = &j->cards[card];
	double threads = (double)sm_count(j, card) * KERNEL_BLOCKS_PER_SM * KERNEL_THREADS;
	float ms = 0;
	enum status st = device_cuda_wait(dev_of(j, card), err);

	if (st == ST_OK)
		st = CUDA_TRY(&j->team.cuda, err, event_elapsed, &ms, c->begin, c->end);
	if (st == ST_OK && !(ms > 0))
		st = error_set(err, ST_RANGE, MSG_device_no_time, j->team.cards[card].id);
	*rate = threads * KERNEL_FMA_CHAINS * (double)rounds * timed / ((double)ms / 1e3);
	return st;
}

/* The clock as it ran: a claimed one would move the threshold of a pause. */
static enum status take_clock(struct jitter *j, int card, struct error *err)
{
	struct jitter_card *c = &j->cards[card];
	struct kernel_span span;
	enum status st = CUDA_TRY(&j->team.cuda, err, copy_to_host, &span, c->spans, sizeof(span),
	                          dev_of(j, card)->stream);

	if (st == ST_OK)
		st = device_cuda_wait(dev_of(j, card), err);
	if (st == ST_OK && (span.ns == 0 || span.cycles == 0))
		st = error_set(err, ST_RANGE, MSG_device_no_time, j->team.cards[card].id);
	if (st == ST_OK)
		c->ghz = (double)span.cycles / (double)span.ns;
	return st;
}

static enum status fit_fma(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter *j = job->jitter;
	struct jitter_card *c = &j->cards[job->card];
	double threads = (double)sm_count(j, job->card) * KERNEL_BLOCKS_PER_SM * KERNEL_THREADS;
	double rate = 0;
	enum status st = team_use(team, job->card, err);

	c->rounds = FMA_TRIAL;
	for (int i = 0; i < FMA_TRIALS && st == ST_OK; i++) {
		st = queue_timed(j, job->card, c->rounds, 1, 2, err);
		if (st == ST_OK)
			st = take_fma(j, job->card, c->rounds, 1, &rate, err);
		if (st == ST_OK)
			c->rounds =
				(uint64_t)fmax(1, rate * j->fma_s / threads / KERNEL_FMA_CHAINS);
	}
	return st == ST_OK ? take_clock(j, job->card, err) : st;
}

static enum status start_fma(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	enum status st = team_use(team, job->card, err);

	return st == ST_OK
	               ? queue_timed(job->jitter, job->card, job->jitter->cards[job->card].rounds,
	                             FMA_TIMED, FMA_KERNELS, err)
	               : st;
}

static enum status finish_fma(struct team *team, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct jitter_card *c = &job->jitter->cards[job->card];
	enum status st = team_use(team, job->card, err);

	return st == ST_OK ? take_fma(job->jitter, job->card, c->rounds, FMA_TIMED,
	                              &c->watch[job->company].fma, err)
	                   : st;
}

/* --- who with whom ------------------------------------------------------------------------ */

/* A card that fails is out, with the error's words. */
static void run_step(struct jitter *j, team_step *step, int card, double seconds)
{
	struct team_card *c = &j->team.cards[card];
	struct job *job;
	struct error err = {0};

	if (c->out)
		return;
	job = arena_alloc(j->team.ctx->arena, sizeof(*job));
	*job = (struct job){j, card, seconds, j->company};
	if (team_run(&j->team, step, job, card, -1, &err) != ST_OK && !c->out) {
		c->out = true;
		c->outcome =
			j->team.cuda.fault ? j->team.cuda.fault->outcome : OUTCOME_NOT_MEASURED;
		c->why = arena_str(j->team.ctx->arena, str_text(&err.text));
	}
	error_release(&err);
}

/* All of these cards start before any is waited for. */
static void run_cards(struct jitter *j, team_step *start, team_step *finish, int first, int count,
                      double seconds)
{
	for (int i = first; i < first + count; i++)
		run_step(j, start, i, seconds);
	for (int i = first; i < first + count; i++)
		run_step(j, finish, i, seconds);
}

static void watch_cards(struct jitter *j, int first, int count)
{
	double left = j->seconds;

	while (left > LEAST_PIECE_S) {
		double piece = left < PIECE_S ? left : PIECE_S;

		run_cards(j, start_watch, finish_watch, first, count, piece);
		left -= piece;
	}
	run_cards(j, start_fma, finish_fma, first, count, 0);
}

static void watch_all(struct jitter *j)
{
	struct probe_ctx *ctx = j->team.ctx;
	int n = j->team.count;

	for (int i = 0; i < n; i++) {
		str_add(&j->cards[i].raw, "company,sm,at_us,us\n");
		run_step(j, open_card, i, 0);
		run_step(j, fit_fma, i, 0);
	}
	j->company = ALONE;
	for (int i = 0; i < n; i++) {
		ctx->progress(ctx, STAGE_MEASURING, (double)i / (n + 1), MSG_doing_jitter_cards);
		watch_cards(j, i, 1);
	}
	j->company = TOGETHER;
	ctx->progress(ctx, STAGE_MEASURING, (double)n / (n + 1), MSG_doing_jitter_cards);
	if (n > 1)
		watch_cards(j, 0, n);
}

/* --- readings ------------------------------------------------------------------------------- */

static double stolen_of(const struct sm *sm)
{
	return sm->cycles > 0 ? sm->gap_cycles / sm->cycles : 0;
}

static int worst_sm(const struct watch *w)
{
	int worst = 0;

	for (int i = 0; i < SM_LIMIT; i++)
		if (stolen_of(&w->sm[i]) > stolen_of(&w->sm[worst]))
			worst = i;
	return worst;
}

static double stolen(const struct watch *w)
{
	return stolen_of(&w->sm[worst_sm(w)]);
}

static int sms_seen(const struct jitter_card *c)
{
	int n = 0;

	for (int i = 0; i < SM_LIMIT; i++)
		n += c->watch[ALONE].sm[i].cycles > 0 || c->watch[TOGETHER].sm[i].cycles > 0;
	return n;
}

static const char *stolen_params(const struct jitter *j, const struct jitter_card *c)
{
	struct json_text t = json_text_begin();

	json_put_number(&t.j, "threshold_us", j->threshold_us);
	json_put_number(&t.j, "sm_mhz", 1e3 * c->ghz);
	for (int k = 0; k < COMPANIES; k++) {
		const struct watch *w = &c->watch[k];
		int worst = worst_sm(w);

		if (!(w->seconds > 0))
			continue;
		json_object_begin(&t.j, company_names[k]);
		json_put_number(&t.j, "seconds", w->seconds);
		json_put_number(&t.j, "stolen", stolen(w));
		json_put_number(&t.j, "longest_us", w->longest_us);
		json_put_int(&t.j, "worst_sm", worst);
		json_put_int(&t.j, "gaps", w->sm[worst].gaps);
		json_put_number(&t.j, "clock_read_ns", w->read_ns);
		json_object_end(&t.j);
	}
	return json_text_end(&t, j->team.ctx->arena);
}

static enum status emit_number(struct jitter *j, int card, const char *metric, double value,
                               const char *params, const struct raw_file *raw)
{
	struct reading r = team_reading(&j->team, card, metric);

	r.params = params;
	r.value_kind = VALUE_NUMBER;
	r.value = value;
	if (raw)
		r.raw = *raw;
	return j->team.ctx->emit(j->team.ctx, &r);
}

static enum status emit_together(struct jitter *j, int card)
{
	const struct jitter_card *c = &j->cards[card];
	double alone = c->watch[ALONE].fma, together = c->watch[TOGETHER].fma;
	struct probe_ctx *ctx = j->team.ctx;
	struct reading r = team_reading(&j->team, card, "jitter_card_together");

	if (team_able(&j->team) > 1)
		return emit_number(j, card, r.metric, together / alone,
		                   arena_strf(ctx->arena,
		                              "{\"alone_tflops\":%.6g,\"together_tflops\":%.6g,"
		                              "\"cards\":%d}",
		                              2 * alone / 1e12, 2 * together / 1e12,
		                              team_able(&j->team)),
		                   NULL);
	if (j->team.count > 1) {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_jitter_no_siblings);
	} else {
		r.outcome = OUTCOME_UNSUPPORTED;
		reason_set(ctx, &r.reason, MSG_p2p_one_card);
	}
	return ctx->emit(ctx, &r);
}

static enum status emit_card(struct jitter *j, int card)
{
	const struct jitter_card *c = &j->cards[card];
	const struct watch *w = c->watch;
	struct probe_ctx *ctx = j->team.ctx;
	const char *params = stolen_params(j, c), *id = j->team.cards[card].id;
	struct raw_file raw = {0};
	enum status st =
		ctx->save_raw(ctx, tmpf("jitter-%s.csv", id), c->raw.data, c->raw.len, &raw);

	if (st == ST_OK)
		st = emit_number(j, card, "jitter_card_stolen",
		                 fmax(stolen(&w[ALONE]), stolen(&w[TOGETHER])), params, &raw);
	if (st == ST_OK)
		st = emit_number(j, card, "jitter_card_longest_us",
		                 fmax(w[ALONE].longest_us, w[TOGETHER].longest_us), params, &raw);
	if (st == ST_OK)
		st = emit_number(j, card, "jitter_card_sm_share",
		                 (double)sms_seen(c) / sm_count(j, card),
		                 arena_strf(ctx->arena, "{\"seen\":%d,\"claimed\":%d}", sms_seen(c),
		                            sm_count(j, card)),
		                 NULL);
	return st == ST_OK ? emit_together(j, card) : st;
}

/* Of a card that is out, or of all when none was opened. */
static enum status owe(struct probe_ctx *ctx, const struct reading *like)
{
	enum status st = ST_OK;

	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		struct reading r = *like;

		r.metric = m->name;
		if (m->backend == BACKEND_CUDA)
			st = ctx->emit(ctx, &r);
	}
	return st;
}

static enum status emit_cards(struct jitter *j)
{
	enum status st = ST_OK;

	for (int i = 0; i < j->team.count && st == ST_OK; i++) {
		struct reading r = team_reading(&j->team, i, NULL);

		if (team_has(&j->team, i)) {
			st = emit_card(j, i);
			continue;
		}
		team_refuse(&j->team, i, &r);
		st = owe(j->team.ctx, &r);
	}
	return st;
}

static enum status owe_all(struct jitter *j, const struct error *err)
{
	struct probe_ctx *ctx = j->team.ctx;
	const struct gpu_cause *cause = j->team.cuda.fault;
	struct reading r = reading_init();

	r.subject.kind = SUBJECT_CARD;
	r.subject.id = CARDS_ALL;
	r.outcome = err->status == ST_TIMEOUT ? OUTCOME_TIMED_OUT
	            : cause                   ? cause->outcome
	                                      : OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r.reason, MSG_card_refused, ctx->node, str_text(&err->text));
	return owe(ctx, &r);
}

/* --- running ---------------------------------------------------------------------------------- */

static void close_all(struct jitter *j)
{
	for (int i = 0; i < j->team.count; i++) {
		run_step(j, close_card, i, 0);
		str_release(&j->cards[i].raw);
	}
	team_close(&j->team);
}

enum status jitter_cards(struct probe_ctx *ctx)
{
	struct jitter *j;
	struct error err = {0};
	enum status st;

	if (!cards_have_driver(ctx))
		return cards_owe(ctx);
	/* A thread that hangs may still look at it. */
	j = arena_alloc(ctx->arena, sizeof(*j));
	*j = (struct jitter){.seconds = ctx->param_real(ctx, "card_s"),
	                     .fma_s = ctx->param_real(ctx, "fma_s"),
	                     .threshold_us = (double)ctx->param_int(ctx, "threshold_us")};
	st = team_open(&j->team, ctx, ctx->param_real(ctx, "hang_s"), &err);
	if (st == ST_OK) {
		j->cards = arena_array(ctx->arena, (size_t)j->team.count, sizeof(*j->cards));
		watch_all(j);
		st = emit_cards(j);
		close_all(j);
	} else {
		st = owe_all(j, &err);
	}
	error_release(&err);
	return st;
}

double jitter_cards_duration(struct probe_ctx *ctx)
{
	const char *const *gpus = cards_gpus(ctx);
	double n = 0, each = ctx->param_real(ctx, "card_s") + 0.05 +
	                     (FMA_KERNELS + 2) * ctx->param_real(ctx, "fma_s");

	if (!cards_have_driver(ctx))
		return 0;
	while (gpus[(int)n])
		n++;
	/* The driver's start, contexts and code; each alone, and all at once. */
	return 3 + 0.5 * n + (n + 1) * each;
}
