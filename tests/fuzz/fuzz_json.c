/* JSON with places: whatever is read, each of its nodes has a place in the text. */
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

static void visit(const struct json_doc *doc, const cJSON *node, int depth)
{
	const cJSON *child;

	fuzz_promise(*json_place(doc, node) != '\0', "a node without a place");
	if (depth > 4)
		return;
	cJSON_ArrayForEach(child, node)
	{
		visit(doc, child, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const int flags[] = {JSON_STRICT, JSON_COMMENTS, JSON_DUPLICATES};

	for (int i = 0; i < 3; i++) {
		struct json_doc doc = {0};
		struct error err = {0};

		if (json_parse(&doc, "input", (const char *)data, len, flags[i], &err) == ST_OK) {
			visit(&doc, doc.root, 0);
			json_release(&doc);
		} else {
			fuzz_promise(err.text.len > 0, "refused without a word");
		}
		error_release(&err);
	}
	return 0;
}
