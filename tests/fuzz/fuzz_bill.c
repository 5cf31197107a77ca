/* A bill against a fixed quote and usage log: every line is in one class, and what the
 * classes add up to is the bill. */
#include <stdio.h>

#include "fuzz.h"
#include "service/bill.h"

static const char quote_text[] =
	"{\"v\":1,\"name\":\"q\",\"title\":\"Q\",\"figures\":[],\"quote\":{\"currency\":\"CNY\","
	"\"tax\":\"included\",\"items\":["
	"{\"item\":\"node\",\"match\":[\"gn8*\"],\"per\":\"hour\",\"price\":\"98.40\",\"gpus\":8,"
	"\"granularity\":\"hour\"},"
	"{\"item\":\"month\",\"match\":[\"pre*\"],\"per\":\"month\",\"price\":\"50000\",\"gpus\":8}"
	","
	"{\"item\":\"traffic\",\"match\":[\"*traffic*\"],\"per\":\"GB\",\"price\":\"0.50\","
	"\"included\":\"100\"}]}}";
static const char usage_text[] = "resource,start,end\n"
				 "i-1,2024-11-01T00:00:00Z,2024-11-01T01:20:00Z\n"
				 "i-2,2024-11-03T00:00:00Z,2024-11-05T00:00:00Z\n";

static struct quote quote;
static struct usage usage;

static void prepare(void)
{
	static int made;

	if (made++)
		return;
	fuzz_promise(quote_read(&quote, fuzz_named("q.json", quote_text, sizeof(quote_text) - 1),
	                        NULL) == ST_OK,
	             "the quote");
	fuzz_promise(usage_read(&usage, fuzz_named("u.csv", usage_text, sizeof(usage_text) - 1),
	                        NULL) == ST_OK,
	             "the usage log");
}

static void check(const struct bill *b)
{
	struct decimal total = {0};
	int64_t lines = 0;

	for (int c = 0; c < BILL_CLASSES; c++) {
		total = decimal_add(total, b->classes[c].billed);
		lines += b->classes[c].lines;
	}
	fuzz_promise(lines == b->lines, "a line in no class, or in two");
	fuzz_promise(decimal_compare(total, b->total) == 0, "classes that do not add up");
	fuzz_promise(b->verdict != BILL_MET || !b->open[0], "met with questions open");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct error err = {0};
	struct bill b;

	prepare();
	for (int style = 0; style < 2; style++) {
		const struct bill_request request = {
			.path = fuzz_file(data, len),
			.quote = &quote,
			.usage = style ? &usage : NULL,
			.style = style ? DECIMAL_COMMA : DECIMAL_POINT,
			.style_given = style,
			.as_of = 1735689600,
		};

		if (bill_check(&b, &request, &err) == ST_OK) {
			check(&b);
			bill_release(&b);
		}
		error_release(&err);
		err = (struct error){0};
	}
	return 0;
}
