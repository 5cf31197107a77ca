/* Inside the HTML report: the page under way, and the pieces that its views are
 * made of. A view is one section; to add one: its file, a line in html_views.def.
 * Everything from outside goes through markup_text(). */
#ifndef ASSAY_REPORT_HTML_H
#define ASSAY_REPORT_HTML_H

#include "assay/message.h"
#include "base/arena.h"
#include "report/groups.h"
#include "report/markup.h"
#include "report/report.h"

struct html_entry {
	const char *id, *title;
};

/* Who the dots of charts are, named once for the script; a hash table. */
struct html_names {
	const char **text;
	int n, cap;
	int *slots; /* index + 1; 0: empty */
};

struct html {
	struct str *out; /* of the sections */
	const struct scorecard *card;
	const struct report_options *o;
	struct arena arena;
	struct group_list troubles;
	struct html_entry entries[32]; /* what the table of contents lists */
	int n_entries;
	struct html_names names;
};

#define VIEW(name) void html_view_##name(struct html *h);
#include "report/html_views.def"
#undef VIEW

/* A section with its heading, listed in the contents. */
void html_section(struct html *h, const char *id, enum msg title);
void html_section_end(struct html *h);
/* What the page's sections so far are, as links. */
void html_contents(const struct html *h, struct str *page);
/* A paragraph of the report's own words. */
void html_note(struct html *h, const char *text);

/* A table whose rows can be sorted by any column and, where `filter`, be searched.
 * `numbers`: a letter for each column, 'n' for those that hold numbers. */
struct html_table {
	const char *id;
	enum msg caption;
	const enum msg *columns;
	const char *numbers;
	int n_columns;
	bool filter;
};
void html_table_begin(struct html *h, const struct html_table *t);
void html_row(struct html *h);
/* A cell of text; of a number with what it is sorted by; of a verdict. */
void html_cell(struct html *h, const char *text);
void html_number(struct html *h, double value, const char *shown);
void html_verdict(struct str *out, enum verdict verdict);
void html_table_end(struct html *h);

/* Who a finding is about, as the terminal says it; of the arena. */
const char *html_who(struct html *h, const struct subject *subject, const char *node);
/* Its number in the list of names at the end of the page. */
int html_name(struct html *h, const struct subject *subject, const char *node);
#endif
