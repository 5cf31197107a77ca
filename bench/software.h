/* Between the parts of the probe `software`: what was found on a node's disks by
 * reading, never by importing, loading or starting anything of it.
 *
 * All paths are below scan->root ("" on a real machine) and kept without it. All
 * that is found lives in the arena of the context. Unknown is NULL. */
#ifndef ASSAY_BENCH_SOFTWARE_H
#define ASSAY_BENCH_SOFTWARE_H

#include <sys/stat.h>

#include "assay/probe.h"
#include "base/arena.h"
#include "base/json.h"
#include "hw/host.h"

/* --- software_files.c: bounded reading ----------------------------------------- */

enum sw_source { SW_WHEEL, SW_EGG, SW_CONDA, SW_DEB, SW_RPM };

#define SW_ANY    (-1)
#define SW_SYSTEM (-2) /* of the distribution: deb or rpm */

struct sw_package {
	enum sw_source source;
	const char *name;    /* lower case, '-' for '_' and '.': torch, nvidia-nccl-cu12 */
	const char *version; /* NULL: it does not say */
	const char *build;   /* conda's, or NULL */
	const char *dir;     /* site directory, or environment of conda */
	const char *info;    /* its own metadata: file or directory */
	const char *fault;   /* what is wrong with the metadata, or NULL */
};

enum sw_place_kind { SW_SITE, SW_ENV };

/* A directory of packages, each once whatever links lead to it. */
struct sw_place {
	enum sw_place_kind kind;
	const char *path;
	dev_t device;
	ino_t inode;
};

struct sw_text_list {
	const char **item;
	int count, cap;
};

struct sw_scan {
	struct probe_ctx *ctx;
	struct arena *arena;
	const char *root;
	int64_t until_ns; /* on the clock of the context */
	bool cut;         /* time or room was up before the end */
	struct sw_package *packages;
	int n_packages, cap_packages;
	struct sw_place *places;
	int n_places, cap_places;
	struct sw_place *prefixes; /* of Python, looked through already */
	int n_prefixes, cap_prefixes;
	struct sw_text_list interpreters; /* paths */
	struct sw_text_list unreadable;   /* "path: why" */
	struct sw_text_list twice;        /* "name 1.0 and 1.1 in DIR" */
	struct sw_text_list of_assay;     /* packages that Assay had installed, left out */
	const char *const *library_dirs;  /* once asked for */
	const char *environment;          /* NUL-separated, ends with an empty one */
};

/* First `limit` bytes of a regular file; false: unreadable, or no such. Never waits:
 * a FIFO or device in the place of a file is not opened for reading. */
bool sw_read(struct sw_scan *s, struct str *out, const char *path, size_t limit);
/* First line without blanks at its ends, or NULL. */
const char *sw_line(struct sw_scan *s, const char *path);
bool sw_stat(struct sw_scan *s, const char *path, struct stat *at);
bool sw_there(struct sw_scan *s, const char *path);
/* Names in a directory without dot files, sorted, NULL-terminated, never NULL. What
 * exists and cannot be read is noted as unreadable. */
const char *const *sw_names(struct sw_scan *s, const char *dir);
/* Whether time or room is up; asked in loops over packages. */
bool sw_late(struct sw_scan *s);
const char *sw_env(const struct sw_scan *s, const char *name); /* or NULL */
void sw_add_text(struct sw_scan *s, struct sw_text_list *list, const char *text);
struct sw_package *sw_add_package(struct sw_scan *s, enum sw_source source);
/* Room for one more of `size` bytes; returns the array, moved if need be. */
void *sw_grow(struct arena *arena, void *items, int count, int *cap, size_t size);
/* PEP 503 form of a name. */
const char *sw_normal(struct arena *arena, const char *name, size_t len);
/* Value of a "Key: value" line before the first empty line, or NULL. */
const char *sw_header(struct arena *arena, const char *text, const char *key);
/* What is quoted by ' or " first after the word, on the same line; or NULL. */
const char *sw_quoted(struct arena *arena, const char *text, const char *word);
/* Compares dotted numbers: "12.4" < "12.10"; letters end a version. */
int sw_version_compare(const char *a, const char *b);
/* "12.4" -> 12; -1: no number. */
int sw_major(const char *version);
/* A piece of a file; `at` is NULL where it would reach beyond. */
struct sw_bytes {
	const unsigned char *at;
	size_t n;
};
struct sw_bytes sw_part(struct sw_bytes b, size_t at, size_t n);
/* Little-endian number of up to 8 bytes; 0 where it would reach beyond. */
uint64_t sw_le(struct sw_bytes b, size_t at, int count);
/* Writes the list as an array of texts, at most `most` of them, and "KEY_count". */
void sw_put_list(struct json_out *j, const char *key, const struct sw_text_list *list, int most);

