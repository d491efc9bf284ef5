#define _POSIX_C_SOURCE 200809L
#include "model/hub/hub_http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "base/str.h"
#include "model/hub/http_head.h"

struct cel_http {
  CURL *curl;
};

// What belongs to one transfer, for libcurl's callbacks.
typedef struct transfer {
  cel_http *http;
  const cel_http_request *request;
  const cel_http_sink *sink;
  cel_http_reply *reply;
  cel_err *err;
  cel_status status;         // of a callback that ended the transfer
  bool begun;
  int64_t taken;             // bytes of the body
  cel_http_head head;        // of the reply at hand
  size_t n_message;
} transfer;

bool cel_http_good_token(const char *token) {
  if (!*token || strlen(token) > 1000) return false;
  for (const char *p = token; *p; p++) {
    if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127) return false;
  }
  return true;
}

cel_status cel_http_new(cel_http **out, cel_err *err) {
  *out = NULL;
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) return cel_fail(err, CEL_IO, "libcurl did not start");
  cel_http *h = calloc(1, sizeof *h);
  if (h) h->curl = curl_easy_init();
  if (!h || !h->curl) {
    cel_http_free(h);
    return cel_fail_oom(err, "an HTTP client");
  }
  *out = h;
  return CEL_OK;
}

void cel_http_free(cel_http *h) {
  if (!h) return;
  if (h->curl) {
    curl_easy_cleanup(h->curl);
    curl_global_cleanup();
  }
  free(h);
}

// ---- callbacks -----------------------------------------------------------------------------------------

static size_t on_header(char *p, size_t size, size_t n, void *context) {
  transfer *t = context;
  cel_http_head_line(&t->head, (cel_str){p, size * n});
  memcpy(t->reply->error_code, t->head.error_code, sizeof t->head.error_code);
  memcpy(t->reply->message, t->head.message, sizeof t->head.message);
  return size * n;
}

static int code_of(const transfer *t) {
  long code = 0;
  curl_easy_getinfo(t->http->curl, CURLINFO_RESPONSE_CODE, &code);
  return (int)code;
}

// The reply's head against what was asked for.
static cel_status begin(transfer *t) {
  const cel_http_request *q = t->request;
  int64_t from = 0, total = t->head.content_length;
  if (code_of(t) == 206) {
    if (t->head.range_from != q->from || (q->expect >= 0 && t->head.range_total >= 0 && t->head.range_total != q->expect)) {
      t->reply->restart = true;
      return cel_fail(t->err, CEL_MALFORMED, "%s answers with another part of the file (from byte %lld of %lld) than asked for (from %lld of %lld)",
                      t->reply->host, (long long)t->head.range_from, (long long)t->head.range_total, (long long)q->from, (long long)q->expect);
    }
    from = q->from;
    total = -1;
  }
  if (total >= 0 && q->expect >= 0 && total != q->expect) {
    return cel_fail(t->err, CEL_MALFORMED, "the hub's record says %lld bytes, but %s offers %lld", (long long)q->expect, t->reply->host, (long long)total);
  }
  t->begun = true;
  return t->sink->begin(t->sink->context, from, t->err);
}

static void add_message(transfer *t, const char *p, size_t n) {
  size_t room = sizeof t->reply->message - 1 - t->n_message;
  if (t->reply->message[0] && t->n_message == 0) return;  // a header said it
  cel_http_copy_printable(t->reply->message + t->n_message, room + 1, p, CEL_MIN(n, room));
  t->n_message = strlen(t->reply->message);
}

