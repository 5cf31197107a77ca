/* The journal writer: appends finished lines to readings.jsonl, adds seq and
 * the digest of the line before, and fsyncs in groups: every second and at
 * phase ends, in a thread of its own. Each line is handed to the kernel at
 * once, so that it survives the death of assay, and a full disk is reported
 * for the very line that did not fit. One writer per file, held by a lock.
 *
 * Line 1 is {"kind":"start","v":1,"time":…,"run_sha256":…}, the last
 * {"kind":"end","time":…,"readings":n}; a resume adds
 * {"kind":"resume","time":…,"version":…,"dropped_bytes":n}; finished work
 * {"kind":"work","time":…,"work":"…","state":"done"}. Lines whose first member
 * is not "kind" are readings. Every line but the first carries seq (the number
 * of lines before it) and prev as its last two members. */
#ifndef ASSAY_RUN_JOURNAL_H
#define ASSAY_RUN_JOURNAL_H

#include <stdint.h>

#include "assay/reading.h"
#include "assay/run.h"
#include "base/error.h"

struct arena;
struct journal;

/* A line of a reading is at most this long; what is larger belongs into raw/. */
#define JOURNAL_LINE_MAX ((size_t)1 << 20)

/* Makes the directory (it may exist and be empty; anything else in it is
 * ST_EXISTS), raw/, the journal with its start line, and at last run.json: a
 * directory that has one is a whole run. On failure nothing of it stays. */
enum status journal_create(struct journal **out, const char *dir, const struct run_info *info,
                           struct error *err);
/* Reopens a cut or ended journal for --resume: drops a torn last line, checks
 * the chain (ST_CORRUPT), adds the resume line. Refuses a version or profile
 * other than run.json's (ST_USAGE), and a journal that is being written
 * (ST_EXISTS). */
enum status journal_resume(struct journal **out, const char *dir, const char *version,
                           const char *profile_sha256, struct error *err);

/* Appends one finished line (a JSON object without newline, seq and prev).
 * The frame is checked (ST_PARSE, ST_RANGE), nothing reparsed. ST_NOSPACE or
 * ST_IO: nothing of the line counts, the journal stays readable, and later
 * appends work once there is space. Thread-safe. SIGXFSZ must be ignored by
 * the process for a file size limit to be an error and not its end. */
enum status journal_append(struct journal *j, const char *line, size_t len, struct error *err);
enum status journal_work_done(struct journal *j, const char *work, struct error *err);
/* Waits until all appended so far is on disk (phase ends). A failed fsync is
 * reported by every later sync and by close: what it lost is not known. */
enum status journal_sync(struct journal *j, struct error *err);
/* End line, sync, close; copies the head digest (64 hex digits + NUL). `cut`:
 * close without an end line (a signal ended the run). Frees j in any case. */
enum status journal_close(struct journal *j, bool cut, char digest[65], struct error *err);

/* One reading as a line, without seq, prev and newline. `params` must be a
 * JSON object; `point` is added to it where it is not there yet. */
void reading_format(struct str *out, const struct reading *r);
/* The other way; strings from the arena. On failure *why (may be NULL) says
 * what is wrong: a short-lived text. */
enum status reading_parse(struct reading *r, struct arena *arena, const char *line, size_t len,
                          const char **why);

/* Units of work: the id (12 hex digits) of (phase, probe, subject, canonical
 * parameters as "name=value;…" sorted by name). NULL counts as "". */
void work_id(char id[13], const char *phase, const char *probe, const char *subject,
             const char *params);

struct rundir;
/* Whether --resume must run this unit (again): no done line, or one of its
 * readings is not_measured or lost and was not replaced since. *attempt: the
 * number its readings get. `run` comes from rundir_open; not thread-safe. */
bool work_is_open(const struct rundir *run, const char *work, int *attempt);

#endif
