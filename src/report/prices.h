/* Prices of delivered work in words, and as JSON. */
#ifndef ASSAY_REPORT_PRICES_H
#define ASSAY_REPORT_PRICES_H

#include "assay/finding.h"
#include "base/json.h"
#include "base/str.h"

/* "Price of delivered work: a card-hour is 13.9 CNY, by the quote". */
void prices_head(struct str *out, const struct price_list *list);
/* "a TFLOP/s for an hour (gemm_bf16_tflops)". */
void prices_what(struct str *out, const struct price_list *list, const struct price_line *line);
/* "0.0517 CNY (0.0515 to 0.052), measured", "at least ..." where something comes on top. */
void prices_value(struct str *out, const struct price_list *list, const struct price_line *line);
/* The member "prices"; nothing where no price was given. */
void prices_json(struct json_out *j, const struct price_list *list);

#endif
