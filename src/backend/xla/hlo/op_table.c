// The list of operations, looked up by code and by name.
#include <string.h>

#include "backend/xla/hlo/infer.h"

typedef struct op_row {
  const char *name;
  int length, n_regions;
} op_row;

static const op_row rows[] = {
#define CEL_HLO_OP(code, name, regions) {name, (int)sizeof(name) - 1, regions},
#include "backend/xla/hlo/op.def"
#undef CEL_HLO_OP
};

// Most names share "stablehlo.": length and last character tell nearly all of them apart without a compare.
cel_hlo_opcode cel_hlo_opcode_of(cel_str name) {
  if (name.n == 0) return CEL_HLO_FOREIGN;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    const op_row *r = &rows[i];
    if ((size_t)r->length == name.n && r->name[r->length - 1] == name.p[name.n - 1] &&
        memcmp(r->name, name.p, name.n) == 0)
      return (cel_hlo_opcode)i;
  }
  return CEL_HLO_FOREIGN;
}

cel_hlo_opcode cel_hlo_opcode_by_name(const char *name) { return cel_hlo_opcode_of(cel_str_of(name)); }

const char *cel_hlo_opcode_name(cel_hlo_opcode code) {
  return (unsigned)code < CEL_HLO_FOREIGN ? rows[code].name : "an operation of another dialect";
}

int cel_hlo_opcode_regions(cel_hlo_opcode code) {
  return (unsigned)code < CEL_HLO_FOREIGN ? rows[code].n_regions : -1;
}
