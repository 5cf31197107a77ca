/* What a product is held to by one digest, and the proof of a row. */
#include <string.h>

#include "gemm_rows.h"

/* A row can be taken for no pair of digests: each kind is told by what precedes it. */
static void digest_row(const void *data, size_t bytes, char hex[SHA256_HEX])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, "row", 3);
	sha256_add(&s, data, bytes);
	sha256_hex(&s, hex);
}

static void digest_pair(const char *left, const char *right, char hex[SHA256_HEX])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, "pair", 4);
	sha256_add(&s, left, SHA256_HEX - 1);
	sha256_add(&s, right, SHA256_HEX - 1);
	sha256_hex(&s, hex);
}

int rows_tree_depth(int count)
{
	int depth = 0;

	while (1 << depth < count)
		depth++;
	return depth;
}

void rows_tree_make(struct rows_tree *tree, struct arena *arena, const void *rows, int count,
                    size_t row_bytes)
{
	int leaves = 1 << (tree->depth = rows_tree_depth(count));

	tree->digest = arena_array(arena, 2 * (size_t)leaves, sizeof(*tree->digest));
	for (int i = 0; i < leaves; i++) {
		char *to = tree->digest[leaves + i];

		if (i < count)
			digest_row((const char *)rows + (size_t)i * row_bytes, row_bytes, to);
		else
			memset(to, '0', SHA256_HEX - 1);
	}
	for (int i = leaves - 1; i > 0; i--)
		digest_pair(tree->digest[2 * i], tree->digest[2 * i + 1], tree->digest[i]);
}

void rows_tree_proof(const struct rows_tree *tree, int row, const char **proof)
{
	int at = (1 << tree->depth) + row;

	for (int i = 0; i < tree->depth; i++, at /= 2)
		proof[i] = tree->digest[at ^ 1];
}

bool rows_tree_holds(const char *root, int row, const void *data, size_t bytes,
                     const char *const *proof, int depth)
{
	char have[SHA256_HEX];

	digest_row(data, bytes, have);
	for (int i = 0; i < depth; i++, row /= 2)
		digest_pair(row & 1 ? proof[i] : have, row & 1 ? have : proof[i], have);
	return strcmp(have, root) == 0;
}

bool rows_digest_valid(const char *text)
{
	return text && strlen(text) == SHA256_HEX - 1 &&
	       strspn(text, "0123456789abcdef") == SHA256_HEX - 1;
}
