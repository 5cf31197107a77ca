/* Sizes of a model as typed, "70B 1.4T 1000": read back alike, and projected to a time that
 * is one, or refused. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate.h"

static double next_word(char **at)
{
	char *word = strsep(at, " \n");
	double value = NAN, again;

	if (word && quantity_parse(word, &value)) {
		fuzz_promise(isfinite(value), "a quantity that is none");
		if (value >= 1 && value < 1e15)
			fuzz_promise(quantity_parse(quantity_text(value), &again) &&
			                     fabs(again - value) <= 0.01 * value,
			             "a quantity that is another when read back");
		return value;
	}
	return NAN;
}

static struct estimate_inputs inputs(char *text)
{
	const struct range unknown = range_one(NAN, SOURCE_ASSUMED);
	char *at = text;
	struct estimate_inputs in = {.params = next_word(&at),
	                             .tokens = next_word(&at),
	                             .cards = next_word(&at),
	                             .deadline_days = next_word(&at),
	                             .budget = next_word(&at),
	                             .price = 5,
	                             .peak_tflops = 312,
	                             .memory_gb = 80,
	                             .mfu = unknown,
	                             .gemm_share = unknown,
	                             .step_share = unknown,
	                             .step_most = unknown,
	                             .scaling = unknown,
	                             .mttf_h = unknown,
	                             .write_gbs = unknown,
	                             .write_s = unknown,
	                             .restart_min = unknown};

	estimate_assume(&in);
	return in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	struct estimate_inputs in;
	struct error err = {0};
	struct estimate e;

	if (!text)
		abort();
	memcpy(text, data, len);
	text[len] = '\0';
	in = inputs(text);
	if (estimate_make(&e, &in, &err) == ST_OK)
		for (int c = 0; c < CASES; c++)
			fuzz_promise(e.days[c] > 0 && isfinite(e.days[c]) && e.cost[c] > 0 &&
			                     e.cards >= 1 && e.ettr[c] > 0 && e.ettr[c] <= 1,
			             "a projection that is none");
	error_release(&err);
	free(text);
	return 0;
}
