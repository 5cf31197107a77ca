/* A build without infiniband/verbs.h: it says so and does nothing else. The source is
 * compiled here once more, without what switches it on. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "hw/verbs.h"

static void nothing_opens_and_it_says_why(void **state)
{
	struct arena arena = {0};
	struct verbs verbs;
	struct verbs_device *dev;
	struct verbs_done done;
	struct error err = {0};

	(void)state;
	assert_int_equal(verbs_open(&verbs, &arena, NULL, &err), ST_UNSUPPORTED);
	assert_non_null(strstr(err.text.data, "libibverbs-dev"));
	error_release(&err);
	assert_int_equal(verbs_device_open(&dev, &verbs, &arena, "mlx5_0", 1, &err),
	                 ST_UNSUPPORTED);
	assert_null(dev);
	error_release(&err);
	verbs_device_close(dev);
	assert_int_equal(verbs_post(dev, &(struct verbs_work){0}), ENOSYS);
	assert_true(verbs_poll(dev, &done, 1) < 0);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_opens_and_it_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
