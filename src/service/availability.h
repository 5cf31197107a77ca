/* Availability from heartbeat logs: how long the nodes were up, what may be claimed
 * from it, and what is missing for a claim. Times are exact, not counted in whole
 * minutes; only contracts' rounding of an outage (a part minute is one) is given
 * beside.
 *
 *   A_node = up / (up + degraded + down), over all nodes; a pair of bounds with the
 *   unknown time as down and as up. What the buyer's own list calls planned or his
 *   own doing is left out of it and shown apart.
 *   A_all  = time in which all nodes were up / observed time.
 *
 * Outages that begin on two nodes or more within two minutes have a common cause:
 * more nodes do not help against those, so they are counted by the calendar. */
#ifndef ASSAY_SERVICE_AVAILABILITY_H
#define ASSAY_SERVICE_AVAILABILITY_H

#include "base/arena.h"
#include "service/causes.h"
#include "service/timeline.h"

#define AVAILABILITY_TARGET 0.999
#define AVAILABILITY_DAYS   30
/* Length of an outage where none was seen, when no repair time is agreed. */
#define AVAILABILITY_REPAIR_MIN 120
/* More unknown time than this leaves 99.9 % open. */
#define AVAILABILITY_UNKNOWN_MOST 0.0002
#define COMMON_WITHIN_NS          (120LL * 1000000000)

struct availability_options {
	double target;      /* 0 to 1, exclusive */
	double days;        /* the period that is promised for */
	double repair_min;  /* assumed length of an outage that was never seen */
	const char *causes; /* file, or NULL */
};

struct outage {
	int node; /* index in availability.nodes */
	int64_t from_ns, to_ns;
	enum cause cause;
	int common; /* number of the event that hit several nodes, from 1; 0: alone */
};

struct node_time {
	const char *name;
	struct spans spans; /* joined, without holes */
	/* Seconds that count. */
	double up_s, degraded_s, down_s, unknown_s;
	/* Lost, but not held against the vendor. */
	double planned_s, customer_s;
	double not_rented_s;
	int outages, blips, steps, boots;
	int64_t lost_beats;
	double boot_down_s;  /* of down_s, as far as nobody looked from outside: another boot is
	                       all that tells of it */
	bool agent, outside; /* who looked */
};

enum service_verdict { SERVICE_MET, SERVICE_MISSED, SERVICE_TOO_SHORT };

struct availability {
	struct arena arena;
	struct availability_options options;
	struct causes causes;
	struct node_time *nodes; /* by name */
	int n_nodes;
	int64_t first_ns, last_ns; /* of the whole watch */
	double period_s;           /* longest of the logs: shorter outages can be missed */
	const char *const *notes;  /* torn lines and the like, ready sentences */
	int n_notes;

	double up_s, degraded_s, down_s, unknown_s, planned_s, customer_s;
	double a_node, a_node_low, a_node_high; /* NaN: no time that counts */
	double a_contract;                      /* degraded is up */
	double a_all_in;                        /* planned and own minutes as lost */
	double a_all, a_all_high;               /* all nodes up; unknown as up */
	double unknown_share;

	struct outage *outages; /* by time; planned and customer ones too */
	int n_outages;
	int alone;          /* that count and have no common cause */
	int common;         /* events that hit several nodes */
	double alone_min;   /* mean length; NaN: none seen */
	double common_min;  /* longest outage of each event, mean; NaN */
	double assumed_min; /* what was taken: alone_min or options.repair_min */
	double node_days;   /* of time that counts and is known */
	double calendar_days;
	/* Of availability, by outages without a common cause: two-sided 95 % interval, and
	 * the one-sided 95 % bound. */
	double low95, high95, bound95;
	double low95_common; /* bound by the calendar, events with a common cause; NaN: one node */
	double confidence, confidence_common;
	double needed_days, missing_days; /* node-days at 95 % */
	double missing_calendar_days;     /* likewise for common causes */
	enum service_verdict verdict;
	bool open_unknown; /* TOO_SHORT because too much is unknown */
	bool already;      /* MISSED before the period is over: the whole budget is spent */
};

/* Each path is a directory with logs or one log. Release also after an error. */
enum status availability_read(struct availability *a, const char *const *paths, int n_paths,
                              const struct availability_options *options, struct error *err);
void availability_release(struct availability *a);

/* Of one node: kept or broken by the same rules, for its own time. */
enum service_verdict availability_of_node(const struct availability *a, const struct node_time *n);

/* Whole minutes as contracts count an outage. */
int64_t outage_minutes(const struct outage *o);

#endif
