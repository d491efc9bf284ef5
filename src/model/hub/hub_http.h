// One HTTP GET at a time, by libcurl: http and https, at most five redirects, the token only for the place it was
// meant for, no body longer than allowed. Proxies are libcurl's business (https_proxy, no_proxy ...), certificates too,
// but for CURL_CA_BUNDLE or SSL_CERT_FILE, which name a file of authorities as they do for the curl program. Threads: one at a time.
#ifndef CEL_MODEL_HUB_HTTP_H
#define CEL_MODEL_HUB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { CEL_HTTP_REDIRECTS_MOST = 5, CEL_HTTP_CONNECT_S = 30, CEL_HTTP_STALL_S = 60 };

typedef struct cel_http cel_http;

typedef struct cel_http_request {
  const char *url, *token;  // token may be NULL; it goes to the scheme, host and port of url only
  int64_t from;             // first byte wanted
  int64_t expect;           // bytes of the whole file; -1: not known
  int64_t most;             // a longer body is refused
  int stall_s;              // seconds without a byte until the connection counts as cut; 0: CEL_HTTP_STALL_S
} cel_http_request;

// Where the body goes. begin is called once, before the first byte of a good reply: the body starts at byte `from`
// of the file, which is the one asked for or, from a server that does not resume, 0.
typedef struct cel_http_sink {
  cel_status (*begin)(void *context, int64_t from, cel_err *err);
  cel_status (*add)(void *context, const void *data, size_t n, cel_err *err);
  bool (*go_on)(void *context);  // asked about once a second at least; false ends it with CEL_CANCELLED
  void *context;
} cel_http_sink;

typedef struct cel_http_reply {
  int code;                  // HTTP status; 0: none arrived
  bool again;                // worth another try: server busy, connection cut
  bool restart;              // the server cannot give this range: try from 0
  bool unreachable;          // no connection came about
  double retry_after_s;      // what the server asks for; 0: nothing
  char error_code[48];       // X-Error-Code: GatedRepo, RepoNotFound, ...
  char message[240];         // X-Error-Message or the body's start, printable
  char host[128];            // that answered last
} cel_http_reply;

CEL_MUST_CHECK cel_status cel_http_new(cel_http **out, cel_err *err);
void cel_http_free(cel_http *h);

// CEL_OK: a reply of 200 or 206 came to its end. Otherwise err says what happened, with the host and never with the
// token or a signed address; *reply says whether to try again.
CEL_MUST_CHECK cel_status cel_http_get(cel_http *h, const cel_http_request *q, const cel_http_sink *sink, cel_http_reply *reply,
                                       cel_err *err);
// A token that may stand in a header: printable, no blank.
bool cel_http_good_token(const char *token);

#endif
