/* The table of probes, made from probes.def, and what must hold for it. The
 * checks are run on the whole table by a test, and stop a half-finished probe
 * from reaching a customer. */
#include "probes.h"

#include <string.h>

#include "base/unit.h"

#define PROBE(name) extern const struct probe probe_##name;
#include "probes.def"
#undef PROBE

const struct probe *const probe_table[] = {
#define PROBE(name) &probe_##name,
#include "probes.def"
#undef PROBE
	NULL,
};

const struct probe *probe_find(const char *name)
{
	for (int i = 0; probe_table[i]; i++)
		if (strcmp(probe_table[i]->name, name) == 0)
			return probe_table[i];
	return NULL;
}

const struct metric *probe_metric(const struct probe *probe, const char *name)
{
	for (const struct metric *m = probe->metrics; m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

/* --- checks ------------------------------------------------------------------- */

static enum status fault(struct error *err, const char *probe, const char *what, const char *name)
{
	return error_set(err, ST_INTERNAL, MSG_probe_fault, probe ? probe : "?", what, name);
}

static bool name_valid(const char *name)
{
	return name && *name >= 'a' && *name <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static enum status check_metrics(const struct probe *p, struct error *err)
{
	for (const struct metric *m = p->metrics; m->name; m++) {
		if (!name_valid(m->name))
			return fault(err, p->name, "metric name", m->name);
		if (!m->unit || !m->unit[0] || !m->formula || !m->formula[0])
			return fault(err, p->name, "metric without unit or formula", m->name);
		for (const struct metric *other = p->metrics; other < m; other++)
			if (strcmp(other->name, m->name) == 0)
				return fault(err, p->name, "metric twice", m->name);
	}
	return ST_OK;
}

static bool number_valid(const struct param *row, const char *text)
{
	int64_t whole = 0;
	double number = 0;
	bool ok = row->kind == PARAM_REAL  ? parse_double(text, &number)
	          : row->kind == PARAM_INT ? parse_int64(text, &whole)
	                                   : parse_size(text, &whole);

	if (row->kind != PARAM_REAL)
		number = (double)whole;
	return ok && number >= row->min && number <= row->max;
}

static enum status check_params(const struct probe *p, struct error *err)
{
	for (const struct param *row = p->params; row && row->name; row++) {
		if (!name_valid(row->name) || !row->unit)
			return fault(err, p->name, "parameter name or unit", row->name);
		for (int b = 0; b < BUDGETS; b++)
			if (!row->value[b] ||
			    (row->kind < PARAM_WORD && !number_valid(row, row->value[b])))
				return fault(err, p->name, "parameter default", row->name);
		for (const struct param *other = p->params; other < row; other++)
			if (strcmp(other->name, row->name) == 0)
				return fault(err, p->name, "parameter twice", row->name);
	}
	return ST_OK;
}

enum status probe_check(const struct probe *p, struct error *err)
{
	enum status st;

	if (!name_valid(p->name))
		return fault(err, p->name, "probe name", p->name ? p->name : "?");
	if (!p->phase || !p->metrics || !p->metrics[0].name)
		return fault(err, p->name, "no phase or no metrics", p->name);
	if (!p->supported || !p->run)
		return fault(err, p->name, "no supported() or no run()", p->name);
	if (p->needs_storage != (p->subject == SUBJECT_PATH))
		return fault(err, p->name, "storage and subject contradict each other", p->name);
	for (int b = 0; b < BUDGETS; b++)
		if (!(p->seconds[b] >= 0))
			return fault(err, p->name, "expected seconds", p->name);
	st = check_metrics(p, err);
	return st == ST_OK ? check_params(p, err) : st;
}

static enum status check_pair(const struct probe *p, const struct probe *other, struct error *err)
{
	if (strcmp(p->name, other->name) == 0)
		return fault(err, p->name, "probe twice", p->name);
	for (const struct metric *m = p->metrics; m->name; m++)
		if (probe_metric(other, m->name))
			return fault(err, p->name, "metric of another probe", m->name);
	return ST_OK;
}

enum status probe_table_check(const struct probe *const *table, struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; table[i] && st == ST_OK; i++) {
		st = probe_check(table[i], err);
		for (int k = 0; k < i && st == ST_OK; k++)
			st = check_pair(table[i], table[k], err);
	}
	return st;
}
