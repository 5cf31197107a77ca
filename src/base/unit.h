/* Figures as people read them: fixed significant digits, SI prefixes (1 kB is
 * 1000 bytes) except where a unit says otherwise (MiB). All texts are
 * short-lived (tmpf). */
#ifndef ASSAY_BASE_UNIT_H
#define ASSAY_BASE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

/* Three significant digits, no exponent up to 1e15: 0.00123, 12.3, 1230. */
const char *fmt_value(double value);
/* Value with its unit, scaled where that helps: IOPS 610000 -> "610K IOPS". */
const char *fmt_measure(double value, const char *unit);
/* Binary sizes: 4.0 GiB, 512 MiB, 37 B. */
const char *fmt_bytes(int64_t bytes);
/* 850 ms, 12.3 s, 27 min, 3 h 05 min. */
const char *fmt_duration(double seconds);

/* Reads sizes as written on a command line: 4096, 64K, 2G, 1.5GiB; K, M, G, T
 * are powers of 1024. False if malformed, negative or beyond 2^62. */
bool parse_size(const char *text, int64_t *bytes);
/* Strict decimal number, finite, whole text; '.' is the decimal point. */
bool parse_double(const char *text, double *value);
bool parse_int64(const char *text, int64_t *value);

#endif
