/* A customer's profile: read, or refused with its place. */
#include "fuzz.h"
#include "score/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct profile *profile = NULL;
	struct error err = {0};

	if (profile_load(&profile, fuzz_file(data, len), NULL, fuzz_metrics(), &err) == ST_OK)
		profile_free(profile);
	else
		fuzz_promise(err.text.len > 0, "refused without a word");
	error_release(&err);
	return 0;
}
