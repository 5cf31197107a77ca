/* Four children of the probe patterns on one machine, with its own libibverbs and
 * devices; prints what the first said:
 *
 *	patterns_four [NAME=VALUE...] */
#include "tests/probes/company_kit.h"
#include "tests/vm/print_readings.h"

extern const struct probe probe_patterns;

int main(int argc, char **argv)
{
	struct company *c = malloc(sizeof(*c));

	if (!c)
		return 1;
	company_init(c, &probe_patterns, COMPANY_MOST, "*");
	for (int i = 1; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return 3;
		*equals = '\0';
		company_set(c, argv[i], equals + 1);
	}
	company_run(c);
	print_readings(&c->all[0].h);
	company_release(c);
	free(c);
	return 0;
}
