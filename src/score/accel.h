/* The table of accelerators: what a card of a given name is rated at, how far
 * each figure can be trusted, and what the same figure is from first
 * principles. An empty cell means unknown, never zero. */
#ifndef ASSAY_SCORE_ACCEL_H
#define ASSAY_SCORE_ACCEL_H

#include "base/csv.h"
#include "base/json.h"

/* How well a figure of a card row is known. */
enum trust {
	TRUST_NONE,       /* empty, or not a number, and no formula gives it */
	TRUST_PRINCIPLES, /* units x clock x rate: never fails a card */
	TRUST_UNVERIFIED, /* a cell without a source and without a formula */
	TRUST_ROW,        /* a cell with a source */
};

/* A figure with its legs; NaN: that leg is missing. */
struct figure {
	enum trust trust;
	double value;      /* the leg that decides */
	double row;        /* as the cell says, whatever its trust */
	double principles; /* units x clock x rate */
};

/* Reads accelerators.csv from the configuration; release with csv_release. */
enum status accel_load(struct csv *table, const char *config_dir, struct error *err);
/* Puts a row in, or in place of that of the same key: an object of column and text,
 * as a profile was judged by once. Columns the table has not are left out. */
void accel_put_row(struct csv *table, const cJSON *row);
/* Row of a key, -1: none. */
int accel_row(const struct csv *table, const char *key);
/* Keys as a NULL-terminated list in `arena`, for nearest_word. */
const char *const *accel_keys(const struct csv *table, struct arena *arena);

/* True if every filled cell of the column is a number. */
bool accel_column_numeric(const struct csv *table, const char *column);
/* The cell as text if it is filled and has a source (confidence of the row,
 * unverified_fields), else NULL; *text gets the cell in any case. */
bool accel_cell(const struct csv *table, int row, const char *column, const char **text);
/* row < 0 (unknown card): nothing is known. */
struct figure accel_figure(const struct csv *table, int row, const char *column);

/* "sxm", "pcie", "nvl" … from the key ("a100-sxm4-80gb"), from `arena`; ""
 * when the key names none. */
const char *accel_form(const char *key, struct arena *arena);

/* First row whose name pattern (POSIX extended regex) matches, or whose list
 * of PCI ids has `text`; -1: none. */
int accel_guess(const struct csv *table, const char *text);
/* Whether a cell of the row accepts `text`: nvml_name_patterns as a regex,
 * pci_device_ids and pci_subsystem_ids as |-lists, others literally. */
bool accel_accepts(const char *column, const char *cell, const char *text);

#endif
