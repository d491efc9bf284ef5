// rng_bit_generator. The generators are Threefry-2x32 with 20 rounds and Philox-4x32 with 10 rounds
// (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC 2011), laid out as XLA does:
//  - THREE_FRY: state = (key, counter). Block i enciphers counter + i. For 32-bit results the first words of
//    all blocks come first, then the second words; a 64-bit result is one block, first word low.
//  - PHILOX: state = (key, counter low, counter high), the high part 0 when the state has two words. Block i
//    enciphers counter + i and gives four 32-bit words in a row, or two 64-bit ones.
//  - DEFAULT: THREE_FRY for a state of two words, else PHILOX.
// The counter grows by the number of blocks. 8- and 16-bit results take the low bits of 32-bit ones.
#include "backend/xla/engine/native/ref/internal.h"

static uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static void threefry(uint64_t key, uint64_t counter, uint32_t *out) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
  k[2] = 0x1BD11BDA ^ k[0] ^ k[1];
  uint32_t x = (uint32_t)counter + k[0], y = (uint32_t)(counter >> 32) + k[1];
  for (uint32_t group = 0; group < 5; group++) {
    for (int r = 0; r < 4; r++) {
      x += y;
      y = rotate(y, rotations[group % 2][r]) ^ x;
    }
    x += k[(group + 1) % 3];
    y += k[(group + 2) % 3] + group + 1;
  }
  out[0] = x;
  out[1] = y;
}

static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t *out) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t a = (uint64_t)x[0] * 0xD2511F53, b = (uint64_t)x[2] * 0xCD9E8D57;
    uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
    memcpy(x, next, sizeof x);
  }
  memcpy(out, x, sizeof x);
}

// Word `i` of n 32-bit words; wide: of 2n words, two per 64-bit result.
static void fill_threefry(uint64_t *state, const cel_ref_tensor *y, int64_t n, bool wide) {
  cel_etype t = y->type->etype;
  int64_t blocks = wide ? n : n / 2 + n % 2;
  for (int64_t i = 0; i < blocks; i++) {
    uint32_t w[2];
    threefry(state[0], state[1] + (uint64_t)i, w);
    cel_ref_put_bits(t, y->data, i, wide ? w[0] | (uint64_t)w[1] << 32 : w[0]);
    if (!wide && blocks + i < n) cel_ref_put_bits(t, y->data, blocks + i, w[1]);
  }
  state[1] += (uint64_t)blocks;
}

static void fill_philox(uint64_t *state, const cel_ref_tensor *y, int64_t n, bool wide) {
  cel_etype t = y->type->etype;
  int64_t per = wide ? 2 : 4, blocks = n / per + (n % per != 0);
  for (int64_t i = 0; i < blocks; i++) {
    uint32_t w[4];
    uint64_t low = state[1] + (uint64_t)i;
    philox(state[0], low, state[2] + (low < state[1]), w);
    for (int64_t j = 0; j < per && i * per + j < n; j++)
      cel_ref_put_bits(t, y->data, i * per + j, wide ? w[2 * j] | (uint64_t)w[2 * j + 1] << 32 : w[j]);
  }
  uint64_t before = state[1];
  state[1] += (uint64_t)blocks;
  state[2] += state[1] < before;
}

cel_status cel_ref_rng_bit_generator(const cel_ref_call *c) {
  const cel_ref_tensor *in = &c->in[0], *state_out = &c->out[0], *y = &c->out[1];
  const char *algorithm = cel_ref_word(c->op, "rng_algorithm", "DEFAULT");
  int64_t words = cel_hlo_elements(in->type);
  if (c->op->n_results != 2 || in->type->etype != CEL_ET_UI64 || state_out->type->etype != CEL_ET_UI64 ||
      (words != 2 && words != 3) || cel_hlo_elements(state_out->type) != words)
    return cel_ref_misfit(c, "its state must be two or three ui64 words");
  if (!cel_etype_is_int(y->type->etype)) return cel_ref_refuse(c, y->type);
  bool is_philox = strcmp(algorithm, "PHILOX") == 0, is_threefry = strcmp(algorithm, "THREE_FRY") == 0;
  if (!is_philox && !is_threefry && strcmp(algorithm, "DEFAULT") != 0)
    return cel_fail(c->err, CEL_INVALID, "rng_bit_generator: algorithm \"%s\" is none of DEFAULT THREE_FRY PHILOX",
                    algorithm);
  if (is_threefry && words != 2) return cel_ref_misfit(c, "THREE_FRY needs a state of two words");
  uint64_t state[3] = {0};
  for (int64_t i = 0; i < words; i++) state[i] = cel_ref_get_bits(CEL_ET_UI64, in->data, i);
  int64_t n = cel_hlo_elements(y->type);
  bool wide = cel_ref_bits(y->type->etype) == 64;
  if (is_philox || words == 3)
    fill_philox(state, y, n, wide);
  else
    fill_threefry(state, y, n, wide);
  for (int64_t i = 0; i < words; i++) cel_ref_put_bits(CEL_ET_UI64, state_out->data, i, state[i]);
  return CEL_OK;
}
