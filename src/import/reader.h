/* Between import.c and the readers, one file a tool. */
#ifndef ASSAY_IMPORT_READER_H
#define ASSAY_IMPORT_READER_H

#include "base/json.h"
#include "import/import.h"

/* Lines of a text, one after another; a carriage return ends one too, as progress
 * lines do. */
struct text_lines {
	const char *next, *end;
	int number; /* of the line last given, from 1 */
};

/* The next line without its end, from the arena of `in`; NULL at the end. */
char *import_line(struct import *in, struct text_lines *lines);

/* A figure of one metric; set its subject, value, stats and point in place. Valid until
 * the next is added. NULL and ST_INTERNAL if there is no such metric. */
struct reading *import_add(struct import *in, const char *metric, struct error *err);
void import_value(struct reading *r, double value);
void import_words(struct import *in, struct reading *r, const char *text);
void import_left(struct import *in, const char *what);

/* The node a file is about: what it says, or --node; ST_USAGE without both. */
enum status import_node(struct import *in, const char *said, const char **node, struct error *err);
/* A card: by UUID where there is one, else as "card 3" of its node. */
void import_card(struct import *in, struct reading *r, const char *node, const char *uuid,
                 const char *pci, int index);
/* 00000000:0F:00.0, 0000:0f:00 -> 0000:0f:00.0; NULL for what is none. */
const char *import_pci(struct import *in, const char *text);
/* A whole number or a decimal; false for anything else, also behind it. */
bool import_number(const char *text, double *value);
/* Words of a line between blanks; at most `max`. */
int import_split(struct import *in, const char *line, const char **words, int max);

/* Readers. Text and length as given; what a reader needs of JSON is parsed already. */
enum status import_nccl_text(struct import *in, const char *text, size_t len, struct error *err);
enum status import_nccl_json(struct import *in, const struct json_doc *doc, struct error *err);
enum status import_nvbandwidth_text(struct import *in, const char *text, size_t len,
                                    struct error *err);
enum status import_nvbandwidth_json(struct import *in, const struct json_doc *doc,
                                    struct error *err);
enum status import_perftest_text(struct import *in, const char *text, size_t len,
                                 struct error *err);
enum status import_perftest_json(struct import *in, const struct json_doc *doc, struct error *err);
/* Quotes bare words and drops commas before a closing bracket: perftest 4.5. */
void import_perftest_mend(struct str *out, const char *text, size_t len);
enum status import_fio(struct import *in, const struct json_doc *doc, struct error *err);
enum status import_dcgm(struct import *in, const struct json_doc *doc, struct error *err);
enum status import_smi_text(struct import *in, const char *text, size_t len, struct error *err);
enum status import_smi_xml(struct import *in, const char *text, size_t len, struct error *err);
enum status import_smi_csv(struct import *in, const char *text, size_t len, struct error *err);
enum status import_burn(struct import *in, const char *text, size_t len, struct error *err);
enum status import_superbench(struct import *in, const char *text, size_t len, struct error *err);

#endif
