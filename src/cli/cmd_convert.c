// mlxcel convert, mlxcel quantize: a model's files as other ones.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/env.h"
#include "cli/convert.h"

// ---- options ----------------------------------------------------------------------------------------------

static const struct { const char *word; cel_dtype dtype; } dtypes[] = {
  {"f32", CEL_DT_F32}, {"f16", CEL_DT_F16}, {"bf16", CEL_DT_BF16}, {"float32", CEL_DT_F32}, {"float16", CEL_DT_F16}, {"bfloat16", CEL_DT_BF16},
};
static const struct { const char *word; cel_dtype dtype; } block_types[] = {{"q8_0", CEL_DT_Q8_0}, {"q4_0", CEL_DT_Q4_0}};
static const struct { const char *word; int bits, group; } modes[] = {{"affine", 4, 64}, {"mxfp4", 4, 32}, {"mxfp8", 8, 32}, {"nvfp4", 4, 16}};

static bool ends_in_gguf(const char *path) { return cel_str_ends(cel_str_of(path), CEL_STR(".gguf")); }

static int read_dtype(const cli_options *o, cel_conversion_options *c) {
  if (!o->dtype) return EXIT_OK;
  for (int i = 0; i < CEL_COUNT(dtypes); i++) {
    if (strcasecmp(o->dtype, dtypes[i].word) != 0) continue;
    c->dtype_given = true;
    c->dtype = dtypes[i].dtype;
    return EXIT_OK;
  }
  return cli_usage("--dtype takes f32, f16 or bf16, not \"%.60s\"", o->dtype);
}

// "500M", "5GB", "1000000": as other tools, GB is 1024^3.
static int read_shard_bytes(const cli_options *o, cel_conversion_options *c) {
  if (!o->shard_size) return EXIT_OK;
  char *end;
  double n = strtod(o->shard_size, &end);
  static const struct { const char *word; double bytes; } units[] = {
    {"", 1}, {"K", 1024}, {"KB", 1024}, {"M", 1048576}, {"MB", 1048576}, {"G", 1073741824}, {"GB", 1073741824}};
  for (int i = 0; end != o->shard_size && i < CEL_COUNT(units); i++) {
    if (strcasecmp(end, units[i].word) != 0 || !(n * units[i].bytes >= 1 && n * units[i].bytes <= 1e18)) continue;
    c->shard_bytes = (int64_t)(n * units[i].bytes);
    return EXIT_OK;
  }
  return cli_usage("--shard-size takes a size like 500M or 5G, not \"%.60s\"", o->shard_size);
}

static int check_places(const cli_options *o, cel_format to) {
  int status = cli_one_model(o);
  if (status) return status;
  if (!o->destination || !*o->destination) return cli_usage("give the destination with -o: a folder's name, or one that ends in .gguf");
  if (to == CEL_FORMAT_GGUF && !ends_in_gguf(o->destination)) return cli_usage("-o %.200s: a GGUF file's name ends in .gguf", o->destination);
  if (to == CEL_FORMAT_SAFETENSORS && ends_in_gguf(o->destination)) {
    return cli_usage("-o %.200s: this makes a folder of safetensors, whose name does not end in .gguf", o->destination);
  }
  return EXIT_OK;
}

static int read_convert(const cli_options *o, cel_conversion_options *c) {
  c->to = o->destination && ends_in_gguf(o->destination) ? CEL_FORMAT_GGUF : CEL_FORMAT_SAFETENSORS;
  if (o->to && !strcmp(o->to, "gguf")) c->to = CEL_FORMAT_GGUF;
  else if (o->to && !strcmp(o->to, "safetensors")) c->to = CEL_FORMAT_SAFETENSORS;
  else if (o->to) return cli_usage("--to takes safetensors or gguf, not \"%.60s\"", o->to);
  int status = read_dtype(o, c);
  if (!status) status = read_shard_bytes(o, c);
  if (status) return status;
  c->scheme = (cel_scheme){.kind = c->dtype_given ? CEL_SCHEME_PLAIN : CEL_SCHEME_KEEP, .dtype = c->dtype};
  return check_places(o, c->to);
}

