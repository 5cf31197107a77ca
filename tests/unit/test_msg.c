/* The catalogue in two languages: every text has its Chinese row with the same
 * arguments, what was made in English is said again, and Chinese text keeps to
 * its columns. */
#include "unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "assay/probe.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"

/* --- the rows ------------------------------------------------------------------- */

/* How often each of {1} to {9} stands in a text; not how, languages may repeat. */
static unsigned placeholders(const char *text)
{
	unsigned set = 0;

	for (; *text; text++)
		if (text[0] == '{' && text[1] >= '1' && text[1] <= '9' && text[2] == '}')
			set |= 1u << (text[1] - '0');
	return set;
}

static bool has_chinese(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (p[0] >= 0xe4 && p[0] <= 0xe9)
			return true;
	return false;
}

/* Words of English apart from names, options and file names. */
static int english_words(const char *text)
{
	int words = 0;

	while (*text) {
		size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
		size_t len = strcspn(text, " ");

		words += letters > 1 && letters == len;
		text += len + strspn(text + len, " ");
	}
	return words;
}

/* Of a sentence in English some of these are part. */
static const char *small_word(const char *text)
{
	static const char *const list[] = {" the ", " a ",   " an ",  " is ",   " are ",
	                                   " of ",  " to ",  " not ", " has ",  " was ",
	                                   " that", " with", " for ", " which", " by "};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strstr(text, list[i]))
			return list[i];
	return NULL;
}

static void every_text_has_a_chinese_row(void **state)
{
	int missing = 0;

	(void)state;
	for (int i = 0; i < MSG_COUNT; i++) {
		const char *zh = msg_text(LANGUAGE_ZH, (enum msg)i);

		if (!zh || !*zh)
			print_error("%s has no row in messages/zh\n", msg_name((enum msg)i));
		missing += !zh || !*zh;
	}
	assert_int_equal(missing, 0);
}

static void rows_take_the_same_arguments(void **state)
{
	(void)state;
	for (int i = 0; i < MSG_COUNT; i++) {
		const char *en = msg_text(LANGUAGE_EN, (enum msg)i);
		const char *zh = msg_text(LANGUAGE_ZH, (enum msg)i);

		if (zh && placeholders(en) != placeholders(zh))
			fail_msg("%s: \"%s\" and \"%s\"", msg_name((enum msg)i), en, zh);
	}
}

static void chinese_rows_are_chinese(void **state)
{
	(void)state;
	for (int i = 0; i < MSG_COUNT; i++) {
		const char *en = msg_text(LANGUAGE_EN, (enum msg)i);
		const char *zh = msg_text(LANGUAGE_ZH, (enum msg)i);
		const char *end = zh ? zh + strlen(zh) : NULL;

		for (const char *p = zh; p && p < end; p += utf8_len(p, end))
			if (utf8_len(p, end) == 0)
				fail_msg("%s is not UTF-8", msg_name((enum msg)i));
		if (zh && english_words(en) > 1 && !has_chinese(zh))
			fail_msg("%s: nothing Chinese in \"%s\"", msg_name((enum msg)i), zh);
		if (zh && small_word(zh))
			fail_msg("%s: English left in \"%s\"", msg_name((enum msg)i), zh);
		if (zh && (strstr(zh, "/home/") || strstr(zh, "/root/") || strstr(zh, "/tmp/")))
			fail_msg("%s: a path of a machine in \"%s\"", msg_name((enum msg)i), zh);
	}
}

/* --- saying again ----------------------------------------------------------------- */

static void assert_again(const char *english, const char *chinese)
{
	struct str out = {0};

	msg_again(&out, english);
	assert_string_equal(str_text(&out), chinese);
	str_release(&out);
}

static void english_is_said_again(void **state)
{
	(void)state;
	/* English is spoken unless somebody says otherwise. */
	assert_int_equal(msg_spoken(), LANGUAGE_EN);
	assert_again("storage was left out by --skip", "storage was left out by --skip");
	assert_int_equal(msg_speak(LANGUAGE_ZH), LANGUAGE_EN);
	assert_again("storage was left out by --skip", "storage 已被 --skip 排除");
	/* One inside the other, and behind a name. */
	assert_again(
		"GPU-1 was not measured: cuInit: the driver is there and sees no card "
		"(CUDA error 100); check CUDA_VISIBLE_DEVICES, whether the container was "
		"started with GPU access (--gpus all), and dmesg for Xid",
		"GPU-1 未测：cuInit：有驱动但看不到任何卡（CUDA 错误 100）；请检查 "
		"CUDA_VISIBLE_DEVICES、容器启动时是否给了 GPU（--gpus all），以及 dmesg 中的 Xid");
	assert_again("n017 gemm: silent for 30 s", "n017 gemm: 静默 30 s");
	/* Names stay, whatever they are called; so does what is no message. */
	assert_again("reading was left out by --skip", "reading 已被 --skip 排除");
	assert_again("all cards of n017 - n018", "all cards of n017 - n018");
	assert_again("a line a program printed", "a line a program printed");
	assert_again("", "");
	assert_again("27 min", "27 分钟");
	assert_again("3 h 05 min", "3 小时 05 分");
	assert_again("a min", "a min");
	/* Each line by itself. */
	assert_again("a and b have the same machine id: images that were copied\n"
	             "b and c have the same machine id: images that were copied\n\nx",
	             "a 和 b 的 machine id 相同：由同一镜像复制而来\n"
	             "b 和 c 的 machine id 相同：由同一镜像复制而来\n\nx");
	assert_again(": ", ": ");
	assert_int_equal(msg_speak(LANGUAGE_EN), LANGUAGE_ZH);
}

