/* How findings are put into words; shared by the writers meant for people.
 * All results are appended to a buffer; nothing is owned. What comes from
 * outside (names, ids, paths, reasons) is made printable on the way. */
#ifndef ASSAY_REPORT_WORDS_H
#define ASSAY_REPORT_WORDS_H

#include "assay/finding.h"
#include "base/str.h"

/* Text from outside; NULL adds nothing. */
void words_add(struct str *out, const char *text);
/* The same as a short-lived text, for message arguments. */
const char *words_shown(const char *text);
/* "measured", "declared": where a figure is from. */
const char *words_origin(enum origin origin);
/* "n017 card 3 (GPU-1b2c..., 0000:8a:00.0)", "/data", "n001 - n002". */
void words_subject(struct str *out, const struct subject *subject, const char *node);
/* "PASS", "not measured": for the verdict column. */
const char *words_verdict(enum verdict verdict);
/* "gemm_fp16_tflops 201 TFLOP/s", "gemm_fp16_tflops fluctuation 3.1 %",
 * "card_name \"RTX 4090\"": what was found. */
void words_figure(struct str *out, const struct finding *f);
/* "; limit >= 268 TFLOP/s, 75 % of it", "; limit 1 %, 3.1 times that, resolves
 * 0.1 %": what it was held against and, of a failure, how far off it is. Nothing when the rule prints no limit. */
void words_limit(struct str *out, const struct finding *f);
/* Value of the rule's stat alone, shares of time and width in percent. */
const char *words_value(const struct rule_info *rule, double value);
/* Statistics that are shares of the figure ("f95"): read best in percent. */
bool words_is_share(const char *stat);
/* "31.2 to 32.0 GFLOP/s"; one value when both print alike. */
void words_range(struct str *out, const char *lo, const char *hi);
/* The reason in the words of the catalogue, with `these` where it names the
 * finding's own metric; NULL: as recorded. */
void words_reason(struct str *out, const struct finding *f, const char *these);
/* A reason in the language that is spoken. */
void words_said(struct str *out, const struct reason *reason);
/* The note of a rule, that of a built-in profile in the language that is spoken; NULL adds
 * nothing. */
void words_note(struct str *out, const char *note);
/* The title of a criterion: that of the built-in profile in the language that is
 * spoken, another profile's own as it is written there. */
const char *words_title(const struct criterion_result *criterion);
/* "ACCEPT" for the headline; exit codes and JSON have overall_name. */
const char *words_overall(enum overall overall);
/* `word`, and of an ACCEPT how many waivers it stands on: "ACCEPT with 1 waiver". */
void words_overall_waived(struct str *out, enum overall overall, const char *word, int waivers);
/* "1 card", "1,000 cards" of a subject kind. */
const char *words_subjects(enum subject_kind kind, int64_t count);
/* 1234567 -> "1,234,567". */
const char *words_count(int64_t count);
/* "gemm_* (12), memtest_* (2), nvlink_version": names that begin alike as one. */
void words_names(struct str *out, const char *const *names, int count);

/* Appends `text` wrapped at `width` columns: the first line begins where the
 * caller stands (`column`), later ones at `indent`. Ends with a newline. */
void words_wrap(struct str *out, const char *text, int column, int indent, int width);
/* At most `columns` columns; a longer text ends in "...". */
void words_cut(struct str *out, const char *text, int columns);
/* Columns a text takes on a terminal. */
int words_columns(const char *text);
/* For terminals without UTF-8: other characters become as many '?' as the
 * columns they take, so that nothing moves. */
void words_ascii(struct str *out, const char *text);

#endif
