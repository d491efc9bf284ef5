// Decimal numbers whatever the locale of the program around us is: '.' is the point.
// Threads: pure, as long as nobody calls setlocale meanwhile.
#ifndef CEL_BASE_NUMBER_H
#define CEL_BASE_NUMBER_H

#include <stdbool.h>

#include "base/str.h"

// The double nearest to [-+]digits[.digits][e[+-]digits], which is all of `text`. False when it is no such text or memory
// is out; too large a number gives an infinity.
bool cel_parse_double(cel_str text, double *out);

enum { CEL_NUMBER_BYTES = 40 };
// As printf("%.*g"), with '.'; digits from 1 to 17. NUL-terminated; returns the length.
int cel_print_double(char out[CEL_NUMBER_BYTES], double x, int digits);
// Of a text that printf made of one number: the locale's decimal point becomes '.', in place. Returns the length.
int cel_plain_point(char *text);

#endif
