/* The formulas; see models.h. */
#include "estimate/models.h"

#include <math.h>

#define TERA 1e12

double training_days(double params, double tokens, double cards, double peak_tflops, double mfu,
                     double ettr)
{
	return FLOP_PER_TOKEN * params * tokens / (cards * peak_tflops * TERA * mfu * ettr * 86400);
}

double tokens_in(double days, double params, double cards, double peak_tflops, double mfu)
{
	return days * 86400 * cards * peak_tflops * TERA * mfu / (FLOP_PER_TOKEN * params);
}

double interconnect_efficiency(double gbs, double share, double at_gbs)
{
	return 1 / (1 + share * at_gbs / gbs);
}

double step_seconds(double compute_s, double transfer_s, double overlap)
{
	return compute_s + fmax(0, transfer_s - overlap * compute_s);
}

double gradient_bytes(double params, double tensor, double pipeline)
{
	return 2 * 2 * params / (tensor * pipeline);
}

double storage_utilisation(double step_s, double bytes_per_step, double read_bytes_s)
{
	double stall = fmax(0, bytes_per_step / read_bytes_s - step_s);

	return step_s / (step_s + stall);
}

double price_of_1e9_tokens(double card_hour, double params, double tflops)
{
	return card_hour * FLOP_PER_TOKEN * params * 1e9 / (3.6e15 * tflops);
}

double ettr_of(double mttf_s, double write_s, double restart_s, double interval_s)
{
	return interval_s /
	       (mttf_s * exp(restart_s / mttf_s) * expm1((interval_s + write_s) / mttf_s));
}

double checkpoint_interval_s(double mttf_s, double write_s)
{
	return sqrt(2 * write_s * mttf_s);
}
