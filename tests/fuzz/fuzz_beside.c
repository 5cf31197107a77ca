/* Files beside runs: the ledger, what the gate said, a suite, run.json. Each reader gets
 * every input; it refuses those of the others. */
#include "fuzz.h"

#include <string.h>

#include "cli/suite.h"
#include "gate/ledger.h"
#include "run/gated.h"
#include "run/run_json.h"

#define DIGEST "0000000000000000000000000000000000000000000000000000000000000000"

static void ledger(const char *path)
{
	struct error err = {0};
	struct str out = {0};

	if (ledger_show(path, &out, &err) != ST_OK)
		fuzz_promise(err.text.len > 0, "refused without a word");
	str_release(&out);
	error_release(&err);
}

static void gate(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct error err = {0};
	struct gated g = {0};

	fuzz_named(GATED_FILE, data, len);
	if (gated_read(&g, &arena, fuzz_folder(), DIGEST, &err) == ST_OK) {
		fuzz_promise(g.verdict < GATED_VERDICTS && g.n_lines <= GATED_MOST, "a verdict");
		for (int i = 0; i < g.n_lines; i++)
			for (int k = 0; k < LANGUAGES; k++)
				fuzz_promise(g.lines[i].kind < GATED_KINDS && g.lines[i].text[k],
				             "a line without words");
	}
	arena_release(&arena);
	error_release(&err);
}

static void suite(const char *path)
{
	const char *const *settings = NULL;
	struct arena arena = {0};
	struct error err = {0};
	int n = 0;

	if (suite_read(&arena, path, &settings, &n, &err) == ST_OK)
		for (int i = 0; i < n; i++)
			fuzz_promise(settings[i] != NULL, "a setting that is none");
	arena_release(&arena);
	error_release(&err);
}

static void run_json(const uint8_t *data, size_t len)
{
	struct arena arena = {0};
	struct error err = {0};
	struct run_info info = {0};
	struct str text = {0}, again = {0};

	str_addn(&text, (const char *)data, len);
	if (run_json_parse(&info, &arena, "input", str_text(&text), len, &err) == ST_OK)
		fuzz_promise(run_json_format(&again, &info, NULL) == ST_OK,
		             "what was read cannot be written");
	str_release(&text);
	str_release(&again);
	arena_release(&arena);
	error_release(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	ledger(fuzz_file(data, len));
	gate(data, len);
	suite(fuzz_file(data, len));
	run_json(data, len);
	return 0;
}
