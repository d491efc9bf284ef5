// NumPy's .npy files, version 1: a magic, a Python dict as text, then the array.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "cli/cli.h"

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

cel_status cli_npy_write(const char *path, const char *dtype, const void *data, int rank, const int64_t *dims, cel_err *err) {
  cel_buf b = {0};
  int64_t n = dtype[2] - '0';
  cel_buf_add(&b, magic, sizeof magic);
  cel_buf_add(&b, "\x01\x00\x00\x00", 4);
  cel_buf_printf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", dtype);
  for (int i = 0; i < rank; i++) {
    cel_buf_printf(&b, "%lld,%s", (long long)dims[i], i + 1 < rank ? " " : "");
    n *= dims[i];
  }
  cel_buf_addz(&b, "), }");
  while ((b.n + 1) % 64) cel_buf_addc(&b, ' ');
  cel_buf_addc(&b, '\n');
  if (!b.failed) {
    size_t header = b.n - 10;
    b.p[8] = (char)(header & 255);
    b.p[9] = (char)(header >> 8);
  }
  cel_buf_add(&b, data, (size_t)n);
  cel_status s = b.failed ? cel_fail_oom(err, path) : cel_write_file(path, b.p, (int64_t)b.n, err);
  cel_buf_deinit(&b);
  return s;
}

static const char *after(const char *text, const char *key) {
  const char *p = strstr(text, key);
  return p ? p + strlen(key) : NULL;
}

static cel_status parse_header(const char *path, const char *header, cli_npy *out, cel_err *err) {
  const char *descr = after(header, "'descr':"), *shape = after(header, "'shape':"), *order = after(header, "'fortran_order':");
  if (!descr || !shape || !order || !(descr = strchr(descr, '\'')) || !(shape = strchr(shape, '('))) {
    return cel_fail(err, CEL_MALFORMED, "%s: the header is not that of a NumPy array", path);
  }
  size_t n = strcspn(descr + 1, "'");
  if (n != 3 || (descr[1] != '<' && descr[1] != '|') || order[strspn(order, " ")] != 'F') {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: only plain little-endian arrays in C order are read", path);
  }
  memcpy(out->dtype, descr + 1, n);
  int64_t elements = 1;
  for (const char *p = shape + 1; *p != ')';) {
    char *end;
    long long d = strtoll(p, &end, 10);
    if (end == p || out->rank == CEL_COUNT(out->dims) || d < 0 || !cel_mul_i64(elements, d, &elements)) {
      return cel_fail(err, CEL_MALFORMED, "%s: the shape is not one that can be read", path);
    }
    out->dims[out->rank++] = d;
    p = end + strspn(end, ", ");
  }
  int64_t size = out->dtype[2] >= '1' && out->dtype[2] <= '8' ? out->dtype[2] - '0' : 0, want;
  if (!size || !cel_mul_i64(elements, size, &want) || want > out->bytes) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s with this shape needs more than the %lld bytes there are", path, out->dtype,
                    (long long)out->bytes);
  }
  out->bytes = want;
  return CEL_OK;
}

cel_status cli_npy_read(const char *path, cli_npy *out, cel_err *err) {
  *out = (cli_npy){0};
  char *text;
  int64_t n;
  CEL_TRY(cel_read_file(path, (int64_t)1 << 34, &text, &n, err));
  cel_status s = CEL_OK;
  int64_t header = n >= 10 ? (unsigned char)text[8] | (unsigned char)text[9] << 8 : 0;
  if (n < 10 || memcmp(text, magic, sizeof magic) != 0 || text[6] != 1 || header > n - 10 || header < 1) {
    s = cel_fail(err, CEL_MALFORMED, "%s: not a NumPy .npy file of version 1", path);
  } else {
    text[10 + header - 1] = 0;
    out->data = text + 10 + header;
    out->bytes = n - 10 - header;
    s = parse_header(path, text + 10, out, err);
  }
  out->owned = text;
  if (s != CEL_OK) cli_npy_free(out);
  return s;
}

void cli_npy_free(cli_npy *a) {
  free(a->owned);
  *a = (cli_npy){0};
}
