/* A line of the journal: what was read, written and read again says the same. */
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "run/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct reading r, again;
	struct str line = {0}, twice = {0};
	const char *why = NULL;

	if (reading_parse(&r, &arena, (const char *)data, len, &why) == ST_OK) {
		reading_format(&line, &r);
		fuzz_promise(reading_parse(&again, &arena, line.data, line.len, &why) == ST_OK,
		             "what was written is not read");
		reading_format(&twice, &again);
		fuzz_promise(strcmp(str_text(&line), str_text(&twice)) == 0, "another text");
	} else {
		fuzz_promise(why != NULL, "refused without a word");
	}
	str_release(&line);
	str_release(&twice);
	arena_release(&arena);
	return 0;
}
