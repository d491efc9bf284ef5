// mlxcel compile: a folder of a model's compiled programs.
#include "cli/cli.h"

int cmd_compile(const cli_options *o) {
  cel_err err = {0};
  cel_lm *lm;
  int status = cli_one_model(o);
  if (status) return status;
  if (!o->artifact_folder || !*o->artifact_folder) return cli_usage("give the folder to make with -o");
  if (o->rows < 1 || o->rows > 1024) return cli_usage("--rows takes 1 to 1024");
  cli_catch_interrupts();
  if (cli_open_to_compile(o, &lm, &err) != CEL_OK) return cli_fail(&err);
  cel_description d;
  lm->backend->describe(lm->model, &d);
  cel_buf b = {0};
  cel_buf_printf(&b, "%s: programs for %s:%s, %lld tokens of context, %lld rows\n", o->artifact_folder, d.engine, d.device,
                 (long long)lm->backend->context(lm->model), (long long)o->rows);
  cel_lm_close(lm);
  return cli_print(&b, &err);
}
