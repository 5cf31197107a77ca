/* What a shared library says of itself, read from its file: its name, what it needs,
 * its build id, the names of its symbols. Nothing is loaded: the initialisers of a
 * library of an unknown image would run in our process, and a CUDA library costs
 * seconds. Read by pread and not mapped, so that a file that shrinks is an error and
 * not a signal; every offset of the file is held against its size. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "software.h"

#define HEADERS_MOST 4096
#define STRINGS_MOST ((size_t)64 << 20)
#define DYNAMIC_MOST ((size_t)1 << 20)
#define NEEDED_MOST  1024
#define SEARCH_MOST  ((int64_t)1 << 30)
#define HASH_MOST    ((int64_t)64 << 20)
#define CHUNK        ((size_t)1 << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

struct file {
	int fd;
	int64_t size;
	struct arena *arena;
};

static bool open_file(struct sw_scan *s, struct file *f, const char *path)
{
	struct stat at;

	f->arena = s->arena;
	f->fd = open(tmpf("%s%s", s->root, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return false;
	if (fstat(f->fd, &at) == 0 && S_ISREG(at.st_mode)) {
		f->size = at.st_size;
		return true;
	}
	close(f->fd);
	return false;
}

static bool read_at(const struct file *f, void *to, size_t len, int64_t at)
{
	char *p = to;

	while (len) {
		ssize_t n = pread(f->fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* A part of the file in the arena with a NUL behind it, or NULL. */
static void *part(const struct file *f, uint64_t at, uint64_t len, size_t most)
{
	char *p;

	if (!len || len > most || at > (uint64_t)f->size || len > (uint64_t)f->size - at)
		return NULL;
	p = arena_alloc(f->arena, (size_t)len + 1);
	return read_at(f, p, (size_t)len, (int64_t)at) ? p : NULL;
}

/* --- headers ------------------------------------------------------------------------- */

static const Elf64_Phdr *programs(const struct file *f, Elf64_Ehdr *head)
{
	if (!read_at(f, head, sizeof(*head), 0) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != OWN_ORDER ||
	    head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > HEADERS_MOST)
		return NULL;
	return part(f, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr),
	            HEADERS_MOST * sizeof(Elf64_Phdr));
}

/* Where an address of the loaded image lies in the file; -1: nowhere. */
static int64_t offset_of(const Elf64_Ehdr *head, const Elf64_Phdr *program, uint64_t address)
{
	for (int i = 0; i < head->e_phnum; i++)
		if (program[i].p_type == PT_LOAD && address >= program[i].p_vaddr &&
		    address - program[i].p_vaddr < program[i].p_filesz)
			return (int64_t)(program[i].p_offset + (address - program[i].p_vaddr));
	return -1;
}

static void take_build_id(const struct file *f, struct sw_elf *elf, const Elf64_Phdr *note)
{
	const char *data = part(f, note->p_offset, note->p_filesz, 1 << 16);
	size_t at = 0, len = (size_t)note->p_filesz;

	while (data && len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		size_t name = at + sizeof(n), desc, i;
		struct str hex = {0};

		memcpy(&n, data + at, sizeof(n));
		desc = name + ((n.n_namesz + 3u) & ~(size_t)3);
		if (desc > len || n.n_descsz > len - desc)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= 64 &&
		    memcmp(data + name, "GNU", 4) == 0) {
			for (i = 0; i < n.n_descsz; i++)
				str_addf(&hex, "%02x", (unsigned char)data[desc + i]);
			elf->build_id = arena_str(f->arena, str_text(&hex));
			str_release(&hex);
			return;
		}
		at = desc + ((n.n_descsz + 3u) & ~(size_t)3);
		if (at > len)
			return;
	}
}

static const char *string_at(const struct sw_elf *elf, uint64_t at)
{
	return at < elf->strings_len ? elf->strings + at : NULL;
}

static void take_dynamic(const struct file *f, struct sw_elf *elf, const Elf64_Ehdr *head,
                         const Elf64_Phdr *program, const Elf64_Phdr *dynamic)
{
	const Elf64_Dyn *d = part(f, dynamic->p_offset, dynamic->p_filesz, DYNAMIC_MOST);
	size_t n = (size_t)(dynamic->p_filesz / sizeof(*d)), needed = 0;
	uint64_t address = 0, len = 0;
	const char **list;

	for (size_t i = 0; d && i < n && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_STRTAB)
			address = d[i].d_un.d_ptr;
		if (d[i].d_tag == DT_STRSZ)
			len = d[i].d_un.d_val;
	}
	if (!d || !address || offset_of(head, program, address) < 0)
		return;
	elf->strings = part(f, (uint64_t)offset_of(head, program, address), len, STRINGS_MOST);
	elf->strings_len = elf->strings ? (size_t)len : 0;
	list = arena_array(f->arena, (n < NEEDED_MOST ? n : NEEDED_MOST) + 1, sizeof(*list));
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_SONAME)
			elf->soname = string_at(elf, d[i].d_un.d_val);
		if (d[i].d_tag == DT_NEEDED && needed < NEEDED_MOST &&
		    string_at(elf, d[i].d_un.d_val))
			list[needed++] = string_at(elf, d[i].d_un.d_val);
	}
	elf->needed = list;
}

