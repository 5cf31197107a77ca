/* Statements of a vendor, as a table and as an offer: whatever is read has a line and a
 * figure in its order. */
#include "fuzz.h"

#include <stdlib.h>

#include "service/claims.h"

static struct claim_words words;

static void release(void)
{
	claim_words_release(&words);
}

static void read_as(const char *path)
{
	struct statements s = {0};
	struct error err = {0};

	if (statements_read(&s, path, &words, NULL, &err) == ST_OK)
		for (int i = 0; i < s.n; i++) {
			const struct statement *t = &s.list[i];

			fuzz_promise(t->id && t->unit && t->threshold, "a statement without words");
			fuzz_promise(t->figure.bound == BOUND_WORDS ||
			                     t->figure.bound == BOUND_CHANGE ||
			                     t->figure.lo <= t->figure.hi,
			             "a range that is none");
		}
	statements_release(&s);
	error_release(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int made;

	if (!made++) {
		fuzz_promise(claim_words_load(&words, NULL, NULL) == ST_OK, "the words");
		atexit(release);
	}
	read_as(fuzz_named("claims.csv", data, len));
	read_as(fuzz_named("claims.json", data, len));
	return 0;
}
