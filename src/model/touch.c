#include "base/macros.h"
#include "model/checkpoint.h"

typedef struct touching {
  bool (*progress)(void *context, double fraction);
  void *context;
  int64_t all, done, reported;
  unsigned sum;
} touching;

// One byte of each page; false when the caller does not want to go on.
static bool touch(touching *t, const volatile uint8_t *p, int64_t bytes) {
  enum { PAGE = 4096, REPORT_EVERY = 16 << 20 };
  for (int64_t at = 0; at < bytes; at += PAGE) {
    t->sum += p[at];
    t->done += PAGE;
    if (!t->progress || t->done - t->reported < REPORT_EVERY) continue;
    t->reported = t->done;
    double fraction = t->all ? (double)t->done / (double)t->all : 1;
    if (!t->progress(t->context, CEL_MIN(fraction, 1.0))) return false;
  }
  return true;
}

cel_status cel_checkpoint_touch(const cel_checkpoint *c, bool (*progress)(void *context, double fraction), void *context,
                                cel_err *err) {
  touching t = {.progress = progress, .context = context, .all = c->file_bytes};
  for (int64_t i = 0; i < c->n_tensors; i++) {
    const cel_tensor *x = &c->tensors[i];
    int64_t n = x->parts ? x->dims[0] : 1;
    for (int64_t k = 0; k < n; k++) {
      if (!touch(&t, x->parts ? x->parts[k] : x->data, x->bytes / n)) return cel_fail(err, CEL_CANCELLED, "loading was cancelled");
    }
  }
  return t.sum == UINT32_MAX ? cel_fail(err, CEL_IO, "unreachable") : CEL_OK;
}
