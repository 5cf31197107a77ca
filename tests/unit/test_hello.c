/* Who is who in a run of many nodes: names, doubles, and what is no cluster. */
#include "tests/unit/unit.h"

#include "coord/hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_cards[] = {NULL};

static struct identity node(const char *host, const char *boot)
{
	return (struct identity){.host = host,
	                         .version = "1",
	                         .program = "",
	                         .options = "--nodes 4\n--budget quick\n",
	                         .machine_id = boot,
	                         .boot_id = boot,
	                         .cards = no_cards};
}

static struct hello_result check(const struct identity *ids, int n, const char **names,
                                 struct arena *arena)
{
	return hello_check(ids, n, names, arena);
}

static void different_nodes_keep_their_names(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b2"), node("n3", "b3")};
	const char *names[3];
	struct hello_result r = check(ids, 3, names, &arena);

	(void)state;
	assert_null(r.refusal);
	assert_null(r.notes);
	assert_string_equal(names[0], "n1");
	assert_string_equal(names[2], "n3");
	arena_release(&arena);
}

/* Files go by them, and a node may lie. */
static void names_are_fit_for_files_and_never_the_same(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n", "b1"), node("n", "b2"), node("n-1", "b3")};
	const char *names[3];

	(void)state;
	check(ids, 3, names, &arena);
	for (int i = 0; i < 3; i++)
		assert_string_not_equal(names[i], names[(i + 1) % 3]);
	assert_string_equal(names[2], "n-1");
	assert_string_equal(host_name_fit(&arena, "node-7.rack_2"), "node-7.rack_2");
	assert_string_equal(host_name_fit(&arena, "../../etc/x"), "_._.._etc_x");
	assert_string_equal(host_name_fit(&arena, "a b\n\xff"), "a_b__");
	assert_string_equal(host_name_fit(&arena, ""), "_");
	arena_release(&arena);
}

static void two_ranks_on_one_node_are_refused(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b2"), node("n1", "b1")};
	const char *names[3];
	struct hello_result r = check(ids, 3, names, &arena);

	(void)state;
	assert_non_null(r.refusal);
	assert_non_null(strstr(r.refusal, "ranks 0 and 2"));
	assert_non_null(strstr(r.refusal, "n1"));
	arena_release(&arena);
}

static void another_version_is_refused(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b2")};
	const char *names[2];
	struct hello_result r;

	(void)state;
	ids[1].version = "2";
	r = check(ids, 2, names, &arena);
	assert_non_null(r.refusal);
	assert_non_null(strstr(r.refusal, "Assay 1"));
	assert_non_null(strstr(r.refusal, "Assay 2"));
	assert_non_null(strstr(r.refusal, "n2"));
	arena_release(&arena);
}

/* Of one version and yet not the same code, maybe: said. */
static void another_build_is_noted(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b2"), node("n3", "b3")};
	const char *names[3];
	struct hello_result r;

	(void)state;
	ids[0].program = ids[1].program = "aa";
	r = check(ids, 3, names, &arena);
	assert_null(r.notes);
	ids[2].program = "bb";
	r = check(ids, 3, names, &arena);
	assert_null(r.refusal);
	assert_non_null(
		strstr(r.notes, "rank 2 on n3 runs another build of Assay 1 than rank 0 on n1"));
	arena_release(&arena);
}

