/* Between the files of the double of libnvidia-ml. */
#ifndef STANDIN_NVML_H
#define STANDIN_NVML_H

#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

#define DECLARE(slot, symbol, need, result, params) EXPORT result symbol params;
NVML_SYMBOLS(DECLARE)
#undef DECLARE

/* Enters for a call about a card; *card NULL on errors. Lost cards answer 15. */
int nvml_enter(const char *call, nvml_device device, struct card **card);
/* The same when the whole body is one assignment. */
#define NVML_GET(call, device, assignment)                                                         \
	do {                                                                                       \
		struct card *card;                                                                 \
		int result = nvml_enter(call, device, &card);                                      \
                                                                                                   \
		if (!result) {                                                                     \
			assignment;                                                                \
		}                                                                                  \
		return machine_leave(result);                                                      \
	} while (0)
/* Virtual time since the process began. */
static inline double nvml_seconds(void)
{
	return (host_now - START_NS) / 1e9;
}
const struct identity *nvml_says(const struct card *card);
int nvml_text(char *to, unsigned size, const char *text);
void nvml_pci_of(const struct card *card, nvml_pci *pci);

#endif
