/* A device that computes: a CPU socket now, a GPU later. Sampling, statistics
 * and checks of gemm and membw are written against this and run the same on
 * every back end.
 *
 * Ownership: a device owns its buffers; close() frees them and the device.
 * Times are taken by the device's own means (events; for a CPU the clock it
 * was opened with) around exactly the work asked for. A device is used by one
 * thread at a time. */
#ifndef ASSAY_DEVICE_H
#define ASSAY_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/status.h"

struct device;
struct error;

/* What the elements are and how products are computed. */
#define NUMBER_FORMAT_LIST(X)                                                                      \
	X(FP64, "fp64", 8)                                                                         \
	X(FP32, "fp32", 4)                                                                         \
	X(TF32, "tf32", 4)                                                                         \
	X(FP16, "fp16", 2)                                                                         \
	X(BF16, "bf16", 2)                                                                         \
	X(FP8, "fp8", 1)

enum number_format {
#define X(name, text, bytes) NUMBER_##name,
	NUMBER_FORMAT_LIST(X)
#undef X
		NUMBER_FORMATS
};

struct device_info {
	const char *id;      /* card UUID, or cpu-socket-0 */
	const char *name;    /* model */
	const char *library; /* what multiplies: "openblas"; NULL: none loaded */
	const char *library_version;
	const char *library_path;
	int units;           /* cores, or SMs */
	int threads;         /* that work; 0 where it means nothing */
	int64_t memory_free; /* bytes; -1: unknown */
	int64_t cache_bytes; /* last-level; 0: unknown */
};

/* Device memory. `data` is an address of the device. */
struct device_buffer {
	void *data;
	size_t bytes;
};

/* C = A B, row-major without gaps: A m x k, B k x n, C m x n. FP8 differs, as
 * cards want it: B is stored transposed, n x k, and C is BF16. */
struct device_gemm {
	enum number_format format;
	int m, n, k;
	const struct device_buffer *a, *b;
	struct device_buffer *c;
};

/* a[i] = b[i] + scalar * c[i] over n doubles. */
struct device_triad {
	struct device_buffer *a, *b, *c;
	size_t n;
	double scalar;
};

struct device_ops {
	void (*close)(struct device *dev);
	/* Memory placed where the device works on it. ST_NOMEM: not that much. */
	enum status (*alloc)(struct device *dev, struct device_buffer *out, size_t bytes,
	                     struct error *err);
	void (*release)(struct device *dev, struct device_buffer *buffer);
	enum status (*write)(struct device *dev, struct device_buffer *to, size_t offset,
	                     const void *from, size_t bytes, struct error *err);
	enum status (*read)(struct device *dev, const struct device_buffer *from, size_t offset,
	                    void *to, size_t bytes, struct error *err);
	bool (*can_gemm)(struct device *dev, enum number_format format);
	/* `reps` calls back to back; *seconds for all of them. */
	enum status (*gemm)(struct device *dev, const struct device_gemm *job, int reps,
	                    double *seconds, struct error *err);
	/* Sets b[i] = i mod 1024, c[i] = i mod 509 and poisons a with NaN. */
	enum status (*triad_fill)(struct device *dev, const struct device_triad *job,
	                          struct error *err);
	enum status (*triad)(struct device *dev, const struct device_triad *job, int reps,
	                     double *seconds, struct error *err);
	/* Counts elements of a that are not i mod 1024 + scalar * (i mod 509). */
	enum status (*triad_check)(struct device *dev, const struct device_triad *job,
	                           int64_t *wrong, struct error *err);
};

/* Back ends put their own struct around this one. */
struct device {
	const struct device_ops *ops;
	struct device_info info;
};

/* "fp32", and bytes of one element. */
const char *number_format_name(enum number_format format);
size_t number_format_bytes(enum number_format format);
/* What the elements of C are: BF16 for FP8, else the same. */
enum number_format number_format_result(enum number_format format);
/* n elements as doubles, exactly; FP8 is E4M3, TF32 is stored as FP32. */
void number_format_decode(enum number_format format, const void *from, double *to, size_t n);

#endif
