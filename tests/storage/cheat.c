/* A storage that cheats in one planted way, for the tests of the storage probe: a
 * FUSE file system that passes everything on to a directory, slowed down to a
 * speed of our choosing, but for the trick named by -o mode=. What an acceptance
 * test must find can only be trusted when it was found where it surely was.
 *
 *   cheat DIRECTORY MOUNTPOINT -o mode=honest,delay_us=2000,channels=8 [-f]
 *
 * A read takes delay_us, one that the trick makes fast hit_us, and so many channels
 * work at once: times that sleep are the same on a busy machine.
 * It says nothing unless something is wrong, and ends by SIGTERM or unmounting. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define BLOCK       4096
#define MAX_THREADS 300
/* Of a file that is small enough to be no test data. */
#define SMALL_FILE (1 << 20)

enum mode {
	HONEST,
	HOLES,        /* what is written is thrown away, zeros come back */
	SPARSE,       /* data is kept, a tenth of it is said to be stored */
	SHUFFLE,      /* a block's neighbour comes back */
	STALE,        /* the first file removed comes back in all later ones */
	REREAD,       /* a block read before comes from memory, O_DIRECT or not */
	SMALL,        /* the same with room for `cache` bytes, the oldest leaving first */
	BURST,        /* no delay until reads went on for free_ms without a closing */
	WRITEBACK,    /* fsync does nothing, reads within free_ms of a write have no delay */
	HANG,         /* reads do not return, from `after` reads on */
	DEAD,         /* nothing does, from then on */
	EIO_READS,    /* reads fail, from then on */
	GONE,         /* everything fails, from then on */
	NOSPACE,      /* writes fail, from `after` bytes on */
	NODIRECT,     /* O_DIRECT is refused by open */
	LATEDIRECT,   /* … is taken by open and refused by reads and writes */
	EACCES_READS, /* files cannot be opened to be read */
	MODES
};

static const char *const mode_names[MODES] = {
	"honest", "holes",   "sparse",    "shuffle",    "stale", "reread",
	"small",  "burst",   "writeback", "hang",       "dead",  "eio",
	"gone",   "nospace", "nodirect",  "latedirect", "eacces"};

/* What was read of a file: seq[block] is the how-manieth block to enter the cache. */
struct node {
	struct node *next;
	ino_t ino;
	size_t blocks;
	uint64_t *seq;
};

struct handle {
	int fd;
	bool reading; /* was read from */
	struct node *node;
};

struct cheat {
	/* options */
	char *name, *backing;
	enum mode mode;
	unsigned delay_us, hit_us, channels, free_ms, write_mbs;
	unsigned long long after, cache;
	int error;
	/* state */
	int root, kept; /* the directory; what STALE answers with, -1: nothing yet */
	struct fuse_session *session;
	sem_t channel;
	pthread_mutex_t lock, pace; /* of what follows; of writes that take their time */
	struct node *nodes;
	uint64_t entered;
	int readers;
	bool spent;                     /* the credit of BURST */
	int64_t first_read, last_write; /* ns, 0: none */
	atomic_ullong reads, written;
};

