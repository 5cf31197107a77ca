/* Whose output a text is, and the list its figures go to. Tools are told apart by what
 * only they write, since a file's name says nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

const struct metric import_metrics[] = {
	{"dcgm_failed_tests", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_ANY,
         "tests of dcgmi diag that the card failed; their names in params"},
	{"gpuburn_gflops", "GFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_ANY,
         "median of the rates that gpu-burn printed; the precision is as it was called"},
	{"gpuburn_errors", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_ANY,
         "wrong products that gpu-burn counted; failed where it calls the card faulty"},
	{0},
};

/* --- lists -------------------------------------------------------------------- */

struct reading *import_add(struct import *in, const char *metric, struct error *err)
{
	const struct metric *m = in->metric(metric);
	struct reading *r;

	if (!m) {
		error_set(err, ST_INTERNAL, MSG_import_metric, metric);
		return NULL;
	}
	if (in->n == in->cap) {
		int64_t cap = in->cap ? 2 * in->cap : 64;
		struct reading *more = arena_array(in->arena, (size_t)cap, sizeof(*more));

		if (in->n)
			memcpy(more, in->readings, (size_t)in->n * sizeof(*more));
		in->readings = more;
		in->cap = cap;
	}
	r = &in->readings[in->n++];
	*r = reading_init();
	r->probe = in->tool;
	r->metric = m->name;
	r->unit = m->unit;
	r->better = m->better;
	r->subject.kind = m->subject;
	r->origin = ORIGIN_IMPORTED;
	return r;
}

void import_value(struct reading *r, double value)
{
	r->value_kind = VALUE_NUMBER;
	r->value = value;
}

void import_words(struct import *in, struct reading *r, const char *text)
{
	r->value_kind = VALUE_TEXT;
	r->text = arena_str(in->arena, text);
}

void import_left(struct import *in, const char *what)
{
	for (int64_t i = 0; i < in->n_left; i++)
		if (strcmp(in->left[i], what) == 0)
			return;
	if (in->n_left == in->cap_left) {
		int64_t cap = in->cap_left ? 2 * in->cap_left : 16;
		const char **more = arena_array(in->arena, (size_t)cap, sizeof(*more));

		if (in->n_left)
			memcpy(more, in->left, (size_t)in->n_left * sizeof(*more));
		in->left = more;
		in->cap_left = cap;
	}
	in->left[in->n_left++] = arena_str(in->arena, what);
}

/* --- words and subjects --------------------------------------------------------- */

char *import_line(struct import *in, struct text_lines *lines)
{
	const char *begin = lines->next, *p = begin;

	if (begin >= lines->end)
		return NULL;
	while (p < lines->end && *p != '\n' && *p != '\r')
		p++;
	lines->next = p < lines->end ? p + 1 : p;
	if (p + 1 < lines->end && p[0] == '\r' && p[1] == '\n')
		lines->next = p + 2;
	lines->number++;
	return arena_strn(in->arena, begin, (size_t)(p - begin));
}

int import_split(struct import *in, const char *line, const char **words, int max)
{
	int n = 0;

	while (n < max) {
		size_t len;

		line += strspn(line, " \t");
		len = strcspn(line, " \t");
		if (!len)
			break;
		words[n++] = arena_strn(in->arena, line, len);
		line += len;
	}
	return n;
}