static int read_blocks(const cli_options *o, cel_conversion_options *c) {
  if (o->mode || o->bits || o->group_size) return cli_usage("--type is GGUF's, --bits, --group and --mode are MLX's: give one or the other");
  for (int i = 0; i < CEL_COUNT(block_types); i++) {
    if (strcasecmp(o->type, block_types[i].word) != 0) continue;
    c->scheme = (cel_scheme){.kind = CEL_SCHEME_BLOCKS, .dtype = block_types[i].dtype};
    return EXIT_OK;
  }
  return cli_usage("--type takes q8_0 or q4_0, not \"%.60s\"", o->type);
}

static int read_mlx(const cli_options *o, cel_conversion_options *c) {
  int m = 0;
  while (o->mode && m < CEL_COUNT(modes) && strcmp(o->mode, modes[m].word) != 0) m++;
  if (m == CEL_COUNT(modes)) return cli_usage("--mode takes affine, mxfp4, mxfp8 or nvfp4, not \"%.60s\"", o->mode);
  int64_t bits = o->bits ? o->bits : modes[m].bits, group = o->group_size ? o->group_size : modes[m].group;
  if (m > 0 && (bits != modes[m].bits || group != modes[m].group)) {
    return cli_usage("%s has %d bits in groups of %d, not %lld in %lld", modes[m].word, modes[m].bits, modes[m].group, (long long)bits,
                     (long long)group);
  }
  if (m == 0 && !((bits >= 2 && bits <= 6) || bits == 8)) return cli_usage("--bits takes 2, 3, 4, 5, 6 or 8, not %lld", (long long)bits);
  if (m == 0 && group != 32 && group != 64 && group != 128) return cli_usage("--group takes 32, 64 or 128, not %lld", (long long)group);
  c->scheme = (cel_scheme){.kind = m ? CEL_SCHEME_MICRO : CEL_SCHEME_AFFINE, .bits = (int)bits, .group = (int)group};
  return EXIT_OK;
}

static int read_quantize(const cli_options *o, cel_conversion_options *c) {
  c->to = o->type ? CEL_FORMAT_GGUF : CEL_FORMAT_SAFETENSORS;
  if (!o->type && o->destination && ends_in_gguf(o->destination)) return cli_usage("a GGUF file is quantized with --type q8_0 or q4_0");
  int status = o->type ? read_blocks(o, c) : read_mlx(o, c);
  if (!status) status = read_dtype(o, c);
  if (!status) status = read_shard_bytes(o, c);
  return status ? status : check_places(o, c->to);
}

// ---- on the terminal ----------------------------------------------------------------------------------------

typedef struct meter {
  bool bar, shown;
  double began_ms, drawn_ms;
} meter;

static void wipe(meter *m) {
  if (m->shown) fputs("\r\033[K", stderr);
  m->shown = false;
}

static void note(void *context, const char *text) {
  wipe(context);
  fprintf(stderr, "note: %s\n", text);
}

static bool progress(void *context, int64_t done, int64_t total) {
  meter *m = context;
  double now = cel_now_ms(), part = total ? (double)done / (double)total : 1;
  if (cli_interrupted) return false;
  if (!m->bar || now - m->began_ms < 500 || (m->shown && now - m->drawn_ms < 200)) return true;
  int n = (int)(part * 30);
  fprintf(stderr, "\r\033[K[%.*s%*s] %3d %%  %.1f of %.1f million values", n, "##############################", 30 - n, "", (int)(part * 100),
          (double)done / 1e6, (double)total / 1e6);
  m->drawn_ms = now;
  m->shown = true;
  return true;
}

