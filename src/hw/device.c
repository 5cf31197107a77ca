/* What all back ends of assay/device.h share: the names of number formats. */
#include "assay/device.h"

const char *number_format_name(enum number_format format)
{
	static const char *const names[] = {
#define X(name, text, bytes) text,
		NUMBER_FORMAT_LIST(X)
#undef X
	};

	return (unsigned)format < NUMBER_FORMATS ? names[format] : "?";
}

size_t number_format_bytes(enum number_format format)
{
	static const size_t sizes[] = {
#define X(name, text, bytes) bytes,
		NUMBER_FORMAT_LIST(X)
#undef X
	};

	return (unsigned)format < NUMBER_FORMATS ? sizes[format] : 0;
}
