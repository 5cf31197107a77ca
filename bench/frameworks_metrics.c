/* What frameworks measures. Figures of jobs on the CPU have names of their own
 * (cpu_…), so that no rule about cards can be met by them. The last ones, about the
 * cluster, are taken by the run itself from --ordered-at and --scale-log: they are of
 * all nodes together, and no child sees those. */
#include "frameworks.h"

#define ENV(name, unit, better, backend, formula)                                                  \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_ENVIRONMENT, BACKEND_##backend, formula       \
	}
#define LEVEL(name)                                                                                \
	ENV("fw_" name "_level", "text", NEITHER, ANY,                                             \
	    "present, compatible (loads and sees the cards), runs on CPU (function only), runs, "  \
	    "fast (step with all cards no slower than alone / 0.85)")
#define RUNS(name)                                                                                 \
	ENV("fw_" name "_runs", "1", NEITHER, ANY,                                                 \
	    "1 if its smallest distributed job gave the right numbers, else 0"),                   \
		ENV("cpu_fw_" name "_runs", "1", NEITHER, CPU,                                     \
	            "the same with two workers on the CPU: proves function only")
#define STEP(name)                                                                                 \
	ENV("fw_" name "_step_ms", "ms", LOWER, CUDA,                                              \
	    "median time of a step of that job, slowest worker"),                                  \
		ENV("cpu_fw_" name "_step_ms", "ms", LOWER, CPU, "the same on the CPU")

const struct metric fw_metrics[] = {
	ENV("fw_interpreters", "1", NEITHER, ANY, "Python interpreters that answered"),
	LEVEL("pytorch"),
	RUNS("pytorch"),
	STEP("pytorch"),
	LEVEL("tensorflow"),
	RUNS("tensorflow"),
	STEP("tensorflow"),
	LEVEL("deepspeed"),
	RUNS("deepspeed"),
	STEP("deepspeed"),
	LEVEL("megatron"),
	RUNS("megatron"),
	STEP("megatron"),
	LEVEL("horovod"),
	RUNS("horovod"),
	STEP("horovod"),
	LEVEL("mxnet"),
	RUNS("mxnet"),
	ENV("fw_parallel_modes", "1", HIGHER, ANY,
            "of data, tensor and pipeline parallel: how many gave the right numbers"),
	ENV("cpu_fw_parallel_modes", "1", HIGHER, CPU, "the same on the CPU"),
	ENV("fw_mixed_precision_runs", "1", NEITHER, ANY,
            "1 if a BF16 or FP16 step ran and its loss stayed finite, else 0"),
	ENV("cpu_fw_mixed_precision_runs", "1", NEITHER, CPU, "the same on the CPU"),
	ENV("fw_fp8_runs", "1", NEITHER, CUDA,
            "1 if an FP8 product was right; unsupported where card or build have none"),
	ENV("fw_elastic_resume_s", "s", LOWER, CUDA,
            "from the end of a killed worker to the next step of all under torchrun"),
	ENV("cpu_fw_elastic_resume_s", "s", LOWER, CPU, "the same on the CPU"),
	ENV("fw_engine_ratio", "1", HIGHER, CUDA,
            "step time without / with the acceleration engine that the environment switches on: "
            "geometric mean of alternated pairs"),
	ENV("fw_engine_allreduce_ratio", "1", HIGHER, CUDA,
            "the same of an all-reduce of 64 KiB, 4 MiB and 256 MiB, a point each"),
	ENV("fw_manual_steps", "1", LOWER, ANY,
            "steps by hand before the smallest distributed job ran"),
	{"deploy_ready_min", "min", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_ANY,
         "order (--ordered-at) to the first verified distributed step on cards"},
	{"cpu_deploy_ready_min", "min", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_CPU,
         "the same to the first such step on CPUs"},
	{"scale_resized", "1", BETTER_NEITHER, SUBJECT_CLUSTER, BACKEND_ANY,
         "1 if nodes were added and taken away as ordered (--scale-log), else 0"},
	{"scale_out_min", "min", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_ANY,
         "order of a node to its being ready, by --scale-log; median"},
	{"scale_in_min", "min", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_ANY,
         "order to take a node away to its being gone, by --scale-log; median"},
	{"scale_job_survived", "1", BETTER_NEITHER, SUBJECT_CLUSTER, BACKEND_ANY,
         "1 if a training job went on through every change of --scale-log that says, else 0"},
	{0},
};
