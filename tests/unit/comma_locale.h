// A locale whose decimal point is a comma: one this machine has, or one made by localedef. For tests; needs X/Open names.
#ifndef CEL_TEST_COMMA_LOCALE_H
#define CEL_TEST_COMMA_LOCALE_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool has_comma(const char *name) {
  return setlocale(LC_NUMERIC, name) && !strcmp(localeconv()->decimal_point, ",");
}

// Sets LC_NUMERIC; false, and a line that says what is missing, when there is none.
static inline bool set_comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (has_comma(names[i])) return true;
  }
  char folder[] = "/tmp/comma_locale_XXXXXX", command[256];
  bool found = false;
  if (mkdtemp(folder)) {
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    found = system(command) >= 0 && setenv("LOCPATH", folder, 1) == 0 && has_comma("de_DE.UTF-8");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);  // what is set stays in memory
    if (system(command) != 0) fprintf(stderr, "%s stays behind\n", folder);
  }
  if (!found) {
    setlocale(LC_NUMERIC, "C");
    puts("skipped: no locale with a decimal comma (de_DE.UTF-8), and localedef cannot make one (Debian: locales)");
  }
  return found;
}

#endif
