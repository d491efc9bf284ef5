// With peak.cc the only C++ of the project. Each function is a try around one call of MLX's.
#include <mlx/mlx.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "backend/mlx/shim/peak.h"

extern "C" {
#include "backend/mlx/shim/shim.h"
}

namespace mx = mlx::core;

struct cel_mlx_array {
  mx::array a;
  bool kept;
};

struct cel_mlx {
  mx::Device device;
  mx::Stream stream;
  cel_err err;
  char path[96];
  std::vector<cel_mlx_array *> scope;
  int64_t live;
  std::optional<mx::distributed::Group> group;
};

namespace {

// One stream for each device and process: any thread may use it, and MLX never gives a stream's thread back.
mx::Stream stream_of(mx::Device device) {
  if (device == mx::Device::gpu) {
    static const mx::Stream gpu = mx::new_thread_unsafe_stream(mx::Device::gpu);
    return gpu;
  }
  static const mx::Stream cpu = mx::new_thread_unsafe_stream(mx::Device::cpu);
  return cpu;
}

// Evaluations of one stream must not overlap.
std::mutex &turn() {
  static std::mutex m;
  return m;
}

const mx::Dtype types[] = {mx::float32, mx::float16, mx::bfloat16, mx::int32, mx::uint32, mx::uint8, mx::bool_};

// MLX's allocators throw plain runtime errors.
cel_status status_of(const char *text) {
  for (const char *word : {"alloc", "memory"}) {
    if (std::strstr(text, word)) return CEL_OOM;
  }
  return CEL_ENGINE;
}

void fail(cel_mlx *c, cel_status status, const char *text) noexcept {
  if (c->err.status != CEL_OK) return;
  cel_fail(&c->err, status, "%s%sMLX: %s", c->path, c->path[0] ? ": " : "", text);
}

// Runs f; what it throws sticks to the context.
template <class F>
bool guarded(cel_mlx *c, F f) noexcept {
  try {
    f();
    return true;
  } catch (const std::bad_alloc &) {
    fail(c, CEL_OOM, "out of memory");
  } catch (const std::exception &e) {
    fail(c, status_of(e.what()), e.what());
  } catch (...) {
    fail(c, CEL_ENGINE, "an exception without a text");
  }
  return false;
}

// A handle on what f returns, in the scope.
template <class F>
arr make(cel_mlx *c, std::initializer_list<const cel_mlx_array *> operands, F f) noexcept {
  if (c->err.status != CEL_OK) return nullptr;
  for (const cel_mlx_array *x : operands) {
    if (x) continue;
    fail(c, CEL_ENGINE, "an operand is missing");
    return nullptr;
  }
  cel_mlx_array *made = nullptr;
  if (!guarded(c, [&] {
        c->scope.reserve(c->scope.size() + 1);
        made = new cel_mlx_array{f(), false};
      })) {
    return nullptr;
  }
  c->scope.push_back(made);
  c->live++;
  return made;
}

mx::Shape shape_of(int rank, const int64_t *dims) {
  mx::Shape s;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] > INT32_MAX) throw std::invalid_argument("a dimension does not fit into 31 bits");
    s.push_back(static_cast<int32_t>(dims[i]));
  }
  return s;
}

struct too_much : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// MLX's allocator for CPUs does not look whether there is memory: large arrays are asked for here first.
void expect_memory(const cel_mlx *c, const mx::Shape &shape, mx::Dtype type) {
  size_t bytes = mx::size_of(type);
  for (int d : shape) {
    if (d > 0 && bytes > SIZE_MAX / 2 / static_cast<size_t>(d)) throw std::bad_alloc();
    bytes *= static_cast<size_t>(d);
  }
  if (c->device != mx::Device::cpu || bytes < size_t{1} << 20) return;
  void *probe = std::malloc(bytes);
  std::free(probe);
  if (!probe) throw std::bad_alloc();
}