static void report(const cli_options *o, const cel_conversion *v, double ms) {
  cel_conversion_facts f = cel_conversion_ask(v);
  fprintf(stderr, "%lld tensors, %.1f MiB (%.2f bits a value)", (long long)f.n_tensors, (double)f.bytes / 1048576.0,
          f.n_values ? 8.0 * (double)f.bytes / (double)f.n_values : 0.0);
  if (f.n_files > 1) fprintf(stderr, " in %d files", f.n_files);
  if (f.n_quantized) fprintf(stderr, ", %lld matrices quantized", (long long)f.n_quantized);
  if (f.n_left) fprintf(stderr, ", %lld left plain (their rows are no whole groups)", (long long)f.n_left);
  fprintf(stderr, ", %.1f s\n", ms / 1e3);
  printf("%s\n", o->destination);
}

// ---- the work -----------------------------------------------------------------------------------------------

typedef struct job {
  const cli_options *o;
  cel_conversion_options c;
  cel_buf path, name;
  cel_checkpoint *from;
  cli_baggage baggage;
  cel_conversion *v;
  cel_pool *pool;
  meter m;
} job;

static cel_status set_name(job *j, cel_err *err) {
  const char *p = j->o->destination, *slash = strrchr(p, '/');
  p = slash ? slash + 1 : p;
  cel_buf_add(&j->name, p, strlen(p) - strlen(".gguf"));
  return j->name.failed ? cel_fail_oom(err, "a name") : CEL_OK;
}

static cel_status prepare(job *j, cel_err *err) {
  CEL_TRY(cli_model_path(j->o, &j->path, err));
  CEL_TRY(cel_checkpoint_open(j->path.p, &j->from, err));
  CEL_TRY(cli_baggage_pack(&j->baggage, j->from, j->c.to, note, &j->m, err));
  if (j->c.to == CEL_FORMAT_GGUF) CEL_TRY(set_name(j, err));
  j->c.name = j->name.p;
  j->c.vocab = j->baggage.has_vocab ? &j->baggage.vocab : NULL;
  j->c.files = j->baggage.files;
  j->c.n_files = (int)j->baggage.n_files;
  j->c.note = note;
  j->c.note_context = &j->m;
  return cel_conversion_new(j->from, &j->c, &j->v, err);
}

static cel_status work(job *j, cel_err *err) {
  const cel_write_watch watch = {progress, &j->m};
  int threads = j->o->threads ? (int)j->o->threads : cel_cpu_cores();
  CEL_TRY(prepare(j, err));
  CEL_TRY(cel_pool_new(threads, &j->pool, err));
  CEL_TRY(cel_conversion_write(j->v, j->o->destination, j->o->replace, j->pool, &watch, err));
  if (j->baggage.carried) CEL_TRY(cli_compare_tokenizers(j->path.p, cel_conversion_path(j->v), err));
  if (cli_interrupted) return cel_fail(err, CEL_CANCELLED, "interrupted");
  return cel_conversion_commit(j->v, err);
}

static int run(const cli_options *o, const cel_conversion_options *c) {
  const char *terminal = cel_env(CEL_ENV_TERM);
  job j = {.o = o, .c = *c, .m = {.bar = isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb")), .began_ms = cel_now_ms()}};
  cel_err err = {0};
  cli_catch_ends();
  cel_status s = work(&j, &err);
  wipe(&j.m);
  if (s == CEL_OK) report(o, j.v, cel_now_ms() - j.m.began_ms);
  if (s == CEL_CANCELLED) cel_fail(&err, s, "interrupted; nothing is left of %s", o->destination);
  cel_conversion_free(j.v);
  cli_baggage_drop(&j.baggage);
  cel_checkpoint_close(j.from);
  cel_pool_free(j.pool);
  cel_buf_deinit(&j.path);
  cel_buf_deinit(&j.name);
  return s == CEL_OK ? EXIT_OK : cli_fail(&err);
}

int cmd_convert(const cli_options *o) {
  cel_conversion_options c = {0};
  int status = read_convert(o, &c);
  return status ? status : run(o, &c);
}

int cmd_quantize(const cli_options *o) {
  cel_conversion_options c = {0};
  int status = read_quantize(o, &c);
  return status ? status : run(o, &c);
}
