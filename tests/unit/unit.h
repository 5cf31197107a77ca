/* What every unit test includes first: cmocka and the headers it needs. */
#ifndef ASSAY_TESTS_UNIT_H
#define ASSAY_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