static struct cheat *self(void)
{
	return fuse_get_context()->private_data;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ns(int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static int result(int r)
{
	return r < 0 ? -errno : 0;
}

/* Paths of FUSE begin with a slash; ours are below the directory. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return fi ? (struct handle *)(uintptr_t)fi->fh : NULL;
}

/* --- what is fast and what is slow ------------------------------------------- */

static struct node *node_of(struct cheat *c, ino_t ino)
{
	struct node *n = c->nodes;

	while (n && n->ino != ino)
		n = n->next;
	if (!n && (n = calloc(1, sizeof(*n)))) {
		n->ino = ino;
		n->next = c->nodes;
		c->nodes = n;
	}
	return n;
}

/* Whether the block is in the cache; it is afterwards. */
static bool enter(struct cheat *c, struct node *n, size_t block)
{
	bool there;

	if (block >= n->blocks) {
		size_t blocks = block * 2 + 1024;
		uint64_t *seq = realloc(n->seq, blocks * sizeof(*seq));

		if (!seq)
			return false;
		memset(seq + n->blocks, 0, (blocks - n->blocks) * sizeof(*seq));
		n->seq = seq;
		n->blocks = blocks;
	}
	there = n->seq[block] &&
	        (c->mode == REREAD || c->entered - n->seq[block] < c->cache / BLOCK);
	if (!there)
		n->seq[block] = ++c->entered;
	return there;
}

static bool answers_at_once(struct cheat *c, struct handle *h, size_t size, off_t offset)
{
	int64_t t = now(), free_ns = (int64_t)c->free_ms * 1000000;
	bool at_once = false;

	pthread_mutex_lock(&c->lock);
	switch (c->mode) {
	case REREAD:
	case SMALL:
		at_once = true;
		for (size_t at = 0; at < size && h->node; at += BLOCK)
			at_once &= enter(c, h->node, ((size_t)offset + at) / BLOCK);
		break;
	case BURST:
		if (!h->reading && c->readers++ == 0)
			c->first_read = t;
		h->reading = true;
		c->spent |= t - c->first_read >= free_ns;
		at_once = !c->spent;
		break;
	case WRITEBACK:
		at_once = t - c->last_write < free_ns;
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&c->lock);
	return at_once;
}

/* One of the channels is busy for so long: so many reads a second and no more. */
static void take_time(struct cheat *c, unsigned us)
{
	if (!us)
		return;
	while (sem_wait(&c->channel) != 0)
		;
	pause_ns((int64_t)us * 1000);
	sem_post(&c->channel);
}

/* --- what is refused ----------------------------------------------------------- */

/* Until the file system is unmounted or the program is asked to end. */
static int hang(struct cheat *c)
{
	while (!fuse_session_exited(c->session))
		pause_ns(20000000);
	return EIO;
}

/* What becomes of everything but reads: 0 or the errno. */
static int gone(struct cheat *c)
{
	if (c->reads <= c->after)
		return 0;
	return c->mode == DEAD ? hang(c) : c->mode == GONE ? c->error : 0;
}

static int read_refused(struct cheat *c, const struct fuse_file_info *fi)
{
	bool over = ++c->reads > c->after;

	if (c->mode == LATEDIRECT && (fi->flags & O_DIRECT))
		return EINVAL;
	if (over && (c->mode == HANG || c->mode == DEAD))
		return hang(c);
	return over && (c->mode == EIO_READS || c->mode == GONE) ? c->error : 0;
}

static int write_refused(struct cheat *c, const struct fuse_file_info *fi, size_t size)
{
	if (c->mode == LATEDIRECT && (fi->flags & O_DIRECT))
		return EINVAL;
	if (c->mode == NOSPACE && (c->written += size) > c->after)
		return c->error;
	return gone(c);
}

/* --- data ------------------------------------------------------------------------ */

static ssize_t read_zeros(struct handle *h, char *buf, size_t size, off_t offset)
{
	struct stat info;

	if (fstat(h->fd, &info) != 0)
		return -1;
	if (offset >= info.st_size)
		return 0;
	if ((off_t)size > info.st_size - offset)
		size = (size_t)(info.st_size - offset);
	memset(buf, 0, size);
	return (ssize_t)size;
}

static ssize_t read_swapped(struct handle *h, char *buf, size_t size, off_t offset)
{
	size_t done = 0;

	while (done < size) {
		off_t at = offset + (off_t)done;
		size_t len = BLOCK - (size_t)(at % BLOCK);
		ssize_t n =
			pread(h->fd, buf + done, len < size - done ? len : size - done, at ^ BLOCK);

		if (n <= 0)
			return n < 0 ? n : (ssize_t)done;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static ssize_t read_data(struct cheat *c, struct handle *h, char *buf, size_t size, off_t offset)
{
	ssize_t n;

	if (c->mode == HOLES)
		return read_zeros(h, buf, size, offset);
	if (c->mode == SHUFFLE)
		return read_swapped(h, buf, size, offset);
	n = c->mode == STALE && c->kept >= 0 ? pread(c->kept, buf, size, offset) : 0;
	return n == (ssize_t)size ? n : pread(h->fd, buf, size, offset);
}

static int cheat_read(const char *path, char *buf, size_t size, off_t offset,
                      struct fuse_file_info *fi)
{
	struct cheat *c = self();
	struct handle *h = handle_of(fi);
	int number = read_refused(c, fi);
	ssize_t n;

	(void)path;
	if (number)
		return -number;
	take_time(c, answers_at_once(c, h, size, offset) ? c->hit_us : c->delay_us);
	n = read_data(c, h, buf, size, offset);
	return n < 0 ? -errno : (int)n;
}

/* Only the size of the file grows. */
static int write_nothing(struct cheat *c, struct handle *h, off_t end)
{
	struct stat info;
	int r;

	pthread_mutex_lock(&c->lock);
	r = fstat(h->fd, &info);
	if (r == 0 && info.st_size < end)
		r = ftruncate(h->fd, end);
	pthread_mutex_unlock(&c->lock);
	return result(r);
}

static int cheat_write(const char *path, const char *buf, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
	struct cheat *c = self();
	struct handle *h = handle_of(fi);
	int number = write_refused(c, fi, size);
	ssize_t n;

	(void)path;
	if (number)
		return -number;
	pthread_mutex_lock(&c->lock);
	c->last_write = now();
	pthread_mutex_unlock(&c->lock);
	if (c->write_mbs && c->mode != WRITEBACK) {
		pthread_mutex_lock(&c->pace);
		pause_ns((int64_t)size * 1000 / c->write_mbs);
		pthread_mutex_unlock(&c->pace);
	}
	if (c->mode == HOLES) {
		number = write_nothing(c, h, offset + (off_t)size);
		return number ? number : (int)size;
	}
	n = pwrite(h->fd, buf, size, offset);
	return n < 0 ? -errno : (int)n;
}

static int cheat_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	int number = gone(c);

	(void)path;
	if (number)
		return -number;
	if (c->mode == WRITEBACK || c->mode == HOLES)
		return 0;
	return result(data_only ? fdatasync(handle_of(fi)->fd) : fsync(handle_of(fi)->fd));
}

/* --- files ------------------------------------------------------------------------ */

/* With the kernel's cache out of the way, unless direct I/O is what we lack. */
static int opened(struct cheat *c, int fd, bool created, struct fuse_file_info *fi)
{
	struct handle *h = calloc(1, sizeof(*h));
	struct stat info;

	if (!h || fstat(fd, &info) != 0) {
		free(h);
		close(fd);
		return -ENOMEM;
	}
	h->fd = fd;
	fi->fh = (uintptr_t)h;
	fi->direct_io = c->mode != NODIRECT && c->mode != LATEDIRECT;
	pthread_mutex_lock(&c->lock);
	h->node = node_of(c, info.st_ino);
	/* A number used before: the file is another one. */
	if (created && h->node && h->node->seq)
		memset(h->node->seq, 0, h->node->blocks * sizeof(*h->node->seq));
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static int open_or_create(const char *path, mode_t mode, bool create, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	int access = fi->flags & O_ACCMODE, fd, number = gone(c);

	if (number)
		return -number;
	if (c->mode == NODIRECT && (fi->flags & O_DIRECT))
		return -EINVAL;
	if (c->mode == EACCES_READS && access == O_RDONLY)
		return -EACCES;
	/* Reads are always possible below: a write of part of a page needs them. */
	fd = openat(c->root, below(path),
	            (access == O_RDONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC |
	                    (fi->flags & (O_TRUNC | O_EXCL)) | (create ? O_CREAT : 0),
	            mode);
	return fd < 0 ? -errno : opened(c, fd, create, fi);
}

static int cheat_open(const char *path, struct fuse_file_info *fi)
{
	return open_or_create(path, 0, false, fi);
}

static int cheat_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return open_or_create(path, mode, true, fi);
}

static int cheat_release(const char *path, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	struct handle *h = handle_of(fi);

	(void)path;
	pthread_mutex_lock(&c->lock);
	c->readers -= h->reading;
	pthread_mutex_unlock(&c->lock);
	close(h->fd);
	free(h);
	return 0;
}

static int cheat_getattr(const char *path, struct stat *info, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	struct handle *h = handle_of(fi);
	int r, number = gone(c);

	if (number)
		return -number;
	r = h ? fstat(h->fd, info) : fstatat(c->root, below(path), info, AT_SYMLINK_NOFOLLOW);
	if (r == 0 && S_ISREG(info->st_mode) && c->mode == HOLES)
		info->st_blocks = (info->st_size + BLOCK - 1) / BLOCK * (BLOCK / 512);
	if (r == 0 && S_ISREG(info->st_mode) && c->mode == SPARSE)
		info->st_blocks /= 10;
	return result(r);
}

static int cheat_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	struct handle *h = handle_of(fi);
	int fd = h ? h->fd : openat(c->root, below(path), O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = result(ftruncate(fd, size));
	if (!h)
		close(fd);
	return r;
}

static void keep(struct cheat *c, const char *path)
{
	int fd = openat(c->root, below(path), O_RDONLY | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return;
	pthread_mutex_lock(&c->lock);
	if (c->kept < 0 && fstat(fd, &info) == 0 && info.st_size >= SMALL_FILE)
		c->kept = fd;
	pthread_mutex_unlock(&c->lock);
	if (c->kept != fd)
		close(fd);
}

static int cheat_unlink(const char *path)
{
	struct cheat *c = self();
	int number = gone(c);

	if (number)
		return -number;
	if (c->mode == STALE)
		keep(c, path);
	return result(unlinkat(c->root, below(path), 0));
}

static int cheat_mkdir(const char *path, mode_t mode)
{
	int number = gone(self());

	return number ? -number : result(mkdirat(self()->root, below(path), mode));
}

static int cheat_rmdir(const char *path)
{
	int number = gone(self());

	return number ? -number : result(unlinkat(self()->root, below(path), AT_REMOVEDIR));
}

static int cheat_rename(const char *from, const char *to, unsigned flags)
{
	struct cheat *c = self();
	int number = flags ? EINVAL : gone(c);

	return number ? -number : result(renameat(c->root, below(from), c->root, below(to)));
}

static int cheat_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	return result(fchmodat(self()->root, below(path), mode, 0));
}

static int cheat_utimens(const char *path, const struct timespec times[2],
                         struct fuse_file_info *fi)
{
	(void)fi;
	return result(utimensat(self()->root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int cheat_statfs(const char *path, struct statvfs *room)
{
	int number = gone(self());

	(void)path;
	return number ? -number : result(fstatvfs(self()->root, room));
}

static int cheat_opendir(const char *path, struct fuse_file_info *fi)
{
	struct cheat *c = self();
	int number = gone(c);
	int fd = number ? -1 : openat(c->root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fi->fh = (uintptr_t)(fd < 0 ? NULL : fdopendir(fd));
	return number ? -number : fi->fh ? 0 : -errno;
}

static int cheat_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
                         struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	DIR *dir = (DIR *)(uintptr_t)fi->fh;
	struct dirent *entry;

	(void)path;
	(void)offset;
	(void)flags;
	rewinddir(dir);
	while ((entry = readdir(dir)))
		if (fill(buf, entry->d_name, NULL, 0, 0))
			break;
	return 0;
}

static int cheat_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	closedir((DIR *)(uintptr_t)fi->fh);
	return 0;
}

/* Nothing is remembered by the kernel, and a removed file is gone. */
static void *cheat_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
	config->hard_remove = 1;
	config->use_ino = 1;
	/* A read that hangs must not keep its file from being removed. */
	config->nullpath_ok = 1;
	/* Else 12 asynchronous reads are outstanding and no more. */
	conn->max_background = MAX_THREADS;
	return self();
}

static const struct fuse_operations operations = {
	.init = cheat_init,
	.getattr = cheat_getattr,
	.opendir = cheat_opendir,
	.readdir = cheat_readdir,
	.releasedir = cheat_releasedir,
	.mkdir = cheat_mkdir,
	.rmdir = cheat_rmdir,
	.unlink = cheat_unlink,
	.rename = cheat_rename,
	.chmod = cheat_chmod,
	.utimens = cheat_utimens,
	.truncate = cheat_truncate,
	.open = cheat_open,
	.create = cheat_create,
	.read = cheat_read,
	.write = cheat_write,
	.fsync = cheat_fsync,
	.release = cheat_release,
	.statfs = cheat_statfs,
};

/* --- options ------------------------------------------------------------------------ */

#define OPTION(format, member)                                                                     \
	{                                                                                          \
		format, offsetof(struct cheat, member), 0                                          \
	}
static const struct fuse_opt options[] = {
	OPTION("mode=%s", name),       OPTION("delay_us=%u", delay_us),
	OPTION("hit_us=%u", hit_us),   OPTION("channels=%u", channels),
	OPTION("free_ms=%u", free_ms), OPTION("write_mbs=%u", write_mbs),
	OPTION("after=%llu", after),   OPTION("cache=%llu", cache),
	OPTION("error=%d", error),     FUSE_OPT_END};

/* The first plain word is the directory; the rest is for FUSE. */
static int take_word(void *data, const char *word, int key, struct fuse_args *args)
{
	struct cheat *c = data;

	(void)args;
	if (key != FUSE_OPT_KEY_NONOPT || c->backing)
		return 1;
	c->backing = strdup(word);
	return 0;
}

static bool prepare(struct cheat *c)
{
	static const int errors[MODES] = {[EIO_READS] = EIO, [GONE] = ENOTCONN, [NOSPACE] = ENOSPC};

	while (c->mode < MODES && strcmp(c->name ? c->name : "honest", mode_names[c->mode]) != 0)
		c->mode++;
	if (c->mode == MODES) {
		fprintf(stderr, "cheat: no mode %s\n", c->name);
		return false;
	}
	if (!c->error)
		c->error = errors[c->mode];
	c->root = c->backing ? open(c->backing, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (c->root < 0)
		fprintf(stderr, "cheat: directory %s: %s\n", c->backing ? c->backing : "missing",
		        strerror(errno));
	return c->root >= 0 && sem_init(&c->channel, 0, c->channels) == 0;
}

static int serve(struct fuse *fuse)
{
#if FUSE_USE_VERSION >= 312
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	/* Each delayed read holds a thread. */
	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, MAX_THREADS);
	r = fuse_loop_mt(fuse, config);
	fuse_loop_cfg_destroy(config);
	return r;
#else
	struct fuse_loop_config config = {.max_idle_threads = MAX_THREADS};

	return fuse_loop_mt(fuse, &config);
#endif
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct fuse_cmdline_opts line = {0};
	struct cheat c = {.channels = 8, .free_ms = 1000, .kept = -1};
	struct fuse *fuse = NULL;
	int code = 1;

	pthread_mutex_init(&c.lock, NULL);
	pthread_mutex_init(&c.pace, NULL);
	if (fuse_opt_parse(&args, &c, options, take_word) != 0 ||
	    fuse_parse_cmdline(&args, &line) != 0 || !prepare(&c))
		goto out;
	fuse = fuse_new(&args, &operations, sizeof(operations), &c);
	if (!fuse || !line.mountpoint || fuse_mount(fuse, line.mountpoint) != 0)
		goto out;
	c.session = fuse_get_session(fuse);
	if (fuse_daemonize(line.foreground) == 0 && fuse_set_signal_handlers(c.session) == 0) {
		serve(fuse);
		fuse_remove_signal_handlers(c.session);
		code = 0;
	}
	fuse_unmount(fuse);
out:
	if (fuse)
		fuse_destroy(fuse);
	while (c.nodes) {
		struct node *next = c.nodes->next;

		free(c.nodes->seq);
		free(c.nodes);
		c.nodes = next;
	}
	free(line.mountpoint);
	free(c.name);
	free(c.backing);
	fuse_opt_free_args(&args);
	return code;
}