static void other_options_are_refused(void **state)
{
	static const struct {
		const char *options, *says;
	} rows[] = {
		{"--nodes 4\n--budget soak\n",
	         "rank 0 on n1 (--budget quick) and rank 2 on n3 (--budget soak) were"},
		{"--nodes 4\n",
	         "rank 0 on n1 (--budget quick) and rank 2 on n3 (without --budget)"},
		{"--nodes 4\n--budget quick\n--strict\n", "rank 0 on n1 (without --strict) and "
	                                                  "rank 2 on n3 (--strict)"},
		{"--budget quick\n--nodes 4\n", "(the same, in another order)"},
		{"", "rank 2 on n3 (without --nodes)"},
		{"nonsense", "nonsense"},
	};
	struct arena arena = {0};
	const char *names[3];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct identity ids[] = {node("n1", "b1"), node("n2", "b2"), node("n3", "b3")};
		struct hello_result r;

		ids[2].options = rows[i].options;
		r = check(ids, 3, names, &arena);
		assert_non_null(r.refusal);
		if (!strstr(r.refusal, rows[i].says))
			fail_msg("%s", r.refusal);
		/* A rank that said nothing was not started otherwise. */
		ids[2].host = NULL;
		assert_null(check(ids, 3, names, &arena).refusal);
	}
	arena_release(&arena);
}

static int lines_with(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void a_thousand_copies_are_said_in_few_lines(void **state)
{
	enum { N = 1000 };
	struct arena arena = {0};
	struct identity *ids = arena_array(&arena, N, sizeof(*ids));
	const char **names = arena_array(&arena, N, sizeof(*names));
	struct hello_result r;

	(void)state;
	for (int i = 0; i < N; i++) {
		ids[i] = node(i % 2 ? "node" : arena_strf(&arena, "n%d", i),
		              arena_strf(&arena, "b%d", i));
		ids[i].machine_id = "copied";
	}
	r = check(ids, N, names, &arena);
	assert_null(r.refusal);
	assert_int_equal(lines_with(r.notes, "same machine id"), 3);
	assert_int_equal(lines_with(r.notes, "(and 996 more like that)"), 1);
	assert_int_equal(lines_with(r.notes, "the same name, node"), 3);
	assert_int_equal(lines_with(r.notes, "(and 496 more like that)"), 1);
	assert_int_equal(lines_with(r.notes, "\n"), 7);
	assert_string_equal(names[999], "node-999");
	arena_release(&arena);
}

static void a_card_that_two_have_is_refused(void **state)
{
	static const char *const a[] = {"GPU-1", "0000:17:00.0"}, *const b[] = {"0000:17:00.0"},
				 *const c[] = {"GPU-2", "GPU-1"};
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b2"), node("n3", "b3")};
	const char *names[3];
	struct hello_result r;

	(void)state;
	ids[0].cards = a;
	ids[0].n_cards = 2;
	ids[1].cards = b;
	ids[1].n_cards = 1;
	/* The address of a card is the same on every node. */
	assert_null(check(ids, 2, names, &arena).refusal);
	ids[2].cards = c;
	ids[2].n_cards = 2;
	r = check(ids, 3, names, &arena);
	assert_non_null(r.refusal);
	assert_non_null(strstr(r.refusal, "GPU-1"));
	assert_non_null(strstr(r.refusal, "n1"));
	assert_non_null(strstr(r.refusal, "n3"));
	arena_release(&arena);
}

static void containers_clones_and_namesakes_are_said(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), node("n2", "b1"), node("n1", "b3"),
	                         node("n4", "b4")};
	const char *names[4];
	struct hello_result r;

	(void)state;
	ids[3].machine_id = "b3";
	r = check(ids, 4, names, &arena);
	assert_null(r.refusal);
	assert_non_null(strstr(r.notes, "n1 and n2 are two containers on one machine"));
	assert_non_null(strstr(r.notes, "ranks 0 and 2 are different machines"));
	assert_non_null(strstr(r.notes, "same machine id"));
	assert_string_equal(names[0], "n1");
	assert_string_equal(names[2], "n1-2");
	arena_release(&arena);
}

static void who_said_nothing_has_a_name_too(void **state)
{
	struct arena arena = {0};
	struct identity ids[] = {node("n1", "b1"), {0}, node("", "")};
	const char *names[3];
	struct hello_result r;

	(void)state;
	ids[2].host = "n3";
	r = check(ids, 3, names, &arena);
	assert_null(r.refusal);
	assert_string_equal(names[1], "rank-1");
	arena_release(&arena);
}

