/* What the gate reads beside runs: its tolerances, and the fingerprints of two images. */
#include "fuzz.h"

#include <string.h>

#include "base/str.h"
#include "gate/gate.h"

static const char other[] = "{\"gpu\":{\"driver\":\"550.54.15\",\"libcuda\":\"12.4\"},"
			    "\"python\":{\"torch\":\"2.6.0\"}}";

static void diff(const struct gate_rules *rules, const struct str *before, const struct str *now)
{
	struct arena arena = {0};
	struct gate g = {.arena = &arena, .rules = rules};
	struct error err = {0};

	if (gate_diff(&g, "before", before, "now", now, &err) == ST_OK)
		for (int i = 0; i < g.n_lines; i++)
			fuzz_promise(g.lines[i].name && g.lines[i].text, "a line without words");
	error_release(&err);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct gate_rules rules = {0};
	struct error err = {0};
	struct str input = {0}, fixed = {0};

	str_addn(&input, (const char *)data, len);
	str_add(&fixed, other);
	if (gate_rules_read(&rules, &arena, "input", (const char *)data, len, &err) == ST_OK) {
		struct gate_tolerance t = gate_tolerance_of(&rules, "gemm_fp16_tflops");

		fuzz_promise(t.tolerance >= 0 && t.tolerance <= 1 && t.run_to_run >= 0,
		             "a tolerance that is none");
	} else {
		rules = (struct gate_rules){0};
	}
	diff(&rules, &fixed, &input);
	diff(&rules, &input, &fixed);
	diff(&rules, &input, &input);
	error_release(&err);
	str_release(&input);
	str_release(&fixed);
	arena_release(&arena);
	return 0;
}
