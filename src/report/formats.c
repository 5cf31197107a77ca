/* All report formats. To add one: its file, a line in report_writers.h, a row. */
#include <string.h>

#include "report/report_writers.h"

const struct report_format report_formats[] = {
	{"terminal", report_terminal},
	{"json", report_json},
	{"csv", report_csv},
	{"html", report_html},
	{"markdown", report_markdown},
	{"junit", report_junit},
	{NULL, NULL},
};

const struct report_format *report_find(const char *name)
{
	for (const struct report_format *f = report_formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}
