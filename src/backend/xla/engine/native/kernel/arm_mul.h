// Template, behind arm_one.h and arm_unpack.h: linear_mul over a list of kinds, KINDS(X). Defines mul_listed, which is false for the others, and
// needs the panels that several tokens are multiplied with. Internal to kernel/.
KINDS(CEL_ARM_ONE)
KINDS(CEL_ARM_UNPACK)

static bool mul_listed(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                       int64_t y_stride, int64_t begin, int64_t end, cel_panel_multiply *const *panels, void *scratch) {
  static one_token *const one[LIN_KINDS] = {KINDS(CEL_ARM_ONE_BODY)};
  static cel_panel_unpack *const unpack[LIN_KINDS] = {KINDS(CEL_ARM_UNPACK_BODY)};
  const lin_kind f = kind_of(w);
  if (!one[f]) return false;
  if (n_tokens == 1) one[f](w, packed, y, begin, end);
  else cel_panel_mul(w, packed, pack_stride, n_tokens, y, y_stride, begin, end, unpack[f],
                     panels[cel_panel_of(f, cel_lin_bytes(w), wide(f))], CEL_LIN_COLS, scratch);
  return true;
}
