/* Parameters of probes: rows (assay/probe.h), what the user set, and the value
 * that results. Validation comes from the row; bad input is an error, never a
 * silent default. */
#ifndef ASSAY_COORD_PARAMS_H
#define ASSAY_COORD_PARAMS_H

#include "assay/probe.h"
#include "base/arena.h"
#include "base/error.h"

/* One --set: probe.key=value, or key=value where the probe is known. */
struct setting {
	const char *probe;
	const char *key;
	const char *value;
};

/* Parses and checks `text` against the probe table; `probe` NULL: the text
 * must name it. Strings go to the arena. */
enum status setting_parse(struct setting *out, struct arena *arena,
                          const struct probe *const *probes, const struct probe *probe,
                          const char *text, struct error *err);

/* The probe of that name; ST_USAGE with the nearest name when there is none. */
enum status probe_named(const struct probe **out, const struct probe *const *probes,
                        const char *name, struct error *err);
const struct param *param_find(const struct probe *probe, const char *name);
/* Checks a value against its row. */
enum status param_check(const struct probe *probe, const struct param *row, const char *value,
                        struct error *err);
/* Number of a checked value: PARAM_INT, PARAM_REAL, PARAM_SIZE (bytes). */
double param_number(const struct param *row, const char *value);
/* What a probe gets for `name`: the setting if there is one, else the row's
 * default for the budget. */
const char *param_value(const struct probe *probe, const struct param *row, enum budget budget,
                        const struct setting *settings, int n_settings);

#endif
