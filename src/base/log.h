/* Lines for the person at the terminal while something runs: warnings and
 * notes on stderr, one voice, never into a report. Repeated texts are said
 * once with a count at the end. */
#ifndef ASSAY_BASE_LOG_H
#define ASSAY_BASE_LOG_H

#include "base/msg.h"

void log_list(enum msg id, const char *const *args);
#define log_note(id, ...) log_list(id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
/* Says how often a suppressed text came, and forgets all. */
void log_flush(void);

#endif