static size_t on_body(char *p, size_t size, size_t n, void *context) {
  transfer *t = context;
  size_t bytes = size * n;
  int code = code_of(t);
  if (code != 200 && code != 206) {
    if (code >= 400) add_message(t, p, bytes);
    return bytes;
  }
  if (!t->begun) t->status = begin(t);
  int64_t base = code == 206 ? t->request->from : 0;
  if (t->status == CEL_OK && (int64_t)bytes > t->request->most - base - t->taken) {
    t->status = cel_fail(t->err, CEL_MALFORMED, "%s sends more than the %lld bytes there should be", t->reply->host, (long long)t->request->most);
  }
  if (t->status == CEL_OK) t->status = t->sink->add(t->sink->context, p, bytes, t->err);
  t->taken += (int64_t)bytes;
  return t->status == CEL_OK ? bytes : 0;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  transfer *t = context;
  (void)a, (void)b, (void)c, (void)d;
  if (t->sink->go_on(t->sink->context)) return 0;
  if (t->status == CEL_OK) t->status = cel_fail(t->err, CEL_CANCELLED, "interrupted");
  return 1;
}

// ---- addresses -------------------------------------------------------------------------------------------

typedef struct origin {
  char scheme[8], host[128], port[8];
} origin;

static bool take_part(CURLU *u, CURLUPart part, char *out, size_t size) {
  char *text = NULL;
  bool good = curl_url_get(u, part, &text, CURLU_DEFAULT_PORT) == CURLUE_OK && strlen(text) < size;
  if (good) memcpy(out, text, strlen(text) + 1);
  curl_free(text);
  return good;
}

// Only http and https, without a user: whatever a server's redirect asks for.
static bool read_origin(const char *url, origin *o) {
  CURLU *u = curl_url();
  char *user = NULL;
  bool good = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK && take_part(u, CURLUPART_SCHEME, o->scheme, sizeof o->scheme) &&
              take_part(u, CURLUPART_HOST, o->host, sizeof o->host) && take_part(u, CURLUPART_PORT, o->port, sizeof o->port) &&
              curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_NO_USER;
  curl_free(user);
  curl_url_cleanup(u);
  return good && (!strcmp(o->scheme, "http") || !strcmp(o->scheme, "https"));
}

static bool same_origin(const origin *a, const origin *b) {
  return !strcmp(a->scheme, b->scheme) && !strcasecmp(a->host, b->host) && !strcmp(a->port, b->port);
}

// ---- one hop ---------------------------------------------------------------------------------------------

static cel_status set_up(transfer *t, const char *url, bool with_token, struct curl_slist **headers, char detail[CURL_ERROR_SIZE]) {
  CURL *c = t->http->curl;
  char range[32], bearer[1100];
  curl_easy_reset(c);  // connections stay
  *headers = NULL;
  if (with_token) {
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", t->request->token);
    *headers = curl_slist_append(NULL, bearer);
    if (!*headers) return cel_fail_oom(t->err, "a request");
  }
  int stall = t->request->stall_s > 0 ? t->request->stall_s : CEL_HTTP_STALL_S;
  snprintf(range, sizeof range, "%lld-", (long long)t->request->from);
  const char *authorities = cel_env_or(CEL_ENV_CURL_CA_BUNDLE, cel_env(CEL_ENV_SSL_CERT_FILE));
  if (authorities) curl_easy_setopt(c, CURLOPT_CAINFO, authorities);
  bool ok = curl_easy_setopt(c, CURLOPT_URL, url) == CURLE_OK && curl_easy_setopt(c, CURLOPT_HTTPHEADER, *headers) == CURLE_OK &&
            (t->request->from == 0 || curl_easy_setopt(c, CURLOPT_RANGE, range) == CURLE_OK);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CEL_HTTP_CONNECT_S);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)stall);
  curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 262144L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "mlxcel/" CEL_VERSION);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
  return ok ? CEL_OK : cel_fail_oom(t->err, "a request");
}

static cel_status failed(transfer *t, CURLcode code, const char *detail) {
  cel_http_reply *r = t->reply;
  if (t->status != CEL_OK) return t->status;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: r->unreachable = true; r->again = true; break;
    case CURLE_OPERATION_TIMEDOUT: r->unreachable = r->code == 0; r->again = true; break;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR: r->again = true; break;
    default: break;
  }
  return cel_fail(t->err, CEL_IO, "%s: %.300s", r->host, detail[0] ? detail : curl_easy_strerror(code));
}

