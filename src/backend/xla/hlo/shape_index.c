// Rules of gather and scatter. Numbers in comments are constraints of the specification.
#include <string.h>

#include "backend/xla/hlo/shape.h"

enum { R = CEL_HLO_MAX_RANK };

// The part both have: which operand dimensions are walked one by one and how indices map to them.
typedef struct index_dims {
  int64_t one[R], batch[R], index_batch[R], map[R];  // one: collapsed or inserted
  int n_one, n_batch, n_index_batch, n_map;
  int64_t vector;  // index_vector_dim
} index_dims;

typedef struct index_names {
  const char *one, *batch, *index_batch, *map;
} index_names;

static cel_status read_index_dims(cel_shape *s, const cel_hlo_type *x, const cel_hlo_type *indices,
                                  const index_names *names, index_dims *d) {
  cel_shape_text text;
  if (!cel_etype_is_int(indices->etype))
    return cel_shape_fail(s, "the indices are %s, they must be of an integer type", cel_shape_show(&text, indices));
  CEL_TRY(cel_shape_int_or(s, "index_vector_dim", 0, 0, indices->rank, &d->vector));
  CEL_TRY(cel_shape_dims(s, names->one, x->rank, d->one, &d->n_one));
  CEL_TRY(cel_shape_sorted(s, names->one, d->one, d->n_one));
  CEL_TRY(cel_shape_dims(s, names->batch, x->rank, d->batch, &d->n_batch));
  CEL_TRY(cel_shape_sorted(s, names->batch, d->batch, d->n_batch));
  CEL_TRY(cel_shape_disjoint(s, names->one, d->one, d->n_one, names->batch, d->batch, d->n_batch));
  CEL_TRY(cel_shape_dims(s, names->index_batch, indices->rank, d->index_batch, &d->n_index_batch));
  if (cel_shape_has(d->index_batch, d->n_index_batch, d->vector))
    return cel_shape_fail(s, "index_vector_dim %lld is in %s", (long long)d->vector, names->index_batch);
  if (d->n_batch != d->n_index_batch)
    return cel_shape_fail(s, "%s has %d entries and %s has %d", names->batch, d->n_batch, names->index_batch,
                          d->n_index_batch);
  for (int i = 0; i < d->n_batch; i++)
    if (x->dims[d->batch[i]] != indices->dims[d->index_batch[i]])
      return cel_shape_fail(s, "batching dimension %lld has %lld in the operand and %lld in the indices",
                            (long long)d->batch[i], (long long)x->dims[d->batch[i]],
                            (long long)indices->dims[d->index_batch[i]]);
  CEL_TRY(cel_shape_dims(s, names->map, x->rank, d->map, &d->n_map));
  CEL_TRY(cel_shape_disjoint(s, names->map, d->map, d->n_map, names->batch, d->batch, d->n_batch));
  int64_t want = d->vector < indices->rank ? indices->dims[d->vector] : 1;
  if (d->n_map != want)
    return cel_shape_fail(s, "%s has %d entries, an index has %lld", names->map, d->n_map, (long long)want);
  return CEL_OK;
}

static bool walked(const index_dims *d, int i) {
  return cel_shape_has(d->one, d->n_one, i) || cel_shape_has(d->batch, d->n_batch, i);
}

// The sizes of `indices` without its vector of indices; returns how many.
static int batch_sizes(const cel_hlo_type *indices, int64_t vector, int64_t *out) {
  int n = 0;
  for (int i = 0; i < indices->rank; i++)
    if (i != vector) out[n++] = indices->dims[i];
  return n;
}

