/* Rated figures and where they come from. Tensor and other peaks use two
 * different clocks: on Hopper and later the tensor rating belongs to a lower
 * clock than the one NVML reports, so a peak is never computed from the NVML
 * maximum. */
#include "score/accel.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "base/config.h"
#include "base/unit.h"

/* Peaks that have a formula: TFLOP/s = units x MHz x FLOPs per clock and unit
 * / 1e6. To add one: a row. */
static const struct {
	const char *column, *clock, *rate;
} peaks[] = {
	{"fp64_tflops", "boost_clock_nontensor_mhz", "rate_fp64"},
	{"fp32_tflops", "boost_clock_nontensor_mhz", "rate_fp32"},
	{"fp64_tensor_tflops", "boost_clock_nontensor_mhz", "rate_fp64_tensor"},
	{"tf32_tensor_tflops", "boost_clock_tensor_mhz", "rate_tf32"},
	{"fp16_tensor_tflops", "boost_clock_tensor_mhz", "rate_fp16"},
	{"bf16_tensor_tflops", "boost_clock_tensor_mhz", "rate_fp16"},
	{"fp8_tflops", "boost_clock_tensor_mhz", "rate_fp8"},
	{"fp4_tflops", "boost_clock_tensor_mhz", "rate_fp4"},
	{"int8_tops", "boost_clock_tensor_mhz", "rate_int8"},
};

static const char *const needed[] = {"key", "confidence", "unverified_fields", "nvml_name_patterns",
                                     "pci_device_ids"};

enum status accel_load(struct csv *table, const char *config_dir, struct error *err)
{
	struct str text = {0}, where = {0};
	enum status st = config_read(&text, &where, config_dir, "accelerators.csv", err);

	*table = (struct csv){0};
	if (st == ST_OK)
		st = csv_parse(table, str_text(&where), str_text(&text), text.len, err);
	for (size_t i = 0; st == ST_OK && i < sizeof(needed) / sizeof(*needed); i++)
		if (csv_column(table, needed[i]) < 0)
			st = error_set(err, ST_PARSE, MSG_accel_column, str_text(&where),
			               needed[i]);
	if (st != ST_OK)
		csv_release(table);
	str_release(&text);
	str_release(&where);
	return st;
}

int accel_row(const struct csv *table, const char *key)
{
	int column = csv_column(table, "key");

	for (int r = 0; r < table->n_rows; r++)
		if (strcmp(table->rows[r][column], key) == 0)
			return r;
	return -1;
}

void accel_put_row(struct csv *table, const cJSON *row)
{
	const char *key = json_string(row, "key", NULL);
	int at = key ? accel_row(table, key) : -1;
	const char **fields;

	if (!key)
		return;
	if (at < 0) {
		size_t n = (size_t)table->n_rows;
		const char ***rows = arena_array(&table->arena, n + 1, sizeof(*rows));
		int *lines = arena_array(&table->arena, n + 1, sizeof(*lines));

		if (n) {
			memcpy(rows, table->rows, n * sizeof(*rows));
			memcpy(lines, table->lines, n * sizeof(*lines));
		}
		table->rows = rows;
		table->lines = lines;
		at = table->n_rows++;
	}
	fields = arena_array(&table->arena, (size_t)table->n_columns + 1, sizeof(*fields));
	for (int c = 0; c < table->n_columns; c++)
		fields[c] = arena_str(&table->arena, json_string(row, table->columns[c], ""));
	table->rows[at] = fields;
}

const char *const *accel_keys(const struct csv *table, struct arena *arena)
{
	const char **keys = arena_array(arena, (size_t)table->n_rows + 1, sizeof(*keys));

	for (int r = 0; r < table->n_rows; r++)
		keys[r] = csv_field(table, r, "key");
	return keys;
}

bool accel_column_numeric(const struct csv *table, const char *column)
{
	int c = csv_column(table, column);
	double ignored;

	if (c < 0)
		return false;
	for (int r = 0; r < table->n_rows; r++)
		if (*table->rows[r][c] && !parse_double(table->rows[r][c], &ignored))
			return false;
	return true;
}

/* Whether a list separated by any of `separators` has exactly `word`. */
static bool list_has(const char *list, const char *separators, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == len && strncasecmp(list, word, n) == 0)
			return true;
		list += n;
		list += strspn(list, separators);
	}
	return false;
}

bool accel_cell(const struct csv *table, int row, const char *column, const char **text)
{
	*text = row < 0 ? NULL : csv_field(table, row, column);
	if (!*text || !**text)
		return false;
	return strcmp(csv_field(table, row, "confidence"), "unverified") != 0 &&
	       !list_has(csv_field(table, row, "unverified_fields"), ";|, ", column);
}

static double cell_number(const struct csv *table, int row, const char *column, bool *sourced)
{
	const char *text;
	double value;

	*sourced = accel_cell(table, row, column, &text);
	if (text && parse_double(text, &value))
		return value;
	*sourced = false;
	return NAN;
}

static double principles(const struct csv *table, int row, const char *column)
{
	bool ignored;

	for (size_t i = 0; i < sizeof(peaks) / sizeof(*peaks); i++)
		if (strcmp(peaks[i].column, column) == 0)
			return cell_number(table, row, "sm_count", &ignored) *
			       cell_number(table, row, peaks[i].clock, &ignored) *
			       cell_number(table, row, peaks[i].rate, &ignored) / 1e6;
	return NAN;
}

struct figure accel_figure(const struct csv *table, int row, const char *column)
{
	struct figure f = {TRUST_NONE, NAN, NAN, NAN};
	bool sourced;

	if (row < 0)
		return f;
	f.row = cell_number(table, row, column, &sourced);
	f.principles = principles(table, row, column);
	if (sourced) {
		f.trust = TRUST_ROW;
		f.value = f.row;
	} else if (isfinite(f.principles)) {
		f.trust = TRUST_PRINCIPLES;
		f.value = f.principles;
	} else if (isfinite(f.row)) {
		f.trust = TRUST_UNVERIFIED;
		f.value = f.row;
	}
	return f;
}

const char *accel_form(const char *key, struct arena *arena)
{
	static const char *const forms[] = {"sxm", "pcie", "nvl", "oam", NULL};

	for (const char *part = key; part; part = strchr(part, '-')) {
		part += *part == '-';
		for (const char *const *f = forms; *f; f++) {
			size_t len = strlen(*f);
			size_t digits;

			if (strncmp(part, *f, len) != 0)
				continue;
			digits = strspn(part + len, "0123456789");
			if (part[len + digits] == '-' || !part[len + digits])
				return arena_strn(arena, part, len);
		}
	}
	return "";
}

static bool regex_matches(const char *pattern, const char *text)
{
	regex_t compiled;
	bool yes;

	if (!*pattern || regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	yes = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return yes;
}

bool accel_accepts(const char *column, const char *cell, const char *text)
{
	if (strcmp(column, "nvml_name_patterns") == 0)
		return regex_matches(cell, text);
	if (strcmp(column, "pci_device_ids") == 0 || strcmp(column, "pci_subsystem_ids") == 0)
		return list_has(cell, "|", text);
	return strcmp(cell, text) == 0;
}

int accel_guess(const struct csv *table, const char *text)
{
	for (int r = 0; r < table->n_rows; r++)
		if (accel_accepts("nvml_name_patterns", csv_field(table, r, "nvml_name_patterns"),
		                  text) ||
		    list_has(csv_field(table, r, "pci_device_ids"), "|", text))
			return r;
	return -1;
}