static cel_status one_hop(transfer *t, const char *url, bool with_token) {
  struct curl_slist *headers;
  char detail[CURL_ERROR_SIZE] = "";
  cel_status s = set_up(t, url, with_token, &headers, detail);
  if (s == CEL_OK) {
    cel_http_head_init(&t->head);
    CURLcode code = curl_easy_perform(t->http->curl);
    t->reply->code = code_of(t);
    if (code != CURLE_OK || t->status != CEL_OK) s = failed(t, code, detail);
  }
  curl_easy_setopt(t->http->curl, CURLOPT_ERRORBUFFER, NULL);
  curl_easy_setopt(t->http->curl, CURLOPT_HTTPHEADER, NULL);
  curl_slist_free_all(headers);
  return s;
}

static bool is_redirect(int code) { return code == 301 || code == 302 || code == 303 || code == 307 || code == 308; }

// A whole reply without a redirect: is it the file?
static cel_status judge(transfer *t) {
  cel_http_reply *r = t->reply;
  if (r->code == 200 || r->code == 206) return t->begun ? CEL_OK : begin(t);  // an empty body calls nobody
  curl_off_t wait = 0;
  if (curl_easy_getinfo(t->http->curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK) r->retry_after_s = (double)wait;
  r->again = r->code == 429 || r->code == 408 || r->code >= 500;
  r->restart = r->code == 416;
  return cel_fail(t->err, r->code == 404 ? CEL_NOT_FOUND : CEL_IO, "%s answers %d%s%s", r->host, r->code, r->message[0] ? ": " : "", r->message);
}

// Where a redirect leads, copied into *url. The token is left behind as soon as the place is another one.
static cel_status follow(transfer *t, char **url, origin *at, bool *with_token) {
  char *next = NULL;
  origin to = {{0}, {0}, {0}};
  if (curl_easy_getinfo(t->http->curl, CURLINFO_REDIRECT_URL, &next) != CURLE_OK || !next || !read_origin(next, &to)) {
    return cel_fail(t->err, CEL_MALFORMED, "%s answers %d without an http(s) address to go on to", at->host, t->reply->code);
  }
  if (!strcmp(at->scheme, "https") && !strcmp(to.scheme, "http")) {
    return cel_fail(t->err, CEL_MALFORMED, "%s redirects from https to plain http (%s); refused", at->host, to.host);
  }
  *with_token = *with_token && same_origin(at, &to);
  *at = to;
  snprintf(t->reply->host, sizeof t->reply->host, "%s", to.host);
  free(*url);
  *url = strdup(next);
  return *url ? CEL_OK : cel_fail_oom(t->err, "an address");
}

cel_status cel_http_get(cel_http *h, const cel_http_request *q, const cel_http_sink *sink, cel_http_reply *reply, cel_err *err) {
  *reply = (cel_http_reply){0};
  transfer t = {.http = h, .request = q, .sink = sink, .reply = reply, .err = err};
  origin at = {{0}, {0}, {0}};
  if (!read_origin(q->url, &at)) return cel_fail(err, CEL_INVALID, "%.200s is no http(s) address", q->url);
  snprintf(reply->host, sizeof reply->host, "%s", at.host);
  bool with_token = q->token != NULL;
  char *url = strdup(q->url);
  cel_status s = url ? CEL_OK : cel_fail_oom(err, "an address");
  for (int hops = 0; s == CEL_OK; hops++) {
    s = one_hop(&t, url, with_token);
    if (s != CEL_OK) break;
    if (!is_redirect(reply->code)) {
      s = judge(&t);
      break;
    }
    if (hops == CEL_HTTP_REDIRECTS_MOST) {
      s = cel_fail(err, CEL_MALFORMED, "%s redirects once more after %d redirects", reply->host, hops);
    } else {
      s = follow(&t, &url, &at, &with_token);
    }
  }
  free(url);
  return s;
}
