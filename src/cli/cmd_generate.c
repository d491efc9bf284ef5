// mlxcel generate: one prompt, one answer, as text or as one JSON object.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/prompt.h"

static bool print_piece(void *context, cel_str piece) {
  (void)context;
  fwrite(piece.p, 1, piece.n, stdout);
  return fflush(stdout) == 0 && !ferror(stdout);  // nobody reads any more: no need to go on
}

static void add_timings(cel_buf *b, const cel_lm *lm, const cel_reply *r) {
  cli_add_key(b, "timings");
  cel_buf_addc(b, '{');
  cli_add_ms(b, "load_ms", lm->open_ms + lm->load_ms);
  cli_add_ms(b, "prefill_ms", r->timings.prefill_ms);
  cli_add_ms(b, "first_token_ms", r->timings.first_token_ms);
  cli_add_ms(b, "prefill_tok_s", r->timings.prefill_tok_s);
  cli_add_ms(b, "decode_tok_s", r->timings.decode_tok_s);
  cel_buf_addc(b, '}');
}

static void add_string(cel_buf *b, const char *key, const char *value) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(value));
}

static void add_machine(cel_buf *b, const cel_lm *lm) {
  cel_description d;
  cel_memory_report m;
  lm->backend->describe(lm->model, &d);
  lm->backend->memory(lm->model, &m);
  add_string(b, "backend", d.backend);
  add_string(b, "engine", d.engine);
  add_string(b, "device", d.device);
  add_string(b, "precision", d.precision);
  add_string(b, "isa", d.isa);
  cli_add_key(b, "threads");
  cel_buf_printf(b, "%d", d.n_threads);
  cli_add_key(b, "memory");
  cel_buf_printf(b, "{\"weights\":%lld,", (long long)m.weights_bytes);
  if (m.weights_device_bytes > 0) cel_buf_printf(b, "\"weights_device\":%lld,", (long long)m.weights_device_bytes);
  cel_buf_printf(b, "\"kv\":%lld,\"arena\":%lld,\"peak_rss\":%lld}", (long long)m.kv_bytes, (long long)m.arena_bytes, (long long)cel_peak_rss_bytes());
}

static void add_logprobs(cel_buf *b, const cel_reply *r) {
  cli_add_key(b, "logprobs");
  cel_buf_addc(b, '[');
  for (int64_t i = 0; i < r->n; i++) {
    cel_buf_printf(b, "%s{\"id\":%d,\"logprob\":", i ? "," : "", r->ids[i]);
    cel_json_add_number(b, r->logprobs[i]);
    cel_buf_addz(b, ",\"top\":[");
    for (int k = 0; k < r->n_top; k++) {
      const cel_logprob *t = &r->top[i * r->n_top + k];
      cel_buf_printf(b, "%s{\"id\":%d,\"logprob\":", k ? "," : "", t->id);
      cel_json_add_number(b, t->logprob);
      cel_buf_addc(b, '}');
    }
    cel_buf_addz(b, "]}");
  }
  cel_buf_addc(b, ']');
}

static void add_reply(cel_buf *b, const cel_lm *lm, const cli_prompt *p, const cel_reply *r) {
  cel_buf_addc(b, '{');
  cli_add_key(b, "prompt_ids");
  cli_add_ids(b, p->ids, p->n);
  cli_add_key(b, "ids");
  cli_add_ids(b, r->ids, r->n);
  cli_add_key(b, "text");
  if (lm->tokenizer) cel_json_add_string(b, cel_buf_str(&r->text));
  else cel_buf_addz(b, "null");
  add_string(b, "finish_reason", r->finish_reason);
  if (r->logprobs || (r->n == 0 && r->n_top)) add_logprobs(b, r);
  add_timings(b, lm, r);
  add_machine(b, lm);
  cel_buf_addz(b, "}\n");
}

void cli_print_speed(const cel_lm *lm, const cel_reply *r) {
  cel_description d;
  char threads[32] = "";
  lm->backend->describe(lm->model, &d);
  if (d.n_threads > 0) snprintf(threads, sizeof threads, ", %d threads", d.n_threads);
  fprintf(stderr, "%lld prompt tokens at %.1f tok/s, %lld tokens at %.1f tok/s, first after %.0f ms (%s %s, %s%s)\n",
          (long long)r->timings.n_prefilled, r->timings.prefill_tok_s, (long long)r->n, r->timings.decode_tok_s,
          r->timings.first_token_ms, d.engine, *d.isa ? d.isa : d.device, d.precision, threads);
}

static int answer(const cli_options *o, const cel_lm *lm, const cli_prompt *p, cel_request *q, cel_err *err) {
  cel_generation g = {0};
  cel_reply r;
  if (!o->json) q->text = print_piece;
  cel_status s = cel_generate(lm, &g, q, &cli_interrupted, &r, err);
  if (s != CEL_OK) {
    cel_generation_close(&g, lm);
    return cli_fail(err);
  }
  int status = EXIT_OK;
  if (o->json) {
    cel_buf b = {0};
    add_reply(&b, lm, p, &r);
    status = cli_print(&b, err);
  } else {
    if (!lm->tokenizer) {
      cel_buf b = {0};
      cli_add_ids(&b, r.ids, r.n);
      status = cli_print(&b, err);
    }
    fputc('\n', stdout);
    if (fflush(stdout) == 0) cli_print_speed(lm, &r);
  }
  cel_generation_close(&g, lm);
  cel_reply_deinit(&r);
  if (status == EXIT_OK && cli_interrupted) {
    cel_fail(err, CEL_CANCELLED, "interrupted");
    status = cli_fail(err);
  }
  return status;
}

static int with_model(const cli_options *o, const cel_lm *lm, cel_err *err) {
  cli_prompt p;
  if (cli_prompt_make(o, lm, &p, err) != CEL_OK) return cli_fail(err);
  cel_logit_bias *bias = NULL;
  cel_str stops[CLI_LIST_MOST];
  cel_request q = {.ids = p.ids, .n = p.n, .max_tokens = o->max_tokens, .ignore_end = o->ignore_eos, .stops = stops,
                   .n_stops = o->stop.n};
  for (int i = 0; i < o->stop.n; i++) stops[i] = cel_str_of(o->stop.items[i]);
  int status = cli_sampling(o, &q.sampling, &bias, err) == CEL_OK ? EXIT_OK : cli_usage("%s", err->text);
  if (status == EXIT_OK) status = answer(o, lm, &p, &q, err);
  free(bias);
  free(p.ids);
  return status;
}

int cmd_generate(const cli_options *o) {
  cel_err err = {0};
  cel_lm *lm;
  int given = !!o->prompt + !!o->ids + !!o->messages, status = cli_one_model(o);
  if (status) return status;
  if (given != 1) return cli_usage("give the prompt with one of -p TEXT, --ids 1,2,3 and --messages FILE");
  if (o->logprobs >= 0 && !o->json) return cli_usage("--logprobs are part of the JSON: use mlxcel generate with --json");
  if ((status = cli_prompt_check(o)) != EXIT_OK) return status;
  cli_catch_interrupts();
  if (cli_open(o, true, !o->ids, 1, o->context, &lm, &err) != CEL_OK) return cli_fail(&err);
  status = with_model(o, lm, &err);
  cel_lm_close(lm);
  return status;
}
