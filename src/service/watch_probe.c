/* Readings of the heartbeat probe as facts of a beat. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "service/watch.h"

/* Failed, timed_out, lost: the card's; else nobody could look. */
static bool is_fault(const char *outcome)
{
	return word_in("failed|timed_out|lost", outcome);
}

static void take_reading(struct probe_facts *f, const cJSON *r, double *cpu_ms)
{
	const char *metric = json_string(r, "metric", ""), *outcome = json_string(r, "outcome", "");
	double value = json_number(r, "value", NAN);
	bool measured = strcmp(outcome, "measured") == 0 && isfinite(value);

	if (strcmp(metric, "heartbeat_kernel_ms") == 0) {
		f->bad_cards += is_fault(outcome);
		if (measured) {
			f->kernel_ms = fmax(f->kernel_ms, value);
			f->cards = (f->cards < 0 ? 0 : f->cards) + 1;
		}
	}
	if (!measured)
		return;
	if (strcmp(metric, "heartbeat_cpu_ms") == 0)
		*cpu_ms = value;
	else if (strcmp(metric, "heartbeat_xids") == 0)
		f->xid = (int64_t)value;
	else if (strcmp(metric, "heartbeat_link_downs") == 0)
		f->links = (int64_t)value;
	else if (strcmp(metric, "heartbeat_ecc") == 0)
		f->ecc = (f->ecc < 0 ? 0 : f->ecc) + (int64_t)value;
}

void probe_facts_read(struct probe_facts *f, const char *readings)
{
	double cpu_ms = NAN;

	*f = (struct probe_facts){.ended = true,
	                          .started = true,
	                          .cards = -1,
	                          .kernel_ms = NAN,
	                          .xid = -1,
	                          .ecc = -1,
	                          .links = -1};
	for (const char *p = readings; *p;) {
		size_t len = strcspn(p, "\n");
		struct json_doc doc;

		if (json_parse(&doc, "heartbeat", p, len, JSON_STRICT, NULL) == ST_OK) {
			take_reading(f, doc.root, &cpu_ms);
			json_release(&doc);
		}
		p += len + (p[len] == '\n');
	}
	if (!isfinite(f->kernel_ms))
		f->kernel_ms = cpu_ms;
}