/* Sorted, not compared each with each. */
static void ten_thousand_nodes_are_compared_at_once(void **state)
{
	enum { N = 10000 };
	struct arena arena = {0};
	struct identity *ids = arena_array(&arena, N, sizeof(*ids));
	const char **names = arena_array(&arena, N, sizeof(*names));
	struct hello_result r;

	(void)state;
	for (int i = 0; i < N; i++)
		ids[i] = node(arena_strf(&arena, "n%d", i), arena_strf(&arena, "b%d", i));
	assert_null(check(ids, N, names, &arena).refusal);
	ids[N - 1] = ids[17];
	r = check(ids, N, names, &arena);
	assert_non_null(strstr(r.refusal, "ranks 17 and 9999"));
	arena_release(&arena);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_node_reads_and_tells_itself(void **state)
{
	char root[] = "/tmp/test-hello-XXXXXX";
	struct arena arena = {0};
	struct identity id, back;
	struct str text = {0};
	struct json_out j;
	struct json_doc doc;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(system(tmpf("mkdir -p %s/etc %s/proc/sys/kernel/random "
	                             "%s/proc/driver/nvidia/gpus/0000:17:00.0 "
	                             "%s/proc/driver/nvidia/gpus/0000:2a:00.0",
	                             root, root, root, root)),
	                 0);
	write_text(tmpf("%s/etc/machine-id", root), "abc\n");
	write_text(tmpf("%s/proc/sys/kernel/random/boot_id", root), "def\n");
	write_text(tmpf("%s/proc/driver/nvidia/gpus/0000:17:00.0/information", root),
	           "Model: \t\t NVIDIA\nGPU UUID: \t GPU-1b2c\nVideo BIOS: \t ??\n");
	write_text(tmpf("%s/proc/driver/nvidia/gpus/0000:2a:00.0/information", root),
	           "GPU UUID: \t GPU-?\?\?-?\n");
	identity_read(&id, &arena, root, "n1", "0.1", "--nodes 2\n");
	assert_string_equal(id.machine_id, "abc");
	assert_string_equal(id.boot_id, "def");
	assert_int_equal(id.n_cards, 2);
	j = json_writer(&text, 0);
	json_object_begin(&j, NULL);
	identity_write(&id, &j);
	json_object_end(&j);
	assert_int_equal(json_parse(&doc, "t", text.data, text.len, JSON_STRICT, NULL), ST_OK);
	identity_parse(&back, &arena, doc.root);
	json_release(&doc);
	assert_string_equal(back.host, "n1");
	assert_string_equal(back.version, "0.1");
	assert_string_equal(back.options, "--nodes 2\n");
	assert_int_equal(back.n_cards, 2);
	/* A driver that does not know the UUID yet writes question marks. */
	assert_true(strcmp(back.cards[0], "GPU-1b2c") == 0 ||
	            strcmp(back.cards[1], "GPU-1b2c") == 0);
	assert_true(strcmp(back.cards[0], "0000:2a:00.0") == 0 ||
	            strcmp(back.cards[1], "0000:2a:00.0") == 0);
	str_release(&text);
	arena_release(&arena);
	assert_int_equal(system(tmpf("rm -rf %s", root)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(different_nodes_keep_their_names),
		cmocka_unit_test(names_are_fit_for_files_and_never_the_same),
		cmocka_unit_test(two_ranks_on_one_node_are_refused),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(another_build_is_noted),
		cmocka_unit_test(other_options_are_refused),
		cmocka_unit_test(a_thousand_copies_are_said_in_few_lines),
		cmocka_unit_test(a_card_that_two_have_is_refused),
		cmocka_unit_test(containers_clones_and_namesakes_are_said),
		cmocka_unit_test(who_said_nothing_has_a_name_too),
		cmocka_unit_test(ten_thousand_nodes_are_compared_at_once),
		cmocka_unit_test(a_node_reads_and_tells_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
