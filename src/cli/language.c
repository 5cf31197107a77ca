/* The language is picked before the command line is parsed, so that what is
 * wrong with it can be said in it. Only the character set of the locale is set:
 * figures keep their decimal point, and the texts of the C library, which end
 * up in stored reasons, stay English. */
#include "cli/language.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum language pages;

static const char *locale_name(char *(*get)(const char *name), const char *category)
{
	const char *const names[] = {"LC_ALL", category, "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = get(names[i]);

		if (value && *value)
			return value;
	}
	return "";
}

enum language language_of_locale(char *(*get)(const char *name))
{
	const char *name = locale_name(get, "LC_MESSAGES");

	return strncmp(name, "zh", 2) == 0 && strchr("_.@-", name[2]) ? LANGUAGE_ZH : LANGUAGE_EN;
}

/* A locale that is not installed still tells what the terminal speaks: minimal
 * images lack zh_CN.UTF-8, and the C library brings C.UTF-8 itself. */
static bool terminal_has_utf8(void)
{
	const char *name = locale_name(getenv, "LC_CTYPE"), *set = strchr(name, '.');

	if (!setlocale(LC_CTYPE, "") && set &&
	    (strncasecmp(set, ".utf-8", 6) == 0 || strncasecmp(set, ".utf8", 5) == 0))
		setlocale(LC_CTYPE, "C.UTF-8");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool language_named(const char *word, enum language *language)
{
	if (strcmp(word, "zh") != 0 && strcmp(word, "en") != 0)
		return false;
	*language = strcmp(word, "zh") == 0 ? LANGUAGE_ZH : LANGUAGE_EN;
	return true;
}

/* Whether the option was given; a wrong value is for the parser to refuse. */
static bool option_lang(int argc, char *const *argv, enum language *language)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--lang=", 7) == 0 && language_named(argv[i] + 7, language))
			return true;
		if (strcmp(argv[i], "--lang") == 0 && i + 1 < argc &&
		    language_named(argv[i + 1], language))
			return true;
	}
	return false;
}

bool language_choose(int argc, char *const *argv)
{
	bool utf8 = terminal_has_utf8();
	bool asked;

	pages = language_of_locale(getenv);
	asked = option_lang(argc, argv, &pages);
	msg_set_reader(utf8 ? pages : LANGUAGE_EN);
	return asked && !utf8 && pages != LANGUAGE_EN;
}

enum language language_of_report(const char *format)
{
	if (strcmp(format, "terminal") == 0)
		return msg_reader();
	return word_in("html|markdown", format) ? pages : LANGUAGE_EN;
}
