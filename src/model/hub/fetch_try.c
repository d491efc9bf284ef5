// Tries an address until it comes: which failures pass, how long to wait, what to tell the user of the others.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "model/hub/fetch_private.h"

enum { TRIES_MOST = 6, WAIT_MOST_S = 30, SERVER_WAIT_MOST_S = 300, CUTS_MOST = 1000 };
static const int64_t progress_bytes = 65536;  // so many more, and the tries count from the start

static void note(cel_fetch_job *j, const char *text) {
  if (j->o->watch && j->o->watch->note) j->o->watch->note(j->o->watch->context, text);
}

// False when the user wants to stop.
static bool pause_for(const cel_fetch_source *s, double seconds) {
  double until = cel_now_ms() + seconds * 1e3;
  while (cel_now_ms() < until) {
    if (!s->sink.go_on(s->sink.context)) return false;
    struct timespec t = {0, 50000000};
    nanosleep(&t, NULL);
  }
  return s->sink.go_on(s->sink.context);
}

// What the hub's refusals mean, and what to do.
static cel_status refused(const cel_fetch_job *j, const cel_http_reply *r, const char *what, cel_status s, cel_err *err) {
  const char *repo = j->o->repo, *hub = j->endpoint.p, *revision = j->o->revision ? j->o->revision : "main";
  bool gated = !strcmp(r->error_code, "GatedRepo") || strstr(r->message, "gated");
  if (r->code == 404 && !strcmp(r->error_code, "RevisionNotFound")) return cel_fail(err, CEL_NOT_FOUND, "%s has no revision \"%s\"", repo, revision);
  if (r->code == 404 && !strcmp(r->error_code, "RepoNotFound")) return cel_fail(err, CEL_NOT_FOUND, "%s has no model %s", hub, repo);
  if (r->code == 404) return cel_fail(err, CEL_NOT_FOUND, "%s: not found on %s (revision \"%s\")", what, hub, revision);
  if (r->code == 401 || r->code == 403) {
    if (gated && j->o->token) {
      return cel_fail(err, CEL_IO, "%s is gated and this token's account has no access (%d): accept the model's terms on %s/%s, then try again",
                      repo, r->code, hub, repo);
    }
    if (gated) {
      return cel_fail(err, CEL_IO, "%s is gated (%d): accept its terms on %s/%s, then give a token of that account with --token or HF_TOKEN",
                      repo, r->code, hub, repo);
    }
    if (j->o->token) {
      return cel_fail(err, CEL_IO, "%s: %s refuses the token (%d): it is not valid, or has no access to this model, or the model does not exist",
                      repo, hub, r->code);
    }
    return cel_fail(err, CEL_IO, "%s: %s wants a token (%d): the model is private or does not exist; give one with --token or HF_TOKEN", repo, hub, r->code);
  }
  return s;
}

static cel_status unreachable(const cel_fetch_job *j, cel_err *err) {
  char detail[400];
  snprintf(detail, sizeof detail, "%.399s", err ? err->text : "");
  return cel_fail(err, CEL_IO, "cannot reach %s (is there a network? HF_ENDPOINT names another hub): %s", j->endpoint.p, detail);
}

typedef struct attempts {
  int failed, all;
  int64_t best;  // byte the last count began at
} attempts;

// How long until the next try; below 0: there is none, and err says why.
static double next_wait(const cel_fetch_source *s, const cel_http_reply *r, attempts *a, cel_err *err) {
  int64_t at = s->from(s->sink.context);
  if (at >= a->best + progress_bytes) {
    a->failed = 0;
    a->best = at;
  }
  a->failed++;
  a->all++;
  if (r->retry_after_s > SERVER_WAIT_MOST_S) {
    cel_fail(err, CEL_IO, "%s: %s answers %d and asks to wait for %.0f seconds; try again then", s->what, r->host, r->code, r->retry_after_s);
    return -1;
  }
  if (a->failed >= TRIES_MOST || a->all >= CUTS_MOST) {
    if (err) cel_err_prefix(err, "%s: given up after %d tries", s->what, a->all);
    return -1;
  }
  double wait = 0.5 * (double)(1 << (a->failed - 1));
  wait = CEL_MIN(wait, (double)WAIT_MOST_S);
  return CEL_MAX(wait, r->retry_after_s);
}

static cel_status after_failure(cel_fetch_job *j, const cel_fetch_source *s, const cel_http_reply *r, attempts *a, cel_status status, cel_err *err) {
  if (status == CEL_CANCELLED || status == CEL_OOM) return status;
  if (r->restart && s->from(s->sink.context) > 0) CEL_TRY(s->restart(s->sink.context, err));
  else if (!r->again) return refused(j, r, s->what, status, err);
  if (r->unreachable && s->first) return unreachable(j, err);
  double wait = next_wait(s, r, a, err);
  if (wait < 0) return status;
  char text[700];
  snprintf(text, sizeof text, "%s: %.400s; again in %.1f s", s->what, err ? err->text : "", wait);
  note(j, text);
  return pause_for(s, wait) ? CEL_OK : cel_fail(err, CEL_CANCELLED, "interrupted");
}

cel_status cel_fetch_try(cel_fetch_job *j, const cel_fetch_source *s, cel_err *err) {
  attempts a = {.best = s->from(s->sink.context)};
  for (;;) {
    cel_http_reply reply;
    cel_http_request q = {.url = s->url, .token = j->o->token, .from = s->from(s->sink.context), .expect = s->expect,
                          .most = s->most, .stall_s = j->o->stall_s};
    cel_status status = cel_http_get(j->http, &q, &s->sink, &reply, err);
    if (status == CEL_OK && s->expect >= 0 && s->from(s->sink.context) < s->expect) {
      reply.again = true;  // a body without a length that ends early looks like a good one
      status = cel_fail(err, CEL_IO, "%s ends after %lld of %lld bytes", reply.host, (long long)s->from(s->sink.context), (long long)s->expect);
    }
    if (status == CEL_OK) return CEL_OK;
    CEL_TRY(after_failure(j, s, &reply, &a, status, err));
  }
}
