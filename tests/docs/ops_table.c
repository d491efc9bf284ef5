// Prints docs/ops.md: every operation of op.def, and what the code itself says of it.
#include <stdio.h>

#include "backend/xla/engine/native/plan/plan.h"
#include "backend/xla/engine/native/ref/ref.h"

static const char head[] =
    "# Operations\n"
    "\n"
    "Written by `make docs` from `src/backend/xla/hlo/op.def`; a test fails when this page is not what the code says.\n"
    "Every operation here is parsed, printed and verified, and has a self-checking program in `tests/hlo/`; one that is\n"
    "not in the list is refused by name when it is to run.\n"
    "\n"
    "- **evaluated**: the reference evaluator (`engine/native/ref/`) has a function for it, which defines what it means.\n"
    "- **f32 kernel**: on f32 tensors the native engine groups it with its neighbours and runs it by a vector kernel.\n"
    "  Without one the native engine inlines calls and composites, reads reshapes and broadcasts in place where it can,\n"
    "  and gives the rest to the reference evaluator.\n"
    "\n"
    "| operation | regions | evaluated | f32 kernel |\n"
    "|---|---|---|---|\n";

static bool has_kernel(cel_hlo_opcode code) {
  cel_hlo_type f32 = {.kind = CEL_HLO_KIND_TENSOR, .etype = CEL_ET_F32, .rank = 1, .dims = {8}};
  cel_hlo_value operand = {.type = &f32}, *operands[2] = {&operand, &operand}, result = {.type = &f32};
  cel_hlo_op op = {.opcode = code, .operands = operands, .n_operands = 2, .results = &result, .n_results = 1};
  cel_node node = {.op = &op, .n_in = 2, .n_out = 1};
  cel_plan plan = {.kernels = cel_kernels_scalar};
  cel_micro micro;
  return cel_plan_micro(&plan, &node, &micro);
}

static void row(cel_hlo_opcode code, const char *name, int n_regions) {
  char regions[16];
  snprintf(regions, sizeof regions, "%d", n_regions);
  bool terminator = code == CEL_HLO_RETURN || code == CEL_HLO_REGION_RETURN;
  const char *evaluated = terminator ? "ends a region" : cel_ref_knows(code) ? "yes"
                          : code == CEL_HLO_CUSTOM_CALL ? "`@check.*` only" : "no";
  printf("| `%s` | %s | %s | %s |\n", name, n_regions < 0 ? "any" : n_regions ? regions : "", evaluated,
         has_kernel(code) ? "yes" : "");
}

int main(void) {
  fputs(head, stdout);
#define CEL_HLO_OP(code, name, n_regions) row(CEL_HLO_##code, name, n_regions);
#include "backend/xla/hlo/op.def"
#undef CEL_HLO_OP
  return ferror(stdout) || fflush(stdout) != 0;
}
