/* The clauses of a contract: each has a rule that the profile has, and a certificate can be
 * written of them. */
#include "fuzz.h"

#include <string.h>

#include "report/certificate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct rule_info rule = {.id = "gemm-fp16",
	                                      .criterion = "1",
	                                      .metric = "gemm_fp16_tflops",
	                                      .stat = "value",
	                                      .unit = "TFLOP/s",
	                                      .scope = "each",
	                                      .limit = ">= 228 TFLOP/s",
	                                      .source = "x",
	                                      .required = true,
	                                      .min_coverage = 1};
	const struct rule_result result = {.rule = &rule, .verdict = VERDICT_NOT_MEASURED};
	const struct scorecard card = {.profile = "p",
	                               .overall = OVERALL_INCOMPLETE,
	                               .rule_results = &result,
	                               .n_rules = 1};
	struct arena arena = {0};
	struct certificate c;
	struct error err = {0};
	struct str out = {0};

	if (certificate_read(&c, &arena, &card, fuzz_file(data, len), NULL, &err) == ST_OK) {
		for (int i = 0; i < c.n_clauses; i++)
			fuzz_promise(c.clauses[i].n_rules > 0, "a clause that nothing shows");
		certificate_markdown(&out, &c);
	}
	error_release(&err);
	str_release(&out);
	arena_release(&arena);
	return 0;
}
