// Template: a panel against all tokens, as many at a time as an instruction set has registers for. The including file defines
// TILE_TOKENS (4 or 8) and
//   void tile(const cel_panel_tile *g, cel_panel_shape f, int n)
// which multiplies a panel with 1, 2, 4 or TILE_TOKENS tokens. Internal to kernel/.
static CEL_ALWAYS_INLINE void tiles(cel_panel_tile g, cel_panel_shape f, int64_t n) {
  int64_t step;
  for (int row = 0; n > 0; n -= step, row++) {
    step = n >= TILE_TOKENS ? TILE_TOKENS : n >= 4 ? 4 : n >= 2 ? 2 : 1;
    cel_panel_ask(&g, step, row);
    if (step == TILE_TOKENS) tile(&g, f, TILE_TOKENS);
    else if (step == 4) tile(&g, f, 4);
    else if (step == 2) tile(&g, f, 2);
    else tile(&g, f, 1);
    cel_panel_skip_tokens(&g, step);
  }
}
