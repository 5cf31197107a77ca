/* Peers of a watch, as a host file and as typed: names that can stand in a log, each once. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "service/heartbeat.h"
#include "service/peers.h"

static void parse(const char *text)
{
	struct arena arena = {0};
	struct peers p = {0};
	struct error err = {0};

	if (peers_parse(&p, &arena, text, &err) == ST_OK) {
		fuzz_promise(p.count > 0, "nobody to look at");
		for (int i = 0; i < p.count; i++) {
			fuzz_promise(*p.names[i] && heartbeat_word(p.names[i]),
			             "a name that no log can have");
			for (int k = 0; k < i; k++)
				fuzz_promise(strcmp(p.names[i], p.names[k]) != 0, "a name twice");
		}
	}
	error_release(&err);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *typed = malloc(len + 1);

	if (!typed)
		abort();
	memcpy(typed, data, len);
	typed[len] = '\0';
	parse(fuzz_file(data, len));
	/* No path: a name that is a file is read as one. */
	if (!strchr(typed, '/') && *typed)
		parse(typed);
	free(typed);
	return 0;
}
