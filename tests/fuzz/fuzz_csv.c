/* CSV: every row has as many fields as the header. */
#include "base/csv.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct csv csv = {0};
	struct error err = {0};

	if (csv_parse(&csv, "input", (const char *)data, len, &err) == ST_OK) {
		for (int row = 0; row < csv.n_rows; row++)
			for (int i = 0; i < csv.n_columns; i++)
				fuzz_promise(csv.rows[row][i] != NULL, "a field that is not there");
		csv_release(&csv);
	}
	error_release(&err);
	return 0;
}
