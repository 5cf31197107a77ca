/* Where a path is: down through mapped devices, RAID, image files, members of a
 * file system, to what holds the data in the end. */
#include "tree_kit.h"

static bool is_ext(const char *fs)
{
	return strcmp(fs, "ext4") == 0;
}

/* --- trees --------------------------------------------- */

static void layers_end_at_their_disks(void **state)
{
	struct tree *t = *state;
	struct storage_place place;

	put_block(t, "sda", NULL, 1, 1);
	put_block(t, "sda2", "sda", 1, 1);
	put_block(t, "sdb", NULL, 1, 1);
	put_block(t, "md0", NULL, 1, 1);
	put_block(t, "dm-0", NULL, 1, 1);
	put_slave(t, "dm-0", "md0");
	put_slave(t, "dm-0", "sdb");
	put_slave(t, "md0", "sda2");
	put_slave(t, "md0", "sdb");
	put_top(t, "dm-0");
	place = place_in(t, t->root, t->root);
	assert_string_equal(leaves_of(t, &place), "sda2 sdb");
	assert_string_equal(place.device, t->number);
	assert_null(place.ram);
	assert_false(place.over_network);
}

/* md0p1 has no slaves of its own. */
static void partition_of_a_raid(void **state)
{
	struct tree *t = *state;
	struct storage_place place;

	put_block(t, "md0", NULL, 1, 1);
	put_block(t, "md0p1", "md0", 1, 1);
	put_block(t, "nvme0n1", NULL, 1, 1);
	put_block(t, "nvme1n1", NULL, 1, 1);
	put_slave(t, "md0", "nvme0n1");
	put_slave(t, "md0", "nvme1n1");
	put_top(t, "md0p1");
	place = place_in(t, t->root, t->root);
	assert_string_equal(leaves_of(t, &place), "nvme0n1 nvme1n1");
}

static void circles_end(void **state)
{
	struct tree *t = *state;
	struct storage_place place;

	put_block(t, "dm-0", NULL, 1, 1);
	put_block(t, "dm-1", NULL, 1, 1);
	put_slave(t, "dm-0", "dm-1");
	put_slave(t, "dm-1", "dm-0");
	put_top(t, "dm-0");
	place = place_in(t, t->root, t->root);
	assert_string_equal(leaves_of(t, &place), "");
}

static void more_layers_than_anybody_has(void **state)
{
	struct tree *t = *state;
	struct storage_place place;

	for (int i = 0; i < 40; i++) {
		const char *name = arena_strf(&t->arena, "dm-%d", i);

		put_block(t, name, NULL, 1, 1);
		put_slave(t, name, arena_strf(&t->arena, "dm-%d", i + 1));
	}
	put_top(t, "dm-0");
	place = place_in(t, t->root, t->root);
	assert_string_equal(leaves_of(t, &place), "lost");
}