cel_status cel_rule_gather(cel_shape *s) {
  static const index_names names = {"collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
                                    "start_index_map"};
  const cel_hlo_type *x = cel_shape_in(s, 0), *indices = cel_shape_in(s, 1);
  index_dims d;
  int64_t sizes[R], offset[R], batch[R], dims[2 * R];
  int n_offset;
  CEL_TRY(read_index_dims(s, x, indices, &names, &d));
  CEL_TRY(cel_shape_bool(s, "indices_are_sorted"));
  CEL_TRY(cel_shape_ints(s, "slice_sizes", x->rank, 0, sizes));
  for (int i = 0; i < x->rank; i++) {
    int64_t most = walked(&d, i) ? CEL_MIN(1, x->dims[i]) : x->dims[i];
    if (sizes[i] > most)
      return cel_shape_fail(s, "slice_sizes[%d] = %lld, it must be at most %lld", i, (long long)sizes[i],
                            (long long)most);
  }
  int n_batch = batch_sizes(indices, d.vector, batch), n_window = x->rank - d.n_one - d.n_batch;
  int rank = n_batch + n_window;
  if (rank > R) return cel_shape_fail(s, "the result would have rank %d, at most %d is supported", rank, R);
  CEL_TRY(cel_shape_dims(s, "offset_dims", rank, offset, &n_offset));
  CEL_TRY(cel_shape_sorted(s, "offset_dims", offset, n_offset));
  if (n_offset != n_window)
    return cel_shape_fail(s, "offset_dims has %d entries, %d dimensions of the operand are neither collapsed nor "
                          "batching",
                          n_offset, n_window);
  for (int i = 0, from_batch = 0, from_slice = 0; i < rank; i++) {
    if (!cel_shape_has(offset, n_offset, i)) {
      dims[i] = batch[from_batch++];
      continue;
    }
    while (walked(&d, from_slice)) from_slice++;
    dims[i] = sizes[from_slice++];
  }
  return cel_shape_give_tensor(s, x->etype, rank, dims);
}

// (C4): the shape an update must have, dimension by dimension.
static cel_status check_update(cel_shape *s, const cel_hlo_type *x, const cel_hlo_type *indices,
                               const cel_hlo_type *update, const index_dims *d) {
  int64_t window[R], batch[R];
  int n_window;
  CEL_TRY(cel_shape_dims(s, "update_window_dims", update->rank, window, &n_window));
  CEL_TRY(cel_shape_sorted(s, "update_window_dims", window, n_window));
  if (n_window + d->n_one + d->n_batch != x->rank)
    return cel_shape_fail(s, "%d window, %d inserted and %d batching dimensions for an input of rank %d", n_window,
                          d->n_one, d->n_batch, x->rank);
  int n_batch = batch_sizes(indices, d->vector, batch);
  if (n_batch + n_window != update->rank)
    return cel_shape_fail(s, "the updates have rank %d, the indices and update_window_dims make %d", update->rank,
                          n_batch + n_window);
  for (int i = 0, from_batch = 0, from_input = 0; i < update->rank; i++) {
    if (!cel_shape_has(window, n_window, i)) {
      if (update->dims[i] != batch[from_batch++])
        return cel_shape_fail(s, "dimension %d of the updates is %lld, the indices have %lld", i,
                              (long long)update->dims[i], (long long)batch[from_batch - 1]);
      continue;
    }
    while (walked(d, from_input)) from_input++;
    if (update->dims[i] > x->dims[from_input])
      return cel_shape_fail(s, "dimension %d of the updates is %lld, dimension %d of the input has %lld", i,
                            (long long)update->dims[i], from_input, (long long)x->dims[from_input]);
    from_input++;
  }
  return CEL_OK;
}

cel_status cel_rule_scatter(cel_shape *s) {
  static const index_names names = {"inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
                                    "scatter_dims_to_operand_dims"};
  int n = (s->op->n_operands - 1) / 2;
  if (s->op->n_operands != 2 * n + 1)
    return cel_shape_fail(s, "%d operands, it takes as many inputs as updates, and the indices", s->op->n_operands);
  const cel_hlo_type *x = cel_shape_in(s, 0), *indices = cel_shape_in(s, n);
  index_dims d;
  CEL_TRY(read_index_dims(s, x, indices, &names, &d));
  CEL_TRY(cel_shape_bool(s, "indices_are_sorted"));
  CEL_TRY(cel_shape_bool(s, "unique_indices"));
  for (int i = 0; i < n; i++) {
    const cel_hlo_type *input = cel_shape_in(s, i), *update = cel_shape_in(s, n + 1 + i);
    cel_shape_text a, b;
    if (!cel_shape_same_dims(input, x) || !cel_shape_same_dims(update, cel_shape_in(s, n + 1)))
      return cel_shape_fail(s, "all inputs must have one shape, and all updates");
    if (input->etype != update->etype)
      return cel_shape_fail(s, "input %d is %s and its update %s, their element types must be equal", i,
                            cel_shape_show(&a, input), cel_shape_show(&b, update));
  }
  CEL_TRY(check_update(s, x, indices, cel_shape_in(s, n + 1), &d));
  return cel_shape_reducer(s, 0, n, 0, x->rank, x->dims);
}
