// mlxcel arch, env, version: what this program is.
#include <stdlib.h>
#include <string.h>

#include "arch/verified.h"
#include "base/cpu.h"
#include "base/env.h"
#include "cli/cli.h"

static void add_string(cel_buf *b, const char *key, const char *value) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(value));
}

static void add_engines(cel_buf *b, const cel_backend *k, bool json) {
  for (int i = 0; k->engine && k->engine(i); i++) {
    if (json) {
      if (b->n && b->p[b->n - 1] != '[') cel_buf_addc(b, ',');
      cel_json_add_string(b, cel_str_of(k->engine(i)));
    } else {
      cel_buf_printf(b, "  engine %s\n", k->engine(i));
    }
  }
}

static void add_words(cel_buf *b, const char *const *words, int most, bool json) {
  for (int i = 0; i < most && words[i]; i++) {
    if (json) {
      if (i) cel_buf_addc(b, ',');
      cel_json_add_string(b, cel_str_of(words[i]));
    } else {
      cel_buf_printf(b, "%s%s", i ? ", " : "", words[i]);
    }
  }
}

// The folders of references that prove a family, one by one.
static void add_folders(cel_buf *b, const char *list, bool json) {
  for (bool first = true; *list; first = false) {
    cel_str word = {list, strcspn(list, " ")};
    if (!first) cel_buf_addz(b, json ? "," : ", ");
    if (json) cel_json_add_string(b, word);
    else cel_buf_add(b, word.p, word.n);
    list += word.n;
    while (*list == ' ') list++;
  }
}

static void arch_json(cel_buf *b) {
  cel_buf_addc(b, '[');
  for (int i = 0; cel_families[i]; i++) {
    const cel_family *f = cel_families[i];
    if (i) cel_buf_addc(b, ',');
    cel_buf_addc(b, '{');
    add_string(b, "name", f->name);
    cli_add_key(b, "model_types");
    cel_buf_addc(b, '[');
    add_words(b, f->model_types, CEL_COUNT(f->model_types), true);
    cel_buf_addc(b, ']');
    cli_add_key(b, "gguf");
    cel_buf_addc(b, '[');
    add_words(b, f->gguf_archs, CEL_COUNT(f->gguf_archs), true);
    cel_buf_addc(b, ']');
    const cel_verified *v = cel_verified_of(f);
    add_string(b, "special", f->special ? f->special : "");
    add_string(b, "formats", cel_family_formats(f));
    cli_add_key(b, "verified");
    cel_buf_addc(b, '[');
    if (v) add_folders(b, v->folders, true);
    cel_buf_addc(b, ']');
    add_string(b, "rests_on", v ? v->rests : "");
    cel_buf_addc(b, '}');
  }
  cel_buf_addz(b, "]\n");
}

int cmd_arch(const cli_options *o) {
  cel_err err = {0};
  cel_buf b = {0};
  if (o->json) {
    arch_json(&b);
    return cli_print(&b, &err);
  }
  for (int i = 0; cel_families[i]; i++) {
    const cel_family *f = cel_families[i];
    cel_buf_printf(&b, "%-10s model_type ", f->name);
    add_words(&b, f->model_types, CEL_COUNT(f->model_types), false);
    if (f->gguf_archs[0]) cel_buf_addz(&b, "; GGUF ");
    add_words(&b, f->gguf_archs, CEL_COUNT(f->gguf_archs), false);
    cel_buf_printf(&b, "\n           %s\n           %s; ", f->special ? f->special : "", cel_family_formats(f));
    const cel_verified *v = cel_verified_of(f);
    if (v && v->folders[0]) cel_buf_addz(&b, "equal to transformers on ");
    add_folders(&b, v ? v->folders : "", false);
    if (!v || !v->folders[0]) cel_buf_addz(&b, "no reference");
    cel_buf_printf(&b, "\n%s%s%s", v && v->rests[0] ? "           " : "", v ? v->rests : "", v && v->rests[0] ? "\n" : "");
  }
  return cli_print(&b, &err);
}

static void env_text(cel_buf *b, const cel_env_row *r, const char *value, bool good) {
  cel_buf_printf(b, "%s%s%s%s\n    %s\n    accepted: %s; unset: %s; read %s\n", r->name, value ? "=" : "", value ? value : "",
                 good ? "" : "   NOT ACCEPTED", r->meaning, r->accepted, r->unset, r->read);
}

static void env_json(cel_buf *b, const cel_env_row *r, const char *value, bool good) {
  if (b->n > 1) cel_buf_addc(b, ',');
  cel_buf_addc(b, '{');
  add_string(b, "name", r->name);
  add_string(b, "accepted", r->accepted);
  add_string(b, "default", r->unset);
  add_string(b, "read", r->read);
  add_string(b, "meaning", r->meaning);
  cli_add_key(b, "value");
  if (value) cel_json_add_string(b, cel_str_of(value));
  else cel_buf_addz(b, "null");
  cel_buf_printf(b, ",\"valid\":%s}", good ? "true" : "false");
}

int cmd_env(const cli_options *o) {
  cel_err err = {0}, ignored;
  cel_buf b = {0};
  if (o->json) cel_buf_addc(&b, '[');
  for (int i = 0; i < CEL_ENV_COUNT; i++) {
    bool good = cel_env_check_one((cel_env_id)i, &ignored) == CEL_OK;
    (o->json ? env_json : env_text)(&b, &cel_env_rows[i], cel_env_shown((cel_env_id)i), good);
  }
  if (o->json) cel_buf_addz(&b, "]\n");
  int status = cli_print(&b, &err);
  return status ? status : cel_env_check(&err) == CEL_OK ? EXIT_OK : cli_fail(&err);
}

int cmd_version(const cli_options *o) {
  cel_err err = {0};
  cel_buf b = {0};
  char cpu[128];
  cel_cpu_describe(cel_cpu_detect(), cpu, sizeof cpu);
  if (o->json) {
    cel_buf_addc(&b, '{');
    add_string(&b, "version", CEL_VERSION);
    cli_add_key(&b, "backends");
    cel_buf_addc(&b, '[');
    for (int i = 0; cel_backends[i]; i++) {
      if (i) cel_buf_addc(&b, ',');
      cel_json_add_string(&b, cel_str_of(cel_backends[i]->name));
    }
    cel_buf_addc(&b, ']');
    cli_add_key(&b, "engines");
    cel_buf_addc(&b, '[');
    for (int i = 0; cel_backends[i]; i++) add_engines(&b, cel_backends[i], true);
    cel_buf_addc(&b, ']');
    add_string(&b, "cpu", cpu);
    cli_add_key(&b, "cores");
    cel_buf_printf(&b, "%d}\n", cel_cpu_cores());
    return cli_print(&b, &err);
  }
  cel_buf_printf(&b, "mlxcel %s\n", CEL_VERSION);
  for (int i = 0; cel_backends[i]; i++) {
    cel_buf_printf(&b, "backend %s: %s\n", cel_backends[i]->name, cel_backends[i]->summary);
    add_engines(&b, cel_backends[i], false);
  }
  if (!cel_backends[0]) cel_buf_addz(&b, "no backend is built in\n");
  cel_buf_printf(&b, "cpu: %s, %d cores\n", cpu, cel_cpu_cores());
  return cli_print(&b, &err);
}
