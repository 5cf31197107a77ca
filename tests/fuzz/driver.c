/* Runs a fuzz target where there is no libFuzzer: every file of the folders named, then
 * --runs N inputs mutated from them, always the same ones. Built with libFuzzer
 * (-DASSAY_LIBFUZZER=ON, clang) a target needs no driver and is led by coverage.
 *
 *   fuzz_json [--runs N] FOLDER|FILE... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define LONGEST 65536

struct input {
	uint8_t *data;
	size_t len;
};

static struct input *inputs;
static size_t n_inputs;
static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct input in = {.data = malloc(LONGEST)};

	if (!f || !in.data) {
		perror(path);
		exit(3);
	}
	in.len = fread(in.data, 1, LONGEST, f);
	fclose(f);
	inputs = realloc(inputs, (n_inputs + 1) * sizeof(*inputs));
	inputs[n_inputs++] = in;
}

static void add(const char *path)
{
	struct dirent **entries;
	struct stat info;
	int n;

	if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
		add_file(path);
		return;
	}
	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0) {
		perror(path);
		exit(3);
	}
	for (int i = 0; i < n; i++) {
		char whole[4096];

		snprintf(whole, sizeof(whole), "%s/%s", path, entries[i]->d_name);
		if (stat(whole, &info) == 0 && S_ISREG(info.st_mode))
			add_file(whole);
		free(entries[i]);
	}
	free(entries);
}

static const char *const words[] = {"\"",       "{",    "}",     "[",       "]",
                                    ":",        ",",    "\\",    "\\u0000", "\xff",
                                    "\xc0\x80", "null", "1e999", "-1",      "9223372036854775808",
                                    "\n",       "\r\n", "\t",    " ",       "%s",
                                    "..",       "/",    "0x",    "NaN",     "\0"};

static size_t mutate(uint8_t *data, size_t len)
{
	for (uint64_t i = 1 + next() % 6; i; i--) {
		size_t at = len ? next() % len : 0;
		const char *word = words[next() % (sizeof(words) / sizeof(*words))];
		size_t n = strlen(word) + !*word;

		switch (next() % 6) {
		case 0:
			if (len)
				data[at] ^= (uint8_t)(1u << (next() % 8));
			break;
		case 1:
			if (len)
				data[at] = (uint8_t)next();
			break;
		case 2: /* a piece goes */
			n = len ? next() % (len - at > 64 ? 64 : len - at) : 0;
			memmove(data + at, data + at + n, len - at - n);
			len -= n;
			break;
		case 3: /* a piece comes again */
			n = len ? next() % (len - at > 64 ? 64 : len - at) : 0;
			if (len + n > LONGEST)
				break;
			memmove(data + at + n, data + at, len - at);
			len += n;
			break;
		case 4: /* a word comes in */
			if (len + n > LONGEST)
				break;
			memmove(data + at + n, data + at, len - at);
			memcpy(data + at, word, n);
			len += n;
			break;
		default: /* the end is missing */
			len = next() % 4 ? len : at;
		}
	}
	return len;
}

/* On the heap and exactly as long: one byte read beyond is found. */
static void run(const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		exit(3);
	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(LONGEST);
	long runs = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtol(argv[++i], NULL, 10);
		else
			add(argv[i]);
	}
	if (!n_inputs || !data) {
		fprintf(stderr, "no input\n");
		return 3;
	}
	for (size_t i = 0; i < n_inputs; i++)
		run(inputs[i].data, inputs[i].len);
	for (long i = 0; i < runs; i++) {
		const struct input *in = &inputs[next() % n_inputs];

		memcpy(data, in->data, in->len);
		run(data, mutate(data, in->len));
	}
	printf("%zu inputs, %ld mutated\n", n_inputs, runs);
	for (size_t i = 0; i < n_inputs; i++)
		free(inputs[i].data);
	free(inputs);
	free(data);
	return 0;
}
