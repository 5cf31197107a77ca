/* gemm_alone: FP16 products on one card after the other, for what gemm measures on
 * all of them at once. What a card loses in company it loses to the power supply
 * and the air they share. */
#include "cards.h"
#include "gemm_card.h"

static enum status run(struct probe_ctx *ctx)
{
	return cards_each(ctx, gemm_card_alone);
}

static double duration(struct probe_ctx *ctx)
{
	return 2 + 1.1 * ctx->param_real(ctx, "window_s") * (double)ctx->param_int(ctx, "windows");
}

static const struct param params[] = {
	{"card_order",
         PARAM_INT,
         "1",
         {"8192", "8192", "8192"},
         128,
         65536,
         NULL,
         MSG_help_gemm_card_order},
	{"windows", PARAM_INT, "1", {"2", "10", "60"}, 1, 100000, NULL, MSG_help_windows},
	{"window_s", PARAM_REAL, "s", {"0.5", "0.5", "0.5"}, 1e-7, 60, NULL, MSG_help_window_s},
	{0},
};

static const struct metric metrics[] = {
	{"gemm_alone_fp16_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
         "2 M N K x calls / seconds of a window / 1e12; median of windows; one card at a time"},
	{0},
};

const struct probe probe_gemm_alone = {
	.name = "gemm_alone",
	.title = MSG_probe_gemm_alone,
	.subject = SUBJECT_CARD,
	.phase = "cards",
	.exclusive = true,
	.seconds = {3, 8, 40},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.subjects = cards_gpus,
	.supported = cards_support,
	.run = run,
};
