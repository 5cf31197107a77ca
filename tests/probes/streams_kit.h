/* What the tests of the probes that move files in streams share: a fio made of
 * shell that really writes its files and says it took a second, so that every
 * figure is known, and ways to spoil what it does. */
#ifndef ASSAY_TESTS_STREAMS_KIT_H
#define ASSAY_TESTS_STREAMS_KIT_H

#include "storage_kit.h"

#include <math.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#define TMPFS 0x01021994

/* $rw, $size (of a thread), $jobs, $stem, $direct; $at: trial, write or read. */
#define MADE_ARGS                                                                                  \
	"jobs=1; stem=; for a; do case $a in --rw=*) rw=${a#*=};; --size=*) size=${a#*=};; "       \
	"--numjobs=*) jobs=${a#*=};; --direct=*) direct=${a#*=};; "                                \
	"--filename_format=*) stem=${a#*=}; stem=${stem%%.*};; "                                   \
	"--filename=*) stem=${a#*=};; --bs=*) bs=${a#*=};; esac; done; "                           \
	"way=read; [ $rw = write ] && way=write; at=$way; [ \"$stem\" = trial ] && at=trial; "     \
	"ms=1000; "
#define MADE_FILES                                                                                 \
	"i=0; while [ $way = write ] && [ $i -lt $jobs ]; do head -c $size /dev/urandom "          \
	">$stem.$i.0; i=$((i+1)); done; "
/* $size of each thread in $ms milliseconds. */
#define MADE_RESULT                                                                                \
	"b=$((size*jobs)); n=$((b/bs)); printf '{\\n\"fio version\":\"fio-3.33\",\"jobs\":[{"      \
	"\"jobname\":\"assay\",\"error\":0,\"usr_cpu\":1.5,\"sys_cpu\":2.5,"                       \
	"\"iodepth_level\":{\"4\":100.0},\"%s\":{\"io_bytes\":%d,\"io_kbytes\":%d,"                \
	"\"bw_bytes\":%d,\"iops\":%d,\"runtime\":%d,\"total_ios\":%d,\"lat_ns\":{\"N\":%d,"        \
	"\"min\":1000,\"max\":3000,\"mean\":2000.0,\"stddev\":1.0}}}]}\\n' $way $b "               \
	"$((b/1024)) $((b*1000/ms)) $((n*1000/ms)) $ms $n $n"
#define MADE(spoil) MADE_ARGS MADE_FILES spoil MADE_RESULT

/* Another probe than set_up's. */
static inline void take_probe(struct place *p, const struct probe *probe)
{
	harness_release(&p->h);
	harness_init(&p->h, probe);
	p->h.ctx.scratch = p->scratch;
	p->h.ctx.subject_id = "/mnt/named";
}

/* Every metric of a named path but those in `said` has one reading, of this kind. */
static inline void expect_others(const struct harness *h, enum outcome outcome, const char *code,
                                 const char *said)
{
	int n = 0;

	for (const struct metric *m = h->ctx.probe->metrics; m->name; m++) {
		if (m->backend != BACKEND_ANY)
			continue;
		n++;
		if (!said || !strstr(said, m->name))
			harness_expect(h, m->name, outcome, code);
	}
	assert_int_equal(h->n_readings, n);
}

/* A file system of 64 MiB in a mount namespace of our own, in the scratch directory. */
static inline bool mount_little(struct place *p)
{
	const char *image = arena_strf(&p->h.arena, "%s/image", p->bin);
	bool ok;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	setenv("LITTLE", p->scratch, 1);
	ok = system(arena_strf(&p->h.arena,
	                       "{ truncate -s 64M %s && mkfs.ext4 -q -F %s && mount -o loop %s "
	                       "\"$LITTLE\"; } 2>/dev/null",
	                       image, image, image)) == 0;
	unlink(image);
	return ok;
}

/* What no probe of storage takes: no fio, no directory, no path, memory, no room. */
static inline void refuse_what_is_no_storage(struct place *p)
{
	struct statfs info;
	struct support s;

	fake_fio(p, IS_FIO, MADE(""));
	p->h.ctx.scratch = NULL;
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_no_scratch", NULL);
	harness_clear(&p->h);
	p->h.ctx.scratch = "/nonexistent/scratch";
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_unreadable", NULL);
	if (statfs("/dev/shm", &info) == 0 && info.f_type == TMPFS) {
		harness_clear(&p->h);
		p->h.ctx.scratch = "/dev/shm";
		harness_run(&p->h, ST_OK);
		expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_ram", NULL);
	}
	p->h.ctx.scratch = p->scratch;
	assert_true(p->h.ctx.probe->supported(&p->h.ctx).yes);
	assert_true(p->h.ctx.probe->try_run(&p->h.ctx).yes);
	assert_int_equal(unlink(arena_strf(&p->h.arena, "%s/fio", p->bin)), 0);
	harness_clear(&p->h);
	harness_run(&p->h, ST_OK);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "fio_missing", NULL);
	s = p->h.ctx.probe->try_run(&p->h.ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "fio_missing");
}

static inline void refuse_too_little_space(struct place *p)
{
	if (!mount_little(p)) {
		print_message("a small file system cannot be mounted here\n");
		skip();
	}
	fake_fio(p, IS_FIO, MADE(""));
	harness_run(&p->h, ST_OK);
	umount2(p->scratch, MNT_DETACH);
	expect_others(&p->h, OUTCOME_NOT_MEASURED, "storage_free", NULL);
}

#endif
