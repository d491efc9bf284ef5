// Writes what the tools of other projects are to run, and what must come out:
//
//   accept_cases FOLDER MODEL...
//
// For every MODEL of tests/golden: MODEL.prefill.args and MODEL.decode.args (a line per argument of the module, as
// iree-run-module takes them, "6x64xbf16=@FOLDER/MODEL.3.bin"; "{prefill}.1" stands for the file of the prefill's
// result 1), MODEL.prefill.want and MODEL.decode.want (logits of the reference, f32) and MODEL.tolerance.
// The prefill takes the first tokens of the reference's prompt, the decode one more of them in the same row.
// For the packed formats: dequant.mlir, a function that takes the vectors of tests/data/quant and returns their
// values, dequant.args, and dequant.names: a line per result, "NAME FILE" of what it must be.
#define _POSIX_C_SOURCE 200809L
// cmocka, of the oracle's reader, wants these before its own header
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"
#include "backend/xla/program/program.h"
#include "backend/xla/xla_storage.h"
#include "model/arch_of_files.h"
#include "base/file.h"
#include "model/dtype.h"
#include "support/oracle.h"

enum { PREFILL_TOKENS = 6, ROWS = 2, CAPACITY = 32 };  // as tests/golden has them

static void must(cel_status s, const cel_err *err) {
  if (s == CEL_OK) return;
  fprintf(stderr, "accept_cases: %s\n", err->text);
  exit(1);
}

static void write_bytes(const char *path, const void *data, int64_t bytes) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(data, 1, (size_t)bytes, f) == (size_t)bytes;
  if (f) ok = fclose(f) == 0 && ok;
  if (ok) return;
  fprintf(stderr, "accept_cases: %s cannot be written\n", path);
  exit(1);
}

// "6x64xbf16=@"
static void print_type(cel_buf *out, const cel_hlo_type *t) {
  for (int i = 0; i < t->rank; i++) cel_buf_printf(out, "%lldx", (long long)t->dims[i]);
  cel_buf_printf(out, "%s=@", cel_etype_spelling(t->etype));
}

// ---- models ---------------------------------------------------------------------------------------------

typedef struct subject {
  const char *folder, *name;
  cel_checkpoint *checkpoint;
  cel_arena arena;
  cel_arch arch;
  float divisors[512];
  cel_storage_source storage;
  oracle *oracle;
} subject;

static void subject_open(subject *s, const char *folder, const char *name) {
  cel_err err = {0};
  cel_arch a;
  *s = (subject){.folder = folder, .name = name, .oracle = oracle_load(name)};
  cel_arena_init(&s->arena);
  must(cel_checkpoint_open(s->oracle->path, &s->checkpoint, &err), &err);
  must(cel_arch_from_config(s->checkpoint->config, NULL, &s->arena, &a, &err), &err);
  s->arch = cel_checkpoint_arch(&a, s->checkpoint, s->divisors);
  s->storage = cel_xla_storage(s->checkpoint);
}

static void subject_close(subject *s) {
  cel_checkpoint_close(s->checkpoint);
  cel_arena_deinit(&s->arena);
  oracle_free(s->oracle);
}

// What the input `name` holds at k. Prefill: positions 0 .. of row 0. Decode: the next position of row 0; its other
// row is padding, which has a slot past the end.
static int32_t input_value(const subject *s, cel_entry entry, const char *name, int64_t k) {
  bool prefill = entry == CEL_ENTRY_PREFILL;
  if (!strcmp(name, "tokens")) return s->oracle->cases[0].ids[prefill ? k : k == 0 ? PREFILL_TOKENS : 0];
  if (!strcmp(name, "positions")) return (int32_t)(prefill ? k : k == 0 ? PREFILL_TOKENS : 0);
  if (!strcmp(name, "last")) return PREFILL_TOKENS - 1;
  return prefill || k == 0 ? 0 : ROWS;  // slot, slots
}

static void rope_rows(const subject *s, cel_entry entry, const cel_param *q, float *out) {
  float amplitude;
  const cel_rope *r = &s->arch.ropes[q->name[11] - '0'];  // "rope_freqs.0"
  int64_t length = entry == CEL_ENTRY_PREFILL ? PREFILL_TOKENS : PREFILL_TOKENS + 1;
  for (int64_t k = 0; k < q->type->dims[0]; k++) cel_rope_frequencies(r, length, out + k * (r->dims / 2), &amplitude);
}

