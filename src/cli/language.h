/* Which language a person at this terminal reads: --lang, else the locale. */
#ifndef ASSAY_CLI_LANGUAGE_H
#define ASSAY_CLI_LANGUAGE_H

#include <stdbool.h>

#include "base/msg.h"

/* Sets the locale's character set and msg_reader from the environment and the
 * command line. True where Chinese was asked for with --lang and this terminal
 * cannot show it: English is read then, and one line should say so. */
bool language_choose(int argc, char *const *argv);

/* What a report is written in: what this terminal can show; in files that are
 * UTF-8 in any case what was asked for; English in those for machines. */
enum language language_of_report(const char *format);

/* The choice by the variables alone; get is getenv or its double. */
enum language language_of_locale(char *(*get)(const char *name));

#endif
