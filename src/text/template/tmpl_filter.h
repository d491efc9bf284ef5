// The tables of filters.
#ifndef CEL_TEXT_TEMPLATE_TMPL_FILTER_H
#define CEL_TEXT_TEMPLATE_TMPL_FILTER_H

#include "text/template/tmpl_render.h"

extern const struct cel_tmethod_row cel_tseq_filters[];  // ends with a NULL name
const struct cel_tmethod_row *cel_tfind_row(const struct cel_tmethod_row *rows, cel_str name);

#endif