static void write_argument(const subject *s, cel_entry entry, const cel_param *q, const char *path) {
  if (q->kind == CEL_PARAM_WEIGHT) {
    const cel_tensor *t = cel_checkpoint_find(s->checkpoint, q->name);
    if (!t || t->bytes != cel_hlo_bytes(q->type)) {
      fprintf(stderr, "accept_cases: %s: no tensor %s of the argument's size\n", s->name, q->name);
      exit(1);
    }
    void *whole = malloc((size_t)t->bytes + 1);  // experts may lie apart
    if (!whole) exit(1);
    cel_tensor_copy(t, whole);
    write_bytes(path, whole, t->bytes);
    free(whole);
    return;
  }
  int64_t bytes = cel_hlo_bytes(q->type);
  void *data = calloc(1, (size_t)bytes + 1);
  if (!data) exit(1);
  int64_t n = q->type->etype == CEL_ET_I32 ? cel_hlo_elements(q->type) : 0;
  for (int64_t k = 0; k < n; k++) ((int32_t *)data)[k] = input_value(s, entry, q->name, k);
  if (!strncmp(q->name, "rope_freqs", 10)) rope_rows(s, entry, q, data);
  write_bytes(path, data, bytes);
  free(data);
}

// One line, and the file it names unless that is a result of the prefill.
static void argument_line(const subject *s, cel_entry entry, const cel_param *q, int index, cel_buf *lines) {
  print_type(lines, q->type);
  if (q->kind == CEL_PARAM_STATE && entry == CEL_ENTRY_DECODE) {
    cel_buf_printf(lines, "{prefill}.%d\n", q->alias_result);
    return;
  }
  char path[1200];
  bool shared = q->kind == CEL_PARAM_WEIGHT;  // weights are the same, in the same order, in both entries
  snprintf(path, sizeof path, "%s/%s.%s%d.bin", s->folder, s->name, shared ? "" : cel_entry_name(entry), index);
  if (!shared || entry == CEL_ENTRY_PREFILL) write_argument(s, entry, q, path);
  cel_buf_printf(lines, "%s\n", path);
}

static void write_entry(const subject *s, cel_entry entry) {
  cel_err err = {0};
  cel_hlo_module *m;
  cel_program *p;
  bool prefill = entry == CEL_ENTRY_PREFILL;
  cel_emit_options options = {.entry = entry, .tokens = prefill ? PREFILL_TOKENS : ROWS, .rows = ROWS,
                              .capacity = CAPACITY, .logits = prefill ? CEL_LOGITS_LAST : CEL_LOGITS_ALL};
  must(cel_emit_text(&s->arch, &s->storage, &options, &m, &err), &err);
  must(cel_program_new(m, NULL, &p, &err), &err);
  cel_buf lines = {0};
  for (int i = 0; i < p->n_params; i++) argument_line(s, entry, &p->params[i], i, &lines);
  cel_program_free(p);
  char path[1200];
  snprintf(path, sizeof path, "%s/%s.%s.args", s->folder, s->name, cel_entry_name(entry));
  write_bytes(path, lines.p, (int64_t)lines.n);
  cel_buf_deinit(&lines);
  const oracle *o = s->oracle;
  int64_t position = prefill ? PREFILL_TOKENS - 1 : PREFILL_TOKENS;
  snprintf(path, sizeof path, "%s/%s.%s.want", s->folder, s->name, cel_entry_name(entry));
  write_bytes(path, o->logits + (o->cases[0].first_row + position) * o->vocab, o->vocab * 4);
}

static void write_model(const char *folder, const char *name) {
  subject s;
  char path[1200], text[40];
  subject_open(&s, folder, name);
  write_entry(&s, CEL_ENTRY_PREFILL);
  write_entry(&s, CEL_ENTRY_DECODE);
  snprintf(path, sizeof path, "%s/%s.tolerance", folder, name);
  int n = snprintf(text, sizeof text, "%.9g\n", s.oracle->tolerance);
  write_bytes(path, text, n);
  subject_close(&s);
}

// ---- packed formats -------------------------------------------------------------------------------------

typedef struct dequant {
  const char *folder;
  cel_hlo_module *module;
  cel_hlo_builder b;
  cel_buf args, names;
  hlo results[64];
  int n;
} dequant;

static hlo array_argument(dequant *d, cel_etype e, const char *name, const char *what, const char *data, uint32_t bytes) {
  char path[1200], label[80];
  int64_t dims[2] = {1, bytes / (uint32_t)cel_etype_bytes(e)};
  snprintf(label, sizeof label, "%s_%s", name, what);
  hlo v = cel_hlo_arg(&d->b, label, cel_hlo_tensor(d->module, e, 2, dims));
  snprintf(path, sizeof path, "%s/dequant.%s.bin", d->folder, label);
  write_bytes(path, data, bytes);
  if (v) print_type(&d->args, v->type);
  cel_buf_printf(&d->args, "%s\n", path);
  return v;
}

typedef struct vector {
  char *file;
  uint32_t sizes[4];  // bytes of the packed values, the scales and the biases; number of values
  const char *packed, *scales, *biases, *want;
} vector;

static vector read_vector(const char *name) {  // the layout: tests/oracle/make_quant_vectors.py
  cel_err err = {0};
  char path[1200];
  vector v;
  snprintf(path, sizeof path, "%s/data/quant/%s.bin", CEL_TEST_DATA, name);
  must(cel_read_file(path, 1 << 20, &v.file, NULL, &err), &err);
  memcpy(v.sizes, v.file + 4, sizeof v.sizes);
  v.packed = v.file + 20;
  v.scales = v.packed + v.sizes[0];
  v.biases = v.scales + v.sizes[1];
  v.want = v.biases + v.sizes[2];
  return v;
}