/* --- software_python.c, software_system.c: finding packages ----------------------- */

void sw_find_python(struct sw_scan *s);
void sw_find_deb(struct sw_scan *s);
/* software_rpm.c */
void sw_find_rpm(struct sw_scan *s);
/* By name, of one source, SW_ANY or SW_SYSTEM, after `from` (NULL: the first); or NULL. */
const struct sw_package *sw_package_find(const struct sw_scan *s, const char *name, int source,
                                         const struct sw_package *from);

/* --- software_elf.c: libraries without loading them -------------------------------- */

struct sw_elf {
	const char *soname;        /* or NULL */
	const char *build_id;      /* hex digits, or NULL */
	const char *const *needed; /* NULL-terminated */
	const char *strings;       /* .dynstr, for names of symbols; NULL: none */
	size_t strings_len;
	int64_t rodata_at, rodata_len; /* in the file; 0: not known */
};

/* false: no readable 64-bit ELF file of this byte order. */
bool sw_elf_read(struct sw_scan *s, struct sw_elf *elf, const char *path);
bool sw_elf_needs(const struct sw_elf *elf, const char *soname);
/* Highest N of symbols named PREFIX<N>, 0: none. */
int sw_elf_highest(const struct sw_elf *elf, const char *prefix);
/* "2.21.5" from the banner "NCCL version 2.21.5+cuda12.4"; NULL: not in the file. */
const char *sw_nccl_version(struct sw_scan *s, const char *path, const struct sw_elf *elf);
/* "build-id:…" or "sha256:…" of up to 64 MiB, or "bytes:…"; NULL: unreadable. */
const char *sw_identity(struct sw_scan *s, const char *path);

/* --- software_frameworks.c ---------------------------------------------------------- */

struct sw_copy {
	const struct sw_package *package; /* NULL: a source tree at `dir` */
	const char *version, *dir, *installer;
	const char *cuda;             /* "12.4"; "none": built for the CPU; NULL: not told */
	const char *other;            /* ROCm version, or NULL */
	const char *nccl, *nccl_from; /* version and where from: path, or "inside …" */
	const char *nccl_wanted;      /* what its metadata pins, or NULL */
	const char *capabilities;     /* card architectures it says it has, or NULL */
	const char *fault;            /* why it cannot work, or NULL */
};

struct sw_framework {
	const char *metric, *title;
	bool required;          /* counts as to be pre-installed */
	struct sw_copy *copies; /* the one that is used first of its place */
	int n_copies;
	bool compatible;   /* one of them fits on paper */
	const char *unfit; /* why not, or NULL: nothing known against it */
};

#define SW_FRAMEWORKS 7
void sw_find_frameworks(struct sw_scan *s, struct sw_framework list[SW_FRAMEWORKS]);

/* --- software_system.c: drivers, helpers, scheduler ----------------------------------- */

struct sw_item {
	const char *name;    /* "kernel_driver", "libcuda" … */
	const char *version; /* NULL: there, version unknown */
	const char *where;   /* path, package or unit */
	bool there;
};

struct sw_system {
	struct host_nvidia nvidia;
	bool contained; /* the host's processes and packages are not to be seen */
	struct sw_item *items;
	int n_items, cap_items;
	const char *driver, *libcuda, *libcuda_path, *compat; /* of libcuda: cuda-compat's */
	const char *fabric_manager; /* version; "" there without one; NULL: not there */
	const char *capability;     /* compute capability of the cards, "9.0"; NULL: not known */
	const char *scheduler;      /* "Slurm 23.02 (gres gpu)", or NULL */
	struct sw_text_list images, runtimes;
	struct sw_text_list unread; /* "path: why" of stores of images */
};

