/* Response and repair times from a log of tickets, CSV:
 *
 *   ticket_id,severity,opened_utc,opened_by,first_auto_utc,first_human_utc,
 *   engaged_utc,mitigated_utc,resolved_utc,node,cause,source
 *
 * ticket_id, opened_utc and first_human_utc are needed, the others may lack. Times
 * carry their zone. A response is the first relevant reply of a person; an automatic
 * receipt is none. `source` says where the times are from: mail (headers) and export
 * (of the provider's system) are evidence, anything else is somebody's word. */
#ifndef ASSAY_SERVICE_TICKETS_H
#define ASSAY_SERVICE_TICKETS_H

#include "base/arena.h"
#include "service/availability.h"

#define TICKETS_LIMIT_MIN 30
/* So many without a late one claim 95 % at 95 % confidence. */
#define TICKETS_ENOUGH 59
#define TICKET_NO_TIME INT64_MIN

struct ticket {
	const char *id, *opened_by, *node, *source; /* "" where the column lacks */
	int line;
	int64_t opened_ns, auto_ns, human_ns, engaged_ns, mitigated_ns,
		resolved_ns; /* TICKET_NO_TIME: none */
	double response_min; /* NaN: no person replied yet */
	double waiting_min;  /* … and so long it waits, by the latest time known */
	bool late, pending;  /* pending: no reply, and the limit is not over */
	bool stated;         /* no source that is evidence */
};

enum ticket_hours { HOURS_DAY, HOURS_NIGHT, HOURS_WEEKEND, HOURS_KINDS };

struct ticket_group {
	int n, in_time;
	double median_min; /* of those replied to; NaN: none */
};

/* An outage and the ticket that is about it. */
struct outage_ticket {
	int outage;         /* index in availability.outages */
	int ticket;         /* -1: none */
	double noticed_min; /* from its beginning to the ticket; negative: before it */
};

struct ticket_options {
	double limit_min;
	int zone_min; /* of the working day, east of UTC: 8 to 20 o'clock, Monday to Friday */
};

struct tickets {
	struct arena arena;
	struct ticket_options options;
	struct ticket *list;
	int count;
	int judged, in_time, late, pending, stated;
	double median_min, max_min;  /* of those replied to; NaN: none */
	double share, low95, high95; /* in time, exact two-sided interval; NaN: none judged */
	struct ticket_group by_hours[HOURS_KINDS];
	int repaired;
	double repair_median_min, repair_max_min; /* opened to resolved (else mitigated) */
	enum service_verdict verdict;
	/* Filled by tickets_join. */
	struct outage_ticket *joined;
	int n_joined, unticketed, by_customer, by_provider;
};

/* Release also after an error. as_of_ns: a moment up to which is known that no reply
 * came (the end of a watch), or TICKET_NO_TIME; the latest time in the file counts
 * as one too. */
enum status tickets_read(struct tickets *t, const char *path, const struct ticket_options *options,
                         int64_t as_of_ns, struct error *err);
/* Outages that count, each with the first ticket about its node (or about none by
 * name) opened from a quarter of an hour before it to a day after it. */
void tickets_join(struct tickets *t, const struct availability *a);
void tickets_release(struct tickets *t);

#endif
