/* Reports of other tools: nothing of a refused one stays, and every reading is complete. */
#include <string.h>

#include "fuzz.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct error err = {0};
	struct str text = {0};
	struct import in = {
		.arena = &arena, .metric = fuzz_metric, .node = "a", .peer = "b", .unit = "Gb/s"};

	str_addn(&text, (const char *)data, len);
	if (import_text(&in, "input", str_text(&text), text.len, &err) != ST_OK)
		fuzz_promise(in.n == 0 && err.text.len > 0, "a refused file left readings");
	for (int64_t i = 0; i < in.n; i++)
		fuzz_promise(in.readings[i].node && in.readings[i].subject.id &&
		                     in.readings[i].origin == ORIGIN_IMPORTED,
		             "a reading of nobody");
	str_release(&text);
	error_release(&err);
	arena_release(&arena);
	return 0;
}
