// Inside the builder: what its files share.
#ifndef CEL_XLA_HLO_BUILD_CORE_H
#define CEL_XLA_HLO_BUILD_CORE_H

#include "backend/xla/hlo/build.h"
#include "backend/xla/hlo/infer.h"

static inline bool cel_build_ok(const cel_hlo_builder *b) { return b->err.status == CEL_OK; }
// Makes the error in b->err stick, with operation and path; for memory that ran out.
void cel_build_oom(cel_hlo_builder *b);
// An operation with these operands, or NULL after an error or when an operand is NULL (or belongs to
// another function).
cel_hlo_op *cel_build_op(cel_hlo_builder *b, cel_hlo_opcode opcode, const hlo *operands, int n, int n_regions);
// Adds an attribute; `attr` NULL means that memory ran out.
void cel_build_attr(cel_hlo_builder *b, cel_hlo_op *op, cel_hlo_attr *attr);
void cel_build_ints(cel_hlo_builder *b, cel_hlo_op *op, const char *name, const int64_t *values, int n);
void cel_build_int(cel_hlo_builder *b, cel_hlo_op *op, const char *name, int64_t value);  // i64
// Infers, appends, and gives the first result (NULL when there is none).
hlo cel_build_finish(cel_hlo_builder *b, cel_hlo_op *op);
// The same where the result is declared; `type` NULL means that it could not be made.
hlo cel_build_finish_as(cel_hlo_builder *b, cel_hlo_op *op, const cel_hlo_type *type);
hlo cel_build_finish_many(cel_hlo_builder *b, cel_hlo_op *op, const cel_hlo_type *const *types, int n);
// A tensor type; makes an error stick that names the dimensions when it cannot be.
const cel_hlo_type *cel_build_type(cel_hlo_builder *b, const char *what, cel_etype e, int rank, const int64_t *dims);
// The operand's type, or NULL.
static inline const cel_hlo_type *cel_build_type_of(hlo x) { return x ? x->type : NULL; }

#endif