static void memory_is_found(void **state)
{
	static const struct {
		const char *name;
		bool memory;
	} rows[] = {{"zram0", true}, {"ram3", true},    {"nullb0", true}, {"pmem0", false},
	            {"sdc", true},   {"ramdom", false}, {"sdd", false}};
	struct tree *t = *state;

	put_block(t, "dm-0", NULL, 1, 1);
	put_block(t, "sda", NULL, 1, 1);
	put_slave(t, "dm-0", "sda");
	put_top(t, "dm-0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_block(t, rows[i].name, NULL, 1, 1);
	put(t, "/sys/devices/virtual/block/sdc/device/model", "scsi_debug      \n");
	put(t, "/sys/devices/virtual/block/sdd/device/model", "MZ7LH960\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct storage_place place;

		put_slave(t, "dm-0", rows[i].name);
		place = place_in(t, t->root, t->root);
		assert_true(rows[i].memory == (place.ram != NULL));
		if (rows[i].memory) {
			assert_string_equal(place.kind, "memory");
			assert_string_equal(place.ram,
			                    tmpf("%s on dm-0 on %s", place.fs, rows[i].name));
		}
		unlink(tmpf("%s/sys/devices/virtual/block/dm-0/slaves/%s", t->root, rows[i].name));
	}
}

static void image_in_memory(void **state)
{
	struct tree *t = *state;
	char image[] = "/dev/shm/assay-image-XXXXXX";
	struct storage_place place;
	int fd = mkstemp(image);

	if (fd < 0) {
		print_message("no /dev/shm here\n");
		skip();
	}
	close(fd);
	put_block(t, "loop5", NULL, 1, 1);
	put(t, "/sys/devices/virtual/block/loop5/loop/backing_file", "/image\n");
	put_link(t, "/image", image);
	put_top(t, "loop5");
	place = place_in(t, t->root, t->root);
	unlink(image);
	assert_string_equal(place.kind, "memory");
	assert_string_equal(place.ram, tmpf("%s on loop5 on tmpfs", place.fs));
	/* Gone: nobody can tell any more. */
	place = place_in(t, t->root, t->root);
	assert_string_equal(leaves_of(t, &place), "lost");
	assert_null(place.ram);
}

static void no_device(void **state)
{
	struct tree *t = *state;
	struct storage_place place = place_in(t, t->root, t->root);
	struct error err = {0};

	assert_null(place.device);
	assert_int_equal(storage_place_read(&place, &t->arena, t->root, "/no/such/path", &err),
	                 ST_NOTFOUND);
	assert_non_null(strstr(str_text(&err.text), "/no/such/path"));
	error_release(&err);
}

static void mount_options(void **state)
{
	static const char options[] = "rw,clientaddr=10.0.0.9,addr=10.0.0.2,proto=tcp,hard,x=";
	struct tree *t = *state;

	assert_string_equal(storage_mount_option(&t->arena, options, "addr"), "10.0.0.2");
	assert_string_equal(storage_mount_option(&t->arena, options, "proto"), "tcp");
	assert_string_equal(storage_mount_option(&t->arena, options, "x"), "");
	assert_null(storage_mount_option(&t->arena, options, "hard"));
	assert_null(storage_mount_option(&t->arena, options, "port"));
	assert_null(storage_mount_option(&t->arena, NULL, "addr"));
}

/* --- real mounts --------------------------------------------- */

static void tmpfs_is_memory(void **state)
{
	struct tree *t = *state;
	struct storage_place place = place_in(t, "", "/dev/shm");

	if (strcmp(place.fs, "tmpfs") != 0) {
		print_message("/dev/shm is no tmpfs here\n");
		skip();
	}
	assert_string_equal(place.kind, "memory");
	assert_string_equal(place.ram, "tmpfs");
	assert_string_equal(place.mount, "/dev/shm");
}

static void a_mounted_image_is_where_its_file_is(void **state)
{
	struct tree *t = *state;
	struct storage_place below, place;

	if (!may_mount() || !shell(t, "mkdir mnt && truncate -s 16M image && "
	                              "mkfs.ext4 -q -F image && mount -o loop image mnt"))
		skip();
	below = place_in(t, "", t->root);
	place = place_in(t, "", tmpf("%s/mnt", t->root));
	assert_true(is_ext(place.fs));
	assert_string_equal(leaves_of(t, &place), leaves_of(t, &below));
	/* Deleted, its device still knows where it was. */
	assert_true(shell(t, "rm image"));
	place = place_in(t, "", tmpf("%s/mnt", t->root));
	assert_null(place.ram);
	if (below.device)
		assert_string_equal(leaves_of(t, &place), leaves_of(t, &below));
}

static void a_mounted_image_in_memory(void **state)
{
	struct tree *t = *state;
	struct storage_place place;

	if (!may_mount() ||
	    !shell(t, "mkdir mnt ram && mount -t tmpfs none ram && truncate -s 16M ram/image && "
	              "mkfs.ext4 -q -F ram/image && mount -o loop ram/image mnt"))
		skip();
	for (int deleted = 0; deleted < 2; deleted++) {
		place = place_in(t, "", tmpf("%s/mnt", t->root));
		assert_string_equal(place.kind, "memory");
		assert_true(str_starts(place.ram, "ext4 on loop"));
		assert_true(str_ends(place.ram, " on tmpfs"));
		assert_true(shell(t, "rm -f ram/image"));
	}
}

static void an_overlay_is_its_upper_layer(void **state)
{
	struct tree *t = *state;
	struct storage_place below = place_in(t, "", t->root), place;

	if (!may_mount() ||
	    !shell(t, "mkdir mnt lower upper work ram && mount -t tmpfs none ram && "
	              "mount -t overlay none -o lowerdir=$PWD/lower,"
	              "upperdir=$PWD/upper,workdir=$PWD/work mnt"))
		skip();
	place = place_in(t, "", tmpf("%s/mnt", t->root));
	assert_string_equal(place.kind, "overlay");
	assert_string_equal(leaves_of(t, &place), leaves_of(t, &below));
	assert_true(shell(t, "umount mnt && mkdir ram/upper ram/work && "
	                     "mount -t overlay none -o lowerdir=$PWD/lower,"
	                     "upperdir=$PWD/ram/upper,workdir=$PWD/ram/work mnt"));
	place = place_in(t, "", tmpf("%s/mnt", t->root));
	assert_string_equal(place.kind, "memory");
	assert_string_equal(place.ram, "overlay on tmpfs");
}

/* A btrfs on two devices, found through the mount table and /sys/fs/btrfs: on the
 * machine itself, and by names that only a tree has. */
static void all_members_of_a_btrfs(void **state)
{
	struct tree *t = *state;
	struct storage_place below = place_in(t, "", t->root), place;
	const char *a, *b, *mnt = arena_strf(&t->arena, "%s/mnt", t->root);

	if (!may_mount() || !shell(t, "mkdir mnt && truncate -s 128M a b"))
		skip();
	a = attach(t, "a");
	b = a ? attach(t, "b") : NULL;
	if (!b || !shell(t, tmpf("mkfs.btrfs -q -d raid0 -m raid0 %s %s && "
	                         "mount -o device=%s %s mnt",
	                         a, b, b, a)))
		skip();
	place = place_in(t, "", mnt);
	assert_string_equal(place.fs, "btrfs");
	assert_string_equal(place.kind, "device");
	assert_null(place.device);
	assert_string_equal(leaves_of(t, &place), leaves_of(t, &below));

	put_block(t, "dm-3", NULL, 1, 1);
	put_block(t, "nvme0n1", NULL, 1, 1);
	put_block(t, "nvme1n1", NULL, 1, 1);
	put_slave(t, "dm-3", "nvme0n1");
	put(t, "/sys/devices/virtual/block/dm-3/dm/name", "vg-data\n");
	put(t, "/sys/fs/btrfs/features/x", "");
	put(t, "/sys/fs/btrfs/0000-1/devices/dm-3", "");
	put(t, "/sys/fs/btrfs/0000-1/devices/nvme1n1", "");
	put(t, "/proc/self/mountinfo",
	    tmpf("9 1 0:99 / / rw - ext4 /dev/x rw\n"
	         "9 1 0:40 / %s rw - btrfs /dev/mapper/vg-data rw\n",
	         mnt));
	place = place_in(t, t->root, mnt);
	assert_string_equal(leaves_of(t, &place), "nvme0n1 nvme1n1");
	put(t, "/proc/self/mountinfo", tmpf("9 1 0:40 / %s rw - btrfs /dev/gone rw\n", mnt));
	place = place_in(t, t->root, mnt);
	assert_string_equal(leaves_of(t, &place), "lost");
	assert_string_equal(place.kind, "device");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(layers_end_at_their_disks),
		TREE_TEST(partition_of_a_raid),
		TREE_TEST(circles_end),
		TREE_TEST(more_layers_than_anybody_has),
		TREE_TEST(memory_is_found),
		TREE_TEST(image_in_memory),
		TREE_TEST(no_device),
		TREE_TEST(mount_options),
		TREE_TEST(tmpfs_is_memory),
		TREE_TEST(a_mounted_image_is_where_its_file_is),
		TREE_TEST(a_mounted_image_in_memory),
		TREE_TEST(an_overlay_is_its_upper_layer),
		TREE_TEST(all_members_of_a_btrfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
