/* The portable SHA-256 and the one with the processor's instructions must agree
 * for every length and every way of handing the bytes over. The portable one is
 * compiled into this file under other names. */
#include "tests/unit/unit.h"

#include <string.h>

#define SHA256_PORTABLE
#define sha256_init portable_init
#define sha256_add  portable_add
#define sha256_hex  portable_hex
#define sha256_text portable_text
#include "base/sha256.c"
#undef sha256_init
#undef sha256_add
#undef sha256_hex
#undef sha256_text

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_hex(struct sha256 *s, char hex[SHA256_HEX]);
void sha256_text(const void *data, size_t len, char hex[SHA256_HEX]);

static void both_know_the_standard_vectors(void **state)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		/* FIPS 180-4 examples */
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		sha256_text(rows[i].text, strlen(rows[i].text), hex);
		assert_string_equal(hex, rows[i].hex);
		portable_text(rows[i].text, strlen(rows[i].text), hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

static void both_agree_at_every_length_and_split(void **state)
{
	unsigned char data[400];
	char one[SHA256_HEX], two[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 167 + 13);
	for (size_t len = 0; len <= sizeof(data); len++) {
		portable_text(data, len, one);
		for (size_t first = 0; first <= len; first += 1 + len / 7) {
			struct sha256 s;

			sha256_init(&s);
			sha256_add(&s, data, first);
			sha256_add(&s, data + first, len - first);
			sha256_hex(&s, two);
			assert_string_equal(one, two);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_know_the_standard_vectors),
		cmocka_unit_test(both_agree_at_every_length_and_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