static bool says_again(enum msg id)
{
	const char *args[10] = {0};
	struct str english = {0}, chinese = {0}, again = {0};
	bool same;

	for (int i = 0; i < msg_arity(msg_text(LANGUAGE_EN, id)); i++)
		args[i] = tmpf("x%d", i + 1);
	msg_speak(LANGUAGE_EN);
	msg_add_list(&english, id, args);
	msg_speak(LANGUAGE_ZH);
	msg_add_list(&chinese, id, args);
	msg_again(&again, str_text(&english));
	same = strcmp(str_text(&chinese), str_text(&again)) == 0;
	msg_speak(LANGUAGE_EN);
	str_release(&english);
	str_release(&chinese);
	str_release(&again);
	return same;
}

/* All but those that have next to no words, several lines, or the same as another. */
static void every_sentence_is_recognised(void **state)
{
	int sentences = 0, lost = 0;

	(void)state;
	for (int i = 0; i < MSG_COUNT; i++) {
		if (english_words(msg_text(LANGUAGE_EN, (enum msg)i)) < 3)
			continue;
		sentences++;
		if (!says_again((enum msg)i)) {
			print_error("not recognised: %s\n", msg_name((enum msg)i));
			lost++;
		}
	}
	assert_true(sentences > 500);
	assert_in_range(lost, 0, 5);
}

static void chinese_has_no_blanks_between_chinese(void **state)
{
	(void)state;
	assert_string_equal(say(MSG_no_reading, "机器"), "no reading of 机器 in this run");
	msg_speak(LANGUAGE_ZH);
	assert_string_equal(say(MSG_no_reading, "gemm"), "本次测试没有 gemm 的记录");
	assert_string_equal(say(MSG_no_reading, msg_format(MSG_these_figures)),
	                    "本次测试没有这些指标的记录");
	assert_string_equal(say(MSG_no_reading, ""), "本次测试没有  的记录");
	assert_string_equal(say(MSG_head_took, fmt_duration(1620)), "耗时 27 分钟");
	msg_speak(LANGUAGE_EN);
}

static void reasons_are_stored_in_english(void **state)
{
	struct arena arena = {0};
	struct probe_ctx ctx = {.arena = &arena};
	struct reason reason;
	struct str out = {0};

	(void)state;
	msg_speak(LANGUAGE_ZH);
	reason_set(&ctx, &reason, MSG_no_driver, "libcuda.so.1");
	assert_string_equal(reason.text, "no NVIDIA driver (libcuda.so.1 not found)");
	assert_int_equal(msg_spoken(), LANGUAGE_ZH);
	reason_say(&out, &reason);
	assert_string_equal(out.data, "没有 NVIDIA 驱动（未找到 libcuda.so.1）");
	str_clear(&out);
	/* Of a version that knew other messages; and with too few arguments. */
	reason.code = "of_another_version";
	reason_say(&out, &reason);
	assert_string_equal(out.data, "没有 NVIDIA 驱动（未找到 libcuda.so.1）");
	str_clear(&out);
	reason = (struct reason){.code = "no_driver", .text = "as it was written"};
	reason_say(&out, &reason);
	assert_string_equal(out.data, "as it was written");
	str_clear(&out);
	msg_speak(LANGUAGE_EN);
	reason = (struct reason){.code = "no_driver", .text = "as it was written"};
	reason_say(&out, &reason);
	assert_string_equal(out.data, "as it was written");
	str_release(&out);
	arena_release(&arena);
}