bool import_number(const char *text, double *value)
{
	char *end;

	if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
		return false;
	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

enum status import_node(struct import *in, const char *said, const char **node, struct error *err)
{
	if (said && *said)
		*node = arena_str(in->arena, said);
	else if (in->node)
		*node = in->node;
	else
		return error_set(err, ST_USAGE, MSG_import_node, in->name, in->tool);
	return ST_OK;
}

const char *import_pci(struct import *in, const char *text)
{
	unsigned domain, bus, device, function = 0;
	int used = 0;

	if (sscanf(text, "%8x:%2x:%2x%n.%1x%n", &domain, &bus, &device, &used, &function, &used) <
	            3 ||
	    text[used])
		return NULL;
	return arena_strf(in->arena, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

void import_card(struct import *in, struct reading *r, const char *node, const char *uuid,
                 const char *pci, int index)
{
	r->node = node;
	r->subject.kind = SUBJECT_CARD;
	r->subject.index = index;
	r->subject.pci = pci ? import_pci(in, pci) : NULL;
	r->subject.id = uuid && *uuid ? arena_str(in->arena, uuid)
	                              : arena_strf(in->arena, "card %d", index);
}

/* --- whose -------------------------------------------------------------------- */

static bool has(const char *text, size_t len, const char *words)
{
	return memmem(text, len, words, strlen(words)) != NULL;
}

static enum status read_json(struct import *in, const struct json_doc *doc, struct error *err)
{
	static const struct {
		const char *key, *also, *tool;
		enum status (*read)(struct import *in, const struct json_doc *doc,
		                    struct error *err);
	} tools[] = {
		{"nvbandwidth", NULL, "nvbandwidth", import_nvbandwidth_json},
		{"fio version", "jobs", "fio", import_fio},
		{"DCGM Diagnostic", NULL, "dcgmi-diag", import_dcgm},
		{"DCGM GPU Diagnostic", NULL, "dcgmi-diag", import_dcgm},
		{"test_info", "results", "perftest", import_perftest_json},
		{"results", "average_bus_bandwidth", "nccl-tests", import_nccl_json},
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		if (!json_get(doc->root, tools[i].key) ||
		    (tools[i].also && !json_get(doc->root, tools[i].also)))
			continue;
		in->tool = tools[i].tool;
		return tools[i].read(in, doc, err);
	}
	return error_set(err, ST_PARSE, MSG_import_unknown, in->name);
}

/* fio 3.x prints notes before its JSON, dcgmi a banner: it begins at the first line that
 * opens an object. */
static const char *json_begin(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while (p < end) {
		const char *line = p;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p < end && *p == '{')
			return p;
		p = memchr(line, '\n', (size_t)(end - line));
		if (!p)
			break;
		p++;
	}
	return NULL;
}

static enum status import_object(struct import *in, const char *text, size_t len, struct error *err)
{
	const char *begin = json_begin(text, len), *end = text + len;
	struct json_doc doc = {0};
	struct str mended = {0};
	enum status st;

	if (has(text, len, "test_info") && !has(text, len, "\"test_info\"")) {
		import_perftest_mend(&mended, begin, (size_t)(end - begin));
		st = json_parse(&doc, in->name, mended.data, mended.len, JSON_DUPLICATES, err);
	} else {
		while (end > begin && end[-1] != '}')
			end--;
		st = json_parse(&doc, in->name, begin, (size_t)(end - begin), JSON_DUPLICATES, err);
	}
	if (st == ST_OK) {
		st = read_json(in, &doc, err);
		json_release(&doc);
	}
	str_release(&mended);
	return st;
}

static enum status import_any(struct import *in, const char *text, size_t len, struct error *err)
{
	static const struct {
		const char *sign, *tool;
		enum status (*read)(struct import *in, const char *text, size_t len,
		                    struct error *err);
	} tools[] = {
		{"<nvidia_smi_log", "nvidia-smi", import_smi_xml},
		{"==NVSMI LOG==", "nvidia-smi", import_smi_text},
		{"(B)    (elements)", "nccl-tests", import_nccl_text},
		{" bandwidth (GB/s)", "nvbandwidth", import_nvbandwidth_text},
		{"proc'd: ", "gpu-burn", import_burn},
		{"#bytes", "perftest", import_perftest_text},
	};
	const char *first = text + strspn(text, " \t\r\n");
	const char *line_end = memchr(first, '\n', len - (size_t)(first - text));

	if (*first == '{' && line_end && line_end > first && line_end[-1] == '}' &&
	    has(first, (size_t)(line_end - first), "\"node\"")) {
		in->tool = "superbench";
		return import_superbench(in, text, len, err);
	}
	for (size_t i = 0; *first != '{' && i < sizeof(tools) / sizeof(*tools); i++) {
		if (!has(text, len, tools[i].sign))
			continue;
		in->tool = tools[i].tool;
		return tools[i].read(in, text, len, err);
	}
	if (json_begin(text, len))
		return import_object(in, text, len, err);
	if (line_end && has(first, (size_t)(line_end - first), "uuid")) {
		in->tool = "nvidia-smi";
		return import_smi_csv(in, text, len, err);
	}
	return error_set(err, ST_PARSE, MSG_import_unknown, in->name);
}

enum status import_text(struct import *in, const char *name, const char *text, size_t len,
                        struct error *err)
{
	int64_t before = in->n;
	enum status st;

	in->name = name;
	in->tool = "?";
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (!len || memchr(text, '\0', len))
		return error_set(err, ST_PARSE, MSG_import_unknown, name);
	st = import_any(in, text, len, err);
	if (st == ST_OK && in->n == before)
		st = error_set(err, ST_PARSE, MSG_import_empty, name, in->tool);
	if (st != ST_OK)
		in->n = before;
	return st;
}