// The arguments of one vector. `s` lacks what the file says: cols and row_bytes. The values are computed once all
// arguments are there, so they are kept.
typedef struct pending {
  char name[40];
  cel_storage storage;
  hlo packed, scales, biases;
} pending;

static pending declare(dequant *d, const char *name, cel_storage s) {
  vector v = read_vector(name);
  pending p = {.storage = s};
  char path[1200];
  snprintf(p.name, sizeof p.name, "%s", name);
  bool words = s.bits > 0;  // MLX packs into 32-bit words
  p.storage.rows = 1;
  p.storage.cols = v.sizes[3];
  p.storage.row_bytes = words ? 0 : v.sizes[0];
  p.packed = array_argument(d, words ? CEL_ET_UI32 : CEL_ET_UI8, name, "packed", v.packed, v.sizes[0]);
  if (words) p.scales = array_argument(d, s.scale_type, name, "scales", v.scales, v.sizes[1]);
  if (!strcmp(s.format, "affine")) p.biases = array_argument(d, s.scale_type, name, "biases", v.biases, v.sizes[2]);
  snprintf(path, sizeof path, "%s/dequant.%s.want", d->folder, name);
  write_bytes(path, v.want, (int64_t)v.sizes[3] * 4);
  cel_buf_printf(&d->names, "%s %s\n", name, path);
  free(v.file);
  return p;
}

static int declare_all(dequant *d, pending *out) {
  static const struct {
    const char *type;
    int group;
    cel_etype etype;
  } kinds[] = {{"F32", 32, CEL_ET_F32}, {"F16", 64, CEL_ET_F16}, {"BF16", 128, CEL_ET_BF16}};
  static const struct {
    const char *format;
    int bits, group;
    cel_etype scales;
  } modes[] = {{"mxfp4", 4, 32, CEL_ET_UI8}, {"mxfp8", 8, 32, CEL_ET_UI8}, {"nvfp4", 4, 16, CEL_ET_UI8}, {"fp8", 8, 64, CEL_ET_F32}};
  int n = 0;
  char name[40];
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    if (t->block <= 1) continue;
    snprintf(name, sizeof name, "gguf_%s", t->name);
    out[n++] = declare(d, name, (cel_storage){.format = t->name});
  }
  for (int bits = 2; bits <= 8; bits++) {
    for (int k = 0; bits != 7 && k < CEL_COUNT(kinds); k++) {
      snprintf(name, sizeof name, "affine_%d_%d_%s", bits, kinds[k].group, kinds[k].type);
      out[n++] = declare(d, name, (cel_storage){.format = "affine", .bits = bits, .group = kinds[k].group,
                                                .scale_type = kinds[k].etype});
    }
  }
  for (int i = 0; i < CEL_COUNT(modes); i++) {
    snprintf(name, sizeof name, "mode_%s", modes[i].format);
    out[n++] = declare(d, name, (cel_storage){.format = modes[i].format, .bits = modes[i].bits, .group = modes[i].group,
                                              .scale_type = modes[i].scales});
  }
  return n;
}

static void write_dequant(const char *folder) {
  cel_err err = {0};
  dequant d = {.folder = folder};
  pending all[64];
  must(cel_hlo_module_new("dequant", &d.module, &err), &err);
  cel_hlo_builder_init(&d.b, d.module);
  cel_hlo_func_begin(&d.b, "main", false);
  d.n = declare_all(&d, all);
  for (int i = 0; i < d.n; i++) {
    const pending *p = &all[i];
    cel_hlo_path(&d.b, "%s", p->name);
    d.results[i] = cel_emit_dequantize(&d.b, &p->storage, p->packed, p->scales, p->biases, 1);
  }
  cel_hlo_return(&d.b, d.results, d.n);
  must(d.b.err.status, &d.b.err);
  cel_buf text = {0};
  must(cel_hlo_print(d.module, &text, &err), &err);
  char path[1200];
  const struct {
    const char *suffix;
    const cel_buf *content;
  } files[] = {{"mlir", &text}, {"args", &d.args}, {"names", &d.names}};
  for (int i = 0; i < CEL_COUNT(files); i++) {
    snprintf(path, sizeof path, "%s/dequant.%s", folder, files[i].suffix);
    write_bytes(path, files[i].content->p, (int64_t)files[i].content->n);
  }
  cel_buf_deinit(&text);
  cel_buf_deinit(&d.args);
  cel_buf_deinit(&d.names);
  cel_hlo_module_free(d.module);
}

int main(int argc, char **argv) {
  cel_err err = {0};
  if (argc < 3) {
    fprintf(stderr, "usage: accept_cases FOLDER MODEL...\n");
    return 2;
  }
  must(cel_make_dirs(argv[1], &err), &err);
  for (int i = 2; i < argc; i++) write_model(argv[1], argv[i]);
  write_dequant(argv[1]);
  return 0;
}
