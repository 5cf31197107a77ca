/* What gemm_rows rests on: a proof is of one row at its place, data are the same
 * wherever they are made, and the check finds one element that is off. */
#include "probe_harness.h"

#include <math.h>
#include <string.h>

#include "bench/gemm_rows.h"

#define ORDER 128

/* --- proofs --------------------------------------------------------------------------------- */

static void a_proof_is_of_one_row_at_its_place(void **state)
{
	static const char rows[5][4] = {"abc", "def", "ghi", "abc", "xyz"};
	const char *proof[ROWS_DEPTH_MOST];
	struct arena arena = {0};
	struct rows_tree tree;
	const char *root;

	(void)state;
	rows_tree_make(&tree, &arena, rows, 5, sizeof(rows[0]));
	root = tree.digest[1];
	assert_int_equal(tree.depth, 3);
	assert_int_equal(rows_tree_depth(4096), ROWS_DEPTH_MOST);
	assert_true(rows_digest_valid(root));
	assert_false(rows_digest_valid("0123"));
	assert_false(rows_digest_valid(NULL));
	for (int i = 0; i < 5; i++) {
		rows_tree_proof(&tree, i, proof);
		for (int k = 0; k < 8; k++)
			assert_int_equal(rows_tree_holds(root, k, rows[i], 4, proof, 3), i == k);
		assert_false(rows_tree_holds(root, i, "abd", 4, proof, 3));
		assert_false(rows_tree_holds(root, i, rows[i], 3, proof, 3));
		assert_false(rows_tree_holds(root, i, rows[i], 4, proof, 2));
	}
	arena_release(&arena);
}

/* --- the check -------------------------------------------------------------------------------- */

static void data_are_their_places_alone(void **state)
{
	uint16_t all[96], part[32];
	uint32_t single[96], other[96];
	double values[96];
	int negative = 0;

	(void)state;
	rows_fill(NUMBER_FP16, 7, ROWS_A, 0, all, 96);
	rows_fill(NUMBER_FP16, 7, ROWS_A, 64, part, 32);
	assert_memory_equal(all + 64, part, sizeof(part));
	number_format_decode(NUMBER_FP16, all, values, 96);
	for (int i = 0; i < 96; i++) {
		assert_true(fabs(values[i]) >= 0x1p-4 && fabs(values[i]) < 1);
		negative += values[i] < 0;
	}
	assert_true(negative > 24 && negative < 72);
	rows_fill(NUMBER_FP32, 7, ROWS_A, 0, single, 96);
	rows_fill(NUMBER_FP32, 7, ROWS_B, 0, other, 96);
	assert_memory_not_equal(single, other, sizeof(single));
	rows_fill(NUMBER_FP32, 8, ROWS_A, 0, other, 96);
	assert_memory_not_equal(single, other, sizeof(single));
	number_format_decode(NUMBER_FP32, single, values, 96);
	for (int i = 0; i < 96; i++)
		assert_true(fabs(values[i]) >= 0x1p-4 && fabs(values[i]) < 1);
}

/* A row of the product in FP32, from the same data. */
static void compute_row(uint64_t seed, int row, float *to)
{
	float a[ORDER], b[ORDER];

	memset(to, 0, ORDER * sizeof(*to));
	rows_fill(NUMBER_FP32, seed, ROWS_A, (size_t)row * ORDER, a, ORDER);
	for (int k = 0; k < ORDER; k++) {
		rows_fill(NUMBER_FP32, seed, ROWS_B, (size_t)k * ORDER, b, ORDER);
		for (int j = 0; j < ORDER; j++)
			to[j] += a[k] * b[j];
	}
}

static void each_element_counts(void **state)
{
	const struct rows_shape shape = {NUMBER_FP32, ORDER};
	struct arena arena = {0};
	struct freivalds_result r;
	struct rows_exam exam;
	bool drawn[ORDER] = {0};

	(void)state;
	assert_int_equal(rows_exam_open(&exam, &arena, &shape, 5, 3, 99, NULL), ST_OK);
	for (int i = 0; i < 5; i++) {
		int place = rows_exam_draw(&exam), row = exam.check.rows[place];
		float c[ORDER];

		assert_false(drawn[row]);
		drawn[row] = true;
		compute_row(3, row, c);
		rows_exam_check(&exam, place, c, &r, NULL);
		assert_int_equal(r.checked, 2);
		assert_int_equal(r.wrong, 0);
		c[64 + i] += 0.001F;
		rows_exam_check(&exam, place, c, &r, NULL);
		assert_int_equal(r.wrong, 1);
		assert_int_equal(r.row, row);
		assert_int_equal(r.first_column, 64);
		c[i] = NAN;
		rows_exam_check(&exam, place, c, &r, NULL);
		assert_int_equal(r.wrong, 2);
		compute_row(3, (row + 1) % ORDER, c);
		rows_exam_check(&exam, place, c, &r, NULL);
		assert_int_equal(r.wrong, 2);
	}
	/* More cards than rows were made ready for. */
	assert_int_equal(rows_exam_draw(&exam), exam.turn[0]);
	rows_exam_release(&exam);
	arena_release(&arena);
}

static void rows_cannot_be_foreseen(void **state)
{
	const struct rows_shape shape = {NUMBER_FP32, ORDER};
	struct arena arena = {0};
	int least = ORDER, most = 0;

	(void)state;
	/* The first card's row, for many secrets, is anywhere. */
	for (uint64_t secret = 0; secret < 40; secret++) {
		struct rows_exam exam;
		int row;

		rows_exam_open(&exam, &arena, &shape, 4, 1, secret, NULL);
		row = exam.check.rows[rows_exam_draw(&exam)];
		least = row < least ? row : least;
		most = row > most ? row : most;
		rows_exam_release(&exam);
	}
	assert_true(least < ORDER / 8 && most >= ORDER - ORDER / 8);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_proof_is_of_one_row_at_its_place),
		cmocka_unit_test(data_are_their_places_alone),
		cmocka_unit_test(each_element_counts),
		cmocka_unit_test(rows_cannot_be_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
