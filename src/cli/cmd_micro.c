// mlxcel xla micro-oracle: single operations on an engine.
#include "cli/cli.h"

#ifdef CEL_WITH_XLA_MICRO_ORACLE

#include "backend/xla/xla_micro.h"

int cli_xla_micro(const cli_options *o) {
  if (o->precision) return cli_usage("micro-oracle probes f32 arithmetic only: leave out --precision");
  cel_err err = {0};
  cel_buf b = {0};
  cel_xla_micro_counts n;
  cel_xla_micro_options q = {.device = o->engine, .n_threads = (int)o->threads};
  if (cel_xla_micro_oracle(&q, !o->json, &b, &n, &err) != CEL_OK) {
    cel_buf_deinit(&b);
    return cli_fail(&err);
  }
  if (!o->json) cel_buf_printf(&b, "%d probes passed, %d failed\n", n.passed, n.failed);
  int status = cli_print(&b, &err);
  return status ? status : n.failed || n.qualified ? EXIT_RUNTIME : EXIT_OK;
}

#else

int cli_xla_micro(const cli_options *o) {
  (void)o;
  cel_err err = {0};
  cel_fail(&err, CEL_UNSUPPORTED, "probes of single operations are not in this build: configure with CEL_XLA_MICRO_ORACLE=ON");
  return cli_fail(&err);
}

#endif
