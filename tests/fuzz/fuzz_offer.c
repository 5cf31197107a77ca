/* An offer, as a column of a comparison and as a quote with prices. */
#include "fuzz.h"
#include "report/compare.h"
#include "service/quote.h"

static void as_quote(const char *path)
{
	struct error err = {0};
	struct decimal hour;
	double discount;
	struct quote q;

	if (quote_read(&q, path, &err) == ST_OK) {
		fuzz_promise(q.n_items > 0 && q.currency, "a quote without items or currency");
		fuzz_promise(q.valid_from <= q.valid_to, "a quote that ends before it begins");
		quote_gpu_hour(&q, &hour);
		quote_month(&q, QUOTE_MONTH_HOURS, &discount, &hour);
		quote_release(&q);
	}
	error_release(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *path = fuzz_named("offer.json", data, len);
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct error err = {0};

	if (compare_add_offer(&c, path, NULL, fuzz_metrics(), &err) == ST_OK) {
		fuzz_promise(c.n_columns == 1 && c.columns[0].name, "an offer without a name");
		compare_finish(&c);
	}
	error_release(&err);
	as_quote(path);
	arena_release(&arena);
	return 0;
}
