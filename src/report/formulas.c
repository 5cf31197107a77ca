/* Formulas stand with their metrics, in English, since they are part of how a probe is
 * written; reports for Chinese readers look their twin up here by the words. */
#include "report/formulas.h"

#include <stddef.h>
#include <string.h>

#include "base/msg.h"

static const struct {
	const char *english, *chinese;
} formulas[] = {
#define FORMULA(english, chinese) {english, chinese},
#include "report/formulas_zh.def"
#undef FORMULA
};

const char *formula_said(const char *formula)
{
	if (!formula || msg_spoken() != LANGUAGE_ZH)
		return formula;
	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++)
		if (strcmp(formulas[i].english, formula) == 0)
			return formulas[i].chinese;
	return formula;
}