// So much is held for the moment by the arrays of an evaluation; on GPUs MLX's allocator speaks for itself.
void expect_memory(const cel_mlx *c, const std::vector<mx::array> &wanted) {
  constexpr size_t small = size_t{1} << 20, mib = size_t{1} << 20;
  if (c->device != mx::Device::cpu) return;
  size_t peak = cel_mlx_peak(wanted), need = peak + peak / 2, active = mx::get_active_memory(), limit = mx::get_memory_limit();
  if (need < small) return;
  void *probe = std::malloc(need);
  std::free(probe);
  if (probe && (need <= limit && active <= limit - need)) return;
  throw too_much("out of memory: " + std::to_string(need / mib) + " MiB are needed at once beside " +
                 std::to_string(active / mib) + " MiB in use, of " + std::to_string(limit / mib) +
                 " MiB that MLX may take (shorter chunks of a prompt need less: --prefill-chunk)");
}

std::optional<mx::array> maybe(const cel_mlx_array *x) {
  return x ? std::optional<mx::array>(x->a) : std::nullopt;
}

int narrow(int64_t x) {
  if (x < INT32_MIN || x > INT32_MAX) throw std::invalid_argument("a number does not fit into 31 bits");
  return static_cast<int>(x);
}

}  // namespace

extern "C" {

// ---- the library and the context -----------------------------------------------------------------------

const char *cel_mlx_version(void) { return mx::version(); }

#define CEL_TEXT_OF(x) #x
#define CEL_TEXT(x) CEL_TEXT_OF(x)
const char *cel_mlx_built_for(void) {
  return CEL_TEXT(MLX_VERSION_MAJOR) "." CEL_TEXT(MLX_VERSION_MINOR) "." CEL_TEXT(MLX_VERSION_PATCH);
}

bool cel_mlx_available(cel_mlx_device device) {
  try {
    return mx::is_available(device == CEL_MLX_GPU ? mx::Device::gpu : mx::Device::cpu);
  } catch (...) {
    return false;
  }
}

const char *cel_mlx_device_name(cel_mlx_device device) {
  if (device == CEL_MLX_CPU) return "cpu";
  try {
    return mx::metal::is_available() ? "metal" : mx::cu::is_available() ? "cuda" : "gpu";
  } catch (...) {
    return "gpu";
  }
}

cel_status cel_mlx_open(cel_mlx_device device, cel_mlx **out, cel_err *err) {
  *out = nullptr;
  try {
    mx::Device d(device == CEL_MLX_GPU ? mx::Device::gpu : mx::Device::cpu);
    *out = new cel_mlx{d, stream_of(d), {CEL_OK, ""}, "", {}, 0, std::nullopt};
    return CEL_OK;
  } catch (const std::exception &e) {
    return cel_fail(err, CEL_ENGINE, "MLX: %s", e.what());
  } catch (...) {
    return cel_fail(err, CEL_ENGINE, "MLX: its device cannot be opened");
  }
}

void cel_mlx_close(cel_mlx *c) {
  if (!c) return;
  cel_mlx_end_scope(c);
  delete c;
}

cel_status cel_mlx_status(cel_mlx *c, cel_err *err) {
  cel_status s = c->err.status;
  if (s != CEL_OK && err) *err = c->err;
  c->err.status = CEL_OK;
  return s;
}

void cel_mlx_path(cel_mlx *c, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(c->path, sizeof c->path, fmt, args);
  va_end(args);
}

void cel_mlx_refuse(cel_mlx *c, cel_status status, const char *fmt, ...) {
  if (c->err.status != CEL_OK) return;
  va_list args;
  va_start(args, fmt);
  cel_failv(&c->err, status, fmt, args);
  va_end(args);
  if (c->path[0]) cel_err_prefix(&c->err, "%s", c->path);
}

void cel_mlx_end_scope(cel_mlx *c) {
  for (cel_mlx_array *x : c->scope) delete x;
  c->live -= static_cast<int64_t>(c->scope.size());
  c->scope.clear();
}

arr cel_mlx_keep(cel_mlx *c, arr x) {
  if (!x || c->err.status != CEL_OK) return nullptr;
  cel_mlx_array *kept = new (std::nothrow) cel_mlx_array{x->a, true};
  if (!kept) fail(c, CEL_OOM, "out of memory");
  else c->live++;
  return kept;
}

void cel_mlx_release(cel_mlx *c, arr kept) {
  if (!kept) return;
  c->live--;
  delete kept;
}

int64_t cel_mlx_live(const cel_mlx *c) { return c->live; }

void cel_mlx_memory_of(cel_mlx_memory *out) {
  *out = {static_cast<int64_t>(mx::get_active_memory()), static_cast<int64_t>(mx::get_peak_memory()),
          static_cast<int64_t>(mx::get_cache_memory()), static_cast<int64_t>(mx::get_memory_limit())};
}

int64_t cel_mlx_limit_memory(int64_t bytes) { return static_cast<int64_t>(mx::set_memory_limit(static_cast<size_t>(bytes))); }

void cel_mlx_wire(int64_t bytes) {
  try {
    if (!mx::metal::is_available()) return;
    const auto &about = mx::gpu::device_info(0);
    auto most = about.find("max_recommended_working_set_size");
    const size_t *limit = most == about.end() ? nullptr : std::get_if<size_t>(&most->second);
    size_t want = static_cast<size_t>(bytes);
    mx::set_wired_limit(limit ? std::min(want, *limit) : want);
  } catch (...) {  // an older system: the weights are paged like any memory
  }
}

void cel_mlx_clear_cache(void) {
  try {
    mx::clear_cache();
  } catch (...) {
  }
}

cel_status cel_mlx_join(cel_mlx *c, int n, int *rank, cel_err *err) {
  guarded(c, [&] {
    c->group = mx::distributed::init(true);
    *rank = c->group->rank();
  });
  CEL_TRY(cel_mlx_status(c, err));
  if (c->group->size() == n) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%d devices were asked for, MLX was launched with %d processes", n, c->group->size());
}

arr cel_mlx_all_sum(cel_mlx *c, arr x) {
  return make(c, {x}, [&] { return mx::distributed::all_sum(x->a, c->group, c->stream); });
}

// ---- arrays from memory --------------------------------------------------------------------------------

arr cel_mlx_lend(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, const void *data) {
  return make(c, {}, [&] {
    return mx::array(const_cast<void *>(data), shape_of(rank, dims), types[type], [](void *) {});
  });
}

arr cel_mlx_own(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, void *data) {
  arr x = make(c, {}, [&] { return mx::array(data, shape_of(rank, dims), types[type], [](void *p) { std::free(p); }); });
  if (!x) std::free(data);
  return x;
}

arr cel_mlx_copy(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, const void *data) {
  size_t bytes = mx::size_of(types[type]);
  for (int i = 0; i < rank; i++) bytes *= static_cast<size_t>(dims[i]);  // what is copied lies in memory: it can be counted
  void *own = std::malloc(bytes + 1);
  if (!own) {
    fail(c, CEL_OOM, "out of memory");
    return nullptr;
  }
  std::memcpy(own, data, bytes);
  return cel_mlx_own(c, type, rank, dims, own);
}

arr cel_mlx_zeros(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims) {
  return make(c, {}, [&] {
    mx::Shape shape = shape_of(rank, dims);
    expect_memory(c, shape, types[type]);
    return mx::zeros(shape, types[type], c->stream);
  });
}

arr cel_mlx_iota(cel_mlx *c, int64_t from, int64_t to) {
  return make(c, {}, [&] { return mx::arange(narrow(from), narrow(to), 1, c->stream); });
}

// ---- looking -------------------------------------------------------------------------------------------

int cel_mlx_rank(const cel_mlx_array *x) { return x ? static_cast<int>(x->a.ndim()) : 0; }
int64_t cel_mlx_dim(const cel_mlx_array *x, int i) {
  return x && static_cast<size_t>(i) < x->a.ndim() ? x->a.shape()[static_cast<size_t>(i)] : 0;
}

cel_mlx_type cel_mlx_type_of(const cel_mlx_array *x) {
  for (int i = 0; i < CEL_COUNT(types); i++) {
    if (types[i] == x->a.dtype()) return static_cast<cel_mlx_type>(i);
  }
  return CEL_MLX_F32;
}

cel_status cel_mlx_eval(cel_mlx *c, const arr *xs, int n, bool wait, cel_err *err) {
  if (c->err.status == CEL_OK) {
    guarded(c, [&] {
      std::vector<mx::array> all;
      for (int i = 0; i < n; i++) {
        if (xs[i]) all.push_back(xs[i]->a);
      }
      std::lock_guard<std::mutex> lock(turn());
      expect_memory(c, all);
      if (wait) mx::eval(std::move(all));
      else mx::async_eval(std::move(all));
    });
  }
  return cel_mlx_status(c, err);
}

const float *cel_mlx_floats(const cel_mlx_array *x) { return x->a.data<float>(); }

// ---- shape ---------------------------------------------------------------------------------------------

arr cel_mlx_reshape(cel_mlx *c, arr x, int rank, const int64_t *dims) {
  return make(c, {x}, [&] { return mx::reshape(x->a, shape_of(rank, dims), c->stream); });
}

arr cel_mlx_transpose(cel_mlx *c, arr x, const int *order) {
  return make(c, {x}, [&] { return mx::transpose(x->a, std::vector<int>(order, order + x->a.ndim()), c->stream); });
}

arr cel_mlx_swap(cel_mlx *c, arr x, int a, int b) {
  return make(c, {x}, [&] { return mx::swapaxes(x->a, a, b, c->stream); });
}

arr cel_mlx_slice(cel_mlx *c, arr x, int dim, int64_t from, int64_t to, int64_t step) {
  return make(c, {x}, [&] {
    mx::Shape starts(x->a.ndim(), 0), stops = x->a.shape(), steps(x->a.ndim(), 1);
    size_t d = static_cast<size_t>(dim);
    starts[d] = narrow(from);
    stops[d] = narrow(to);
    steps[d] = narrow(step);
    return mx::slice(x->a, starts, stops, steps, c->stream);
  });
}

arr cel_mlx_update(cel_mlx *c, arr x, arr y, int dim, int64_t at) {
  return make(c, {x, y}, [&] {
    mx::Shape starts(x->a.ndim(), 0), stops = x->a.shape();
    size_t d = static_cast<size_t>(dim);
    starts[d] = narrow(at);
    stops[d] = narrow(at + y->a.shape()[d]);
    return mx::slice_update(x->a, y->a, starts, stops, c->stream);
  });
}

arr cel_mlx_concat(cel_mlx *c, const arr *xs, int n, int dim) {
  for (int i = 0; i < n; i++) {
    if (!xs[i]) return make(c, {xs[i]}, [&] { return mx::array(0.0f); });
  }
  return make(c, {}, [&] {
    std::vector<mx::array> all;
    for (int i = 0; i < n; i++) all.push_back(xs[i]->a);
    return mx::concatenate(std::move(all), dim, c->stream);
  });
}

arr cel_mlx_broadcast(cel_mlx *c, arr x, int rank, const int64_t *dims) {
  return make(c, {x}, [&] { return mx::broadcast_to(x->a, shape_of(rank, dims), c->stream); });
}

arr cel_mlx_contiguous(cel_mlx *c, arr x) {
  return make(c, {x}, [&] { return mx::contiguous(x->a, false, c->stream); });
}

arr cel_mlx_take(cel_mlx *c, arr x, arr ids, int dim) {
  return make(c, {x, ids}, [&] { return mx::take(x->a, ids->a, dim, c->stream); });
}

arr cel_mlx_take_along(cel_mlx *c, arr x, arr ids, int dim) {
  return make(c, {x, ids}, [&] { return mx::take_along_axis(x->a, ids->a, dim, c->stream); });
}

arr cel_mlx_cast(cel_mlx *c, arr x, cel_mlx_type type) {
  if (x && x->a.dtype() == types[type]) return x;
  return make(c, {x}, [&] { return mx::astype(x->a, types[type], c->stream); });
}

// ---- arithmetic ----------------------------------------------------------------------------------------

arr cel_mlx_unary_op(cel_mlx *c, cel_mlx_unary op, arr x) {
  return make(c, {x}, [&]() -> mx::array {
    const mx::array &a = x->a;
    switch (op) {
      case CEL_MLX_NEGATE: return mx::negative(a, c->stream);
      case CEL_MLX_ABS: return mx::abs(a, c->stream);
      case CEL_MLX_EXP: return mx::exp(a, c->stream);
      case CEL_MLX_LOG: return mx::log(a, c->stream);
      case CEL_MLX_LOG1P: return mx::log1p(a, c->stream);
      case CEL_MLX_TANH: return mx::tanh(a, c->stream);
      case CEL_MLX_SIGMOID: return mx::sigmoid(a, c->stream);
      case CEL_MLX_ERF: return mx::erf(a, c->stream);
      case CEL_MLX_SQRT: return mx::sqrt(a, c->stream);
      case CEL_MLX_RSQRT: return mx::rsqrt(a, c->stream);
    }
    throw std::invalid_argument("no such operation");
  });
}

static mx::array binary(cel_mlx_binary op, const mx::array &a, const mx::array &b, const mx::Stream &s) {
  switch (op) {
    case CEL_MLX_ADD: return mx::add(a, b, s);
    case CEL_MLX_SUB: return mx::subtract(a, b, s);
    case CEL_MLX_MUL: return mx::multiply(a, b, s);
    case CEL_MLX_DIV: return mx::divide(a, b, s);
    case CEL_MLX_MAX: return mx::maximum(a, b, s);
    case CEL_MLX_MIN: return mx::minimum(a, b, s);
    case CEL_MLX_LT: return mx::less(a, b, s);
    case CEL_MLX_LE: return mx::less_equal(a, b, s);
    case CEL_MLX_GT: return mx::greater(a, b, s);
    case CEL_MLX_EQ: return mx::equal(a, b, s);
    case CEL_MLX_AND: return mx::logical_and(a, b, s);
  }
  throw std::invalid_argument("no such operation");
}

arr cel_mlx_binary_op(cel_mlx *c, cel_mlx_binary op, arr x, arr y) {
  return make(c, {x, y}, [&] { return binary(op, x->a, y->a, c->stream); });
}

arr cel_mlx_scalar_op(cel_mlx *c, cel_mlx_binary op, arr x, double y) {
  return make(c, {x}, [&] { return binary(op, x->a, mx::array(static_cast<float>(y), x->a.dtype()), c->stream); });
}

arr cel_mlx_where(cel_mlx *c, arr condition, arr x, arr y) {
  return make(c, {condition, x, y}, [&] { return mx::where(condition->a, x->a, y->a, c->stream); });
}

arr cel_mlx_reduce(cel_mlx *c, cel_mlx_reduction op, arr x, int dim, bool keep) {
  return make(c, {x}, [&]() -> mx::array {
    switch (op) {
      case CEL_MLX_SUM: return mx::sum(x->a, dim, keep, c->stream);
      case CEL_MLX_MOST: return mx::max(x->a, dim, keep, c->stream);
      case CEL_MLX_MEAN: return mx::mean(x->a, dim, keep, c->stream);
      case CEL_MLX_ANY: return mx::any(x->a, dim, keep, c->stream);
    }
    throw std::invalid_argument("no such reduction");
  });
}

arr cel_mlx_softmax(cel_mlx *c, arr x) {
  return make(c, {x}, [&] { return mx::softmax(x->a, -1, true, c->stream); });
}

arr cel_mlx_argsort(cel_mlx *c, arr x) {
  return make(c, {x}, [&] { return mx::argsort(x->a, -1, c->stream); });
}

// ---- products ------------------------------------------------------------------------------------------

arr cel_mlx_matmul(cel_mlx *c, arr x, arr y) {
  return make(c, {x, y}, [&] { return mx::matmul(x->a, y->a, c->stream); });
}

arr cel_mlx_linear(cel_mlx *c, arr x, const cel_mlx_matrix *w, bool transposed) {
  return make(c, {x, w->w}, [&] {
    if (!w->scales) return mx::matmul(x->a, transposed ? mx::swapaxes(w->w->a, -1, -2, c->stream) : w->w->a, c->stream);
    return mx::quantized_matmul(x->a, w->w->a, w->scales->a, maybe(w->biases), transposed, w->group, w->bits, w->mode,
                                c->stream);
  });
}

arr cel_mlx_expert_linear(cel_mlx *c, arr x, const cel_mlx_matrix *w, arr ids) {
  return make(c, {x, w->w, ids}, [&] {
    if (!w->scales) {
      mx::array stack = mx::swapaxes(w->w->a, -1, -2, c->stream);
      if (c->device != mx::Device::cpu || x->a.dtype() == mx::float32) {
        return mx::gather_mm(x->a, stack, std::nullopt, ids->a, false, c->stream);
      }
      // MLX's CPU device has this product in f32 only.
      mx::array wide = mx::gather_mm(mx::astype(x->a, mx::float32, c->stream), mx::astype(stack, mx::float32, c->stream),
                                     std::nullopt, ids->a, false, c->stream);
      return mx::astype(wide, x->a.dtype(), c->stream);
    }
    return mx::gather_qmm(x->a, w->w->a, w->scales->a, maybe(w->biases), std::nullopt, ids->a, true, w->group, w->bits,
                          w->mode, std::nullopt, false, c->stream);
  });
}

arr cel_mlx_dequantize(cel_mlx *c, const cel_mlx_matrix *w, cel_mlx_type type) {
  return make(c, {w->w, w->scales}, [&] {
    return mx::dequantize(w->w->a, w->scales->a, maybe(w->biases), w->group, w->bits, w->mode, std::nullopt, types[type],
                          c->stream);
  });
}

// ---- fused ---------------------------------------------------------------------------------------------

arr cel_mlx_rms_norm(cel_mlx *c, arr x, arr weight, double eps) {
  return make(c, {x}, [&] { return mx::fast::rms_norm(x->a, maybe(weight), static_cast<float>(eps), c->stream); });
}

arr cel_mlx_layer_norm(cel_mlx *c, arr x, arr weight, arr bias, double eps) {
  return make(c, {x}, [&] {
    return mx::fast::layer_norm(x->a, maybe(weight), maybe(bias), static_cast<float>(eps), c->stream);
  });
}

arr cel_mlx_rope(cel_mlx *c, arr x, int dims, bool interleaved, int64_t offset, arr periods) {
  return make(c, {x, periods}, [&] {
    return mx::fast::rope(x->a, dims, interleaved, std::nullopt, 1.0f, narrow(offset), periods->a, c->stream);
  });
}

arr cel_mlx_rope_each(cel_mlx *c, arr x, int dims, bool interleaved, arr offsets, arr periods) {
  return make(c, {x, offsets, periods}, [&] {
    return mx::fast::rope(x->a, dims, interleaved, std::nullopt, 1.0f, offsets->a, periods->a, c->stream);
  });
}

arr cel_mlx_attention(cel_mlx *c, arr q, arr k, arr v, double scale, bool causal, arr mask, arr sinks) {
  return make(c, {q, k, v}, [&] {
    return mx::fast::scaled_dot_product_attention(q->a, k->a, v->a, static_cast<float>(scale), causal ? "causal" : "",
                                                  maybe(mask), maybe(sinks), false, c->stream);
  });
}

}  // extern "C"