static void figures_are_written_as_the_language_does(void **state)
{
	(void)state;
	assert_string_equal(fmt_duration(3 * 3600 + 300), "3 h 05 min");
	msg_speak(LANGUAGE_ZH);
	assert_string_equal(fmt_duration(0.85), "850 ms");
	assert_string_equal(fmt_duration(12.3), "12 秒");
	assert_string_equal(fmt_duration(125), "2 分 05 秒");
	assert_string_equal(fmt_duration(1620), "27 分钟");
	assert_string_equal(fmt_duration(3 * 3600 + 300), "3 小时 05 分");
	assert_string_equal(words_subjects(SUBJECT_CARD, 1000), "1,000 张 GPU 卡");
	msg_speak(LANGUAGE_EN);
}

static void only_known_titles_are_translated(void **state)
{
	struct criterion_result own = {.id = "1", .title = "our cards"};
	struct criterion_result built_in = {.id = "1", .title = "compute authenticity"};
	struct criterion_result other = {.id = "9", .title = "compute authenticity"};

	(void)state;
	assert_string_equal(words_title(&built_in), "compute authenticity");
	msg_speak(LANGUAGE_ZH);
	assert_string_equal(words_title(&built_in), "算力真实性");
	assert_string_equal(words_title(&own), "our cards");
	assert_string_equal(words_title(&other), "compute authenticity");
	msg_speak(LANGUAGE_EN);
}

/* --- columns ------------------------------------------------------------------------ */

/* A line does not begin with what closes, nor end with what opens. */
static void assert_edges(const char *line, size_t len)
{
	static const char *const closing[] = {"，", "。", "；", "：", "）", "、", "？", "！", "”"};
	const char *first = line + strspn(line, " ");

	for (size_t i = 0; i < sizeof(closing) / sizeof(*closing); i++)
		if (str_starts(first, closing[i]))
			fail_msg("a line begins with %s: %.*s", closing[i], (int)len, line);
	if (len >= 3 && memcmp(line + len - 3, "（", 3) == 0)
		fail_msg("a line ends with a parenthesis opened: %.*s", (int)len, line);
}

/* Wrapped text: lines within the width, and nothing lost but blanks. */
static void assert_wrapped(const char *text, int width)
{
	struct str out = {0}, rest = {0}, want = {0};
	const char *line;

	words_wrap(&out, text, 4, 6, width);
	for (line = out.data; *line; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");
		struct str one = {0};

		str_addn(&one, line, len);
		if (words_columns(str_text(&one)) > width - (line == out.data ? 4 : 0))
			fail_msg("wider than %d: %s", width, str_text(&one));
		str_release(&one);
		assert_edges(line, len);
	}
	for (const char *p = out.data; *p; p++)
		if (*p != ' ' && *p != '\n')
			str_addc(&rest, *p);
	for (const char *p = text; *p; p++)
		if (*p != ' ' && *p != '\n')
			str_addc(&want, *p);
	assert_string_equal(str_text(&rest), str_text(&want));
	str_release(&out);
	str_release(&rest);
	str_release(&want);
}

static void chinese_wraps_at_every_width(void **state)
{
	(void)state;
	for (int i = 0; i < MSG_COUNT; i++) {
		const char *zh = msg_text(LANGUAGE_ZH, (enum msg)i);

		for (int width = 40; zh && width <= 80; width++)
			assert_wrapped(zh, width);
	}
}

static void assert_lines(const char *text, int width, const char *want)
{
	struct str out = {0};

	words_wrap(&out, text, 0, 2, width);
	assert_string_equal(out.data, want);
	str_release(&out);
}

static void chinese_fills_lines(void **state)
{
	(void)state;
	/* Ten columns are five characters; the comma goes with the one before it. */
	assert_lines("显存带宽与互联带宽", 10, "显存带宽与\n  互联带宽\n");
	assert_lines("显存带宽与，互联带宽", 10, "显存带宽\n  与，互联\n  带宽\n");
	assert_lines("显存（带宽）互联", 10, "显存（带\n  宽）互联\n");
	assert_lines("显存带宽（互联）", 10, "显存带宽\n  （互联）\n");
	/* Names are not taken apart where they fit; blanks go where lines end. */
	assert_lines("使用 NVLink 互联", 10, "使用\n  NVLink\n  互联\n");
	assert_lines("a b 显存", 80, "a b 显存\n");
	assert_int_equal(words_columns("GPU 卡，10 张"), 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_text_has_a_chinese_row),
		cmocka_unit_test(rows_take_the_same_arguments),
		cmocka_unit_test(chinese_rows_are_chinese),
		cmocka_unit_test(english_is_said_again),
		cmocka_unit_test(every_sentence_is_recognised),
		cmocka_unit_test(chinese_has_no_blanks_between_chinese),
		cmocka_unit_test(reasons_are_stored_in_english),
		cmocka_unit_test(figures_are_written_as_the_language_does),
		cmocka_unit_test(only_known_titles_are_translated),
		cmocka_unit_test(chinese_wraps_at_every_width),
		cmocka_unit_test(chinese_fills_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
