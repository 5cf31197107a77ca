/* The run directory: run.json says what was asked and where, readings.jsonl
 * what came of it. */
#ifndef ASSAY_RUN_H
#define ASSAY_RUN_H

#include <stdbool.h>
#include <stdint.h>

/* run.json; written once, before the first reading. All strings in UTC/UTF-8. */
struct run_info {
	const char *id;             /* 16 hex digits, random */
	const char *created;        /* RFC 3339 */
	const char *version;        /* of Assay */
	const char *build;          /* compiler, options, commit */
	const char *host;           /* where it was started */
	const char *command;        /* as typed, one line */
	const char *vendor;         /* --vendor, or NULL */
	const char *profile;        /* name or file as given; NULL: none */
	const char *profile_sha256; /* of the profile with all it extends, canonical */
	const char *budget;         /* quick | standard | soak */
	const char *seed;           /* 16 hex digits */
	int64_t expected_nodes;     /* --nodes; 1 on a single node without it */
	int64_t expected_cards;     /* --cards: per node; -1: not stated */
	const char *const *storage; /* --storage paths */
	int n_storage;
	const char *const *only; /* --only / --skip as given */
	int n_only;
	const char *const *skip;
	int n_skip;
	const char *const *settings; /* --set and --storage-size, as probe.key=value */
	int n_settings;
	const char *const *waive; /* --waive as given, "rule" or "rule,subject" */
	int n_waive;
	const char *const *reasons; /* --reason, one for each */
	int n_reasons;
	const char *waived_by; /* --waived-by, or NULL */
};

#endif