void sw_find_system(struct sw_scan *s, struct sw_system *sys);
const struct sw_item *sw_item_find(const struct sw_system *sys, const char *name);
/* software_images.c: images at hand, with what their configuration tells of versions. */
void sw_find_images(struct sw_scan *s, struct sw_system *sys);

struct sw_named {
	const char *name, *digest; /* "sha256:…" of a manifest or a list of them */
};
struct sw_named_list {
	struct sw_named *item;
	int count, cap;
};
/* software_bolt.c: the names that containerd's data base gives to images; false: it
 * cannot be read, or not all of it is sound. */
bool sw_bolt_images(struct sw_scan *s, const char *path, struct sw_named_list *out);
/* software_hosted.c: scheduler, container runtimes and images. */
void sw_find_hosted(struct sw_scan *s, struct sw_system *sys);
bool sw_process_runs(struct sw_scan *s, const char *name);
struct sw_item *sw_add_item(struct sw_scan *s, struct sw_system *sys, const char *name,
                            const char *version, const char *where);

/* --- software_engines.c ------------------------------------------------------------------ */

struct sw_engine {
	const char *name, *owner;
	const char *sign; /* the package, tree or variable it was known by */
	bool loaded;      /* the environment or the linker's path has NCCL take it */
	const char *how;  /* why it is said to be loaded, or NULL */
};

struct sw_plugin {
	const char *path, *kind; /* "net", "tuner" … */
	const char *soname;
	int version; /* of its interface, 0: not told */
	bool loaded;
	const char *how;
};

struct sw_engines {
	struct sw_engine *engines;
	int n_engines, cap_engines;
	struct sw_plugin *plugins;
	int n_plugins, cap_plugins;
	struct sw_text_list settings; /* NCCL_… of environment and nccl.conf */
};

void sw_find_engines(struct sw_scan *s, struct sw_engines *e);
/* Directories of LD_LIBRARY_PATH, then those the linker looks in by itself. */
const char *const *sw_library_dirs(struct sw_scan *s);

/* --- software_fit.c ------------------------------------------------------------------------ */

struct sw_problem {
	enum msg id;
	const char *args[5]; /* ends with NULL */
};

struct sw_fit {
	struct sw_problem *problems;
	int n_problems, cap_problems;
};

/* Judges the frameworks' copies too: compatible, unfit. */
void sw_judge_fit(struct sw_scan *s, const struct sw_system *sys, struct sw_framework *frameworks,
                  struct sw_fit *fit);

/* --- software_fingerprint.c ------------------------------------------------------------------ */

#define SW_PARTS 8
struct sw_part {
	const char *metric; /* sw_part_kernel … */
	const char *key;    /* in the document */
	const char *text;   /* canonical JSON */
	const char *digest; /* first 16 digits */
};

struct sw_fingerprint {
	struct sw_part parts[SW_PARTS];
	const char *text; /* the whole document, canonical: keys sorted, one line a member */
	const char *sha256;
	const char *image; /* digest of what all nodes of a cluster must have alike */
};

void sw_fingerprint_make(struct sw_scan *s, const struct sw_system *sys,
                         const struct sw_framework *frameworks, const struct sw_engines *engines,
                         struct sw_fingerprint *out);
/* Whether a name says that its value is nobody's business: …password…, …token… */
bool sw_is_secret(const char *name, size_t len);
/* Mount options that change behaviour and name nobody, sorted. */
const char *sw_mount_options(struct arena *arena, const char *options);

/* --- software_since.c ------------------------------------------------------------------------- */

/* Share of required frameworks and the driver that are older than the first use. */
enum status sw_emit_preinstalled(struct sw_scan *s, const struct sw_system *sys,
                                 const struct sw_framework *frameworks);
struct reading sw_reading(struct probe_ctx *ctx, const char *metric);

#endif
