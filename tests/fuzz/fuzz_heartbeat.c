/* A heartbeat log, as it is and once more with a chain that holds: else its chain would be
 * all that is ever tested. Shares stay shares, and bounds in their order. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "service/availability.h"

static void read_log(const char *path)
{
	const struct availability_options options = {.target = AVAILABILITY_TARGET,
	                                             .days = AVAILABILITY_DAYS,
	                                             .repair_min = AVAILABILITY_REPAIR_MIN};
	struct availability a = {0};
	struct error err = {0};

	if (availability_read(&a, &path, 1, &options, &err) == ST_OK) {
		fuzz_promise(isnan(a.a_node) || (a.a_node >= 0 && a.a_node <= 1),
		             "an availability that is none");
		fuzz_promise(isnan(a.a_node_low) || a.a_node_low <= a.a_node_high, "bounds");
		fuzz_promise(a.up_s >= 0 && a.down_s >= 0 && a.unknown_s >= 0, "negative time");
		for (int i = 0; i < a.n_nodes; i++)
			for (int k = 1; k < a.nodes[i].spans.count; k++)
				fuzz_promise(a.nodes[i].spans.list[k - 1].to_ns ==
				                     a.nodes[i].spans.list[k].from_ns,
				             "a hole between two stretches");
	}
	availability_release(&a);
	error_release(&err);
}

/* The last cell of every line but the first becomes the digest of the line before. */
static char *chained(const uint8_t *data, size_t len, size_t *out_len)
{
	size_t lines = 2, at = 0, before = 0, n = 0;
	char *out, hex[SHA256_HEX];

	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	out = malloc(len + lines * (SHA256_HEX + 2));
	if (!out)
		abort();
	for (bool first = true; at < len; first = false) {
		const uint8_t *end = memchr(data + at, '\n', len - at);
		size_t stop = end ? (size_t)(end - data) : len, cut = stop, begin = n;

		while (!first && cut > at && data[cut - 1] != ',')
			cut--;
		memcpy(out + n, data + at, cut - at);
		n += cut - at;
		if (!first && cut > at) {
			sha256_text(out + before, begin - 1 - before, hex);
			memcpy(out + n, hex, SHA256_HEX - 1);
			n += SHA256_HEX - 1;
		}
		before = begin;
		out[n++] = '\n';
		at = stop + 1;
	}
	*out_len = n;
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t whole;
	char *log = chained(data, len, &whole);

	read_log(fuzz_file(data, len));
	read_log(fuzz_file((const uint8_t *)log, whole));
	free(log);
	return 0;
}