/* By section headers where they were not stripped off: only to search less. */
static void take_rodata(const struct file *f, struct sw_elf *elf, const Elf64_Ehdr *head)
{
	const Elf64_Shdr *section = NULL;
	const char *names = NULL;

	if (head->e_shentsize == sizeof(*section) && head->e_shnum <= HEADERS_MOST)
		section = part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof(*section),
		               HEADERS_MOST * sizeof(*section));
	if (section && head->e_shstrndx < head->e_shnum)
		names = part(f, section[head->e_shstrndx].sh_offset,
		             section[head->e_shstrndx].sh_size, 1 << 20);
	for (int i = 0; names && i < head->e_shnum; i++)
		if (section[i].sh_name < section[head->e_shstrndx].sh_size &&
		    strcmp(names + section[i].sh_name, ".rodata") == 0) {
			elf->rodata_at = (int64_t)section[i].sh_offset;
			elf->rodata_len = (int64_t)section[i].sh_size;
		}
}

bool sw_elf_read(struct sw_scan *s, struct sw_elf *elf, const char *path)
{
	static const char *const nothing[] = {NULL};
	const Elf64_Phdr *program;
	Elf64_Ehdr head;
	struct file f;

	*elf = (struct sw_elf){.needed = nothing};
	if (!open_file(s, &f, path))
		return false;
	program = programs(&f, &head);
	for (int i = 0; program && i < head.e_phnum; i++) {
		if (program[i].p_type == PT_DYNAMIC)
			take_dynamic(&f, elf, &head, program, &program[i]);
		if (program[i].p_type == PT_NOTE && !elf->build_id)
			take_build_id(&f, elf, &program[i]);
	}
	if (program)
		take_rodata(&f, elf, &head);
	close(f.fd);
	return program != NULL;
}

/* --- questions ------------------------------------------------------------------------ */

bool sw_elf_needs(const struct sw_elf *elf, const char *soname)
{
	for (const char *const *n = elf->needed; *n; n++)
		if (strcmp(*n, soname) == 0)
			return true;
	return false;
}

int sw_elf_highest(const struct sw_elf *elf, const char *prefix)
{
	size_t len = strlen(prefix);
	int most = 0;

	for (size_t i = 0; i < elf->strings_len; i += strlen(elf->strings + i) + 1) {
		const char *name = elf->strings + i;

		if (strncmp(name, prefix, len) == 0 &&
		    strspn(name + len, "0123456789") == strlen(name + len) &&
		    atoi(name + len) > most)
			most = atoi(name + len);
	}
	return most;
}

/* The version behind the word in a chunk, if all of it is there. */
static const char *version_in(struct sw_scan *s, const char *data, size_t len, const char *word)
{
	size_t word_len = strlen(word);
	const char *p = data, *end = data + len;

	while ((p = memmem(p, (size_t)(end - p), word, word_len))) {
		const char *v = p + word_len;
		size_t n = 0;

		while (v + n < end && n < 32 && v[n] && strchr("0123456789.", v[n]))
			n++;
		if (n >= 3 && v + n < end)
			return arena_strn(s->arena, v, n);
		p += word_len;
	}
	return NULL;
}

const char *sw_nccl_version(struct sw_scan *s, const char *path, const struct sw_elf *elf)
{
	static const char word[] = "NCCL version ";
	const char *found = NULL;
	struct file f;
	int64_t at, end;
	char *chunk;

	if (!open_file(s, &f, path))
		return NULL;
	at = elf->rodata_len ? elf->rodata_at : 0;
	end = elf->rodata_len ? at + elf->rodata_len : f.size;
	end = end < f.size ? end : f.size;
	end = end - at < SEARCH_MOST ? end : at + SEARCH_MOST;
	chunk = malloc(CHUNK);
	while (chunk && !found && at < end && !sw_late(s)) {
		size_t len = (size_t)(end - at) < CHUNK ? (size_t)(end - at) : CHUNK;

		if (!read_at(&f, chunk, len, at))
			break;
		found = version_in(s, chunk, len, word);
		/* Over the seam: a little of it again. */
		at += (int64_t)(len == CHUNK ? CHUNK - 64 : len);
	}
	free(chunk);
	close(f.fd);
	return found;
}

const char *sw_identity(struct sw_scan *s, const char *path)
{
	struct sw_elf elf;
	struct sha256 sum;
	char hex[SHA256_HEX], chunk[65536];
	struct file f;
	int64_t at = 0;

	if (sw_elf_read(s, &elf, path) && elf.build_id)
		return arena_strf(s->arena, "build-id:%s", elf.build_id);
	if (!open_file(s, &f, path))
		return NULL;
	sha256_init(&sum);
	while (f.size <= HASH_MOST && at < f.size) {
		size_t len = f.size - at < (int64_t)sizeof(chunk) ? (size_t)(f.size - at)
		                                                  : sizeof(chunk);

		if (!read_at(&f, chunk, len, at))
			break;
		sha256_add(&sum, chunk, len);
		at += (int64_t)len;
	}
	close(f.fd);
	sha256_hex(&sum, hex);
	if (f.size > HASH_MOST)
		return arena_strf(s->arena, "bytes:%lld", (long long)f.size);
	return at == f.size ? arena_strf(s->arena, "sha256:%s", hex) : NULL;
}
