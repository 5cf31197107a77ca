/* libnvidia-ml: what the driver says of its cards. Old drivers lack functions
 * and give the same answers in other shapes, so what has more than one form is
 * asked through the functions below; all else through NVML_ASK.
 *
 * Answers are NVML's own codes: "not supported" and "no permission" are
 * different readings, and neither is a zero. A function the driver does not
 * have answers NVML_FUNCTION_NOT_FOUND. Only a fresh child may start it. */
#ifndef ASSAY_HW_NVML_H
#define ASSAY_HW_NVML_H

#include "hw/gpu_lib.h"

struct nvml {
	struct library lib;
	struct nvml_calls call;
	const char *driver; /* 580.95.05, after nvml_start */
	int count;          /* cards the driver lists, readable or not */
};

/* The answer of a slot that may be absent: NVML_ASK(nvml, power, dev, &mw). */
#define NVML_ASK(nvml, slot, ...)                                                                  \
	((nvml)->call.slot ? (nvml)->call.slot(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

enum status nvml_open(struct nvml *nvml, struct arena *arena, const struct gpu_search *where,
                      struct error *err);
/* Starts it; its version and the driver's; the number of cards, 0 is no error. */
enum status nvml_start(struct nvml *nvml, struct arena *arena, struct error *err);

/* ST_OK for NVML_OK; else err by cause. `call` is the function's name. */
enum status nvml_check(const struct nvml *nvml, nvml_result code, const char *call,
                       struct error *err);
const struct gpu_cause *nvml_cause(nvml_result code);

/* Who a card is. What an optional function does not tell is NULL or -1. */
struct nvml_card {
	int index; /* NVML's, not CUDA's */
	nvml_device device;
	const char *name, *uuid;
	const char *pci; /* 0000:17:00.0 */
	unsigned device_id, subsystem_id;
	const char *serial, *vbios, *gsp;
	int minor_number; /* of /dev/nvidiaN */
	int major, minor; /* compute capability */
	int cores, bus_bits;
};

/* An error is about this card: a lost one (15) does not hide the others. */
enum status nvml_card_read(const struct nvml *nvml, struct arena *arena, int index,
                           struct nvml_card *card, struct error *err);

/* Bytes. The older form of the question does not tell `reserved`: -1. */
struct nvml_memory_use {
	int64_t total, used, free, reserved;
};
nvml_result nvml_memory_read(const struct nvml *nvml, nvml_device device,
                             struct nvml_memory_use *use);

/* Why clocks are below the highest: NVML_REASON_* bits. Compare bit by bit. */
nvml_result nvml_reasons(const struct nvml *nvml, nvml_device device, unsigned long long *mask);

/* Degrees of the GPU. */
nvml_result nvml_temperature_read(const struct nvml *nvml, nvml_device device, int *celsius);

/* One field as a whole number; scope is a link, NVML_ALL_LINKS, or 0. */
nvml_result nvml_field_read(const struct nvml *nvml, nvml_device device, unsigned id,
                            unsigned scope, int64_t *value);

/* Time in all that power and heat have held clocks down, ns. Not supported
 * by itself is no fault: the other may be told. */
nvml_result nvml_power_held(const struct nvml *nvml, nvml_device device, int64_t *ns);
nvml_result nvml_heat_held(const struct nvml *nvml, nvml_device device, int64_t *ns);

/* Number of NVLinks the card has, up or not; 0 only when the driver says so. */
nvml_result nvml_links(const struct nvml *nvml, nvml_device device, int *count);

/* The fabric's state in the newest form the driver knows; `version` says which
 * members hold: 1 to state, 2 to health_mask, 3 all. */
nvml_result nvml_fabric_read(const struct nvml *nvml, nvml_device device, nvml_fabric *fabric,
                             int *version);

/* Compute processes on a card. */
struct nvml_user {
	unsigned pid;       /* of the host: in a container a number unknown there */
	int64_t used_bytes; /* -1: not told */
};
/* Drivers write entries of 16, 24 or 32 bytes whatever the version of the
 * function says, so the size is measured from what they wrote; an answer that
 * fits no size is NVML_VERSION_MISMATCH. */
nvml_result nvml_processes(const struct nvml *nvml, struct arena *arena, nvml_device device,
                           struct nvml_user **users, int *count);

#endif
