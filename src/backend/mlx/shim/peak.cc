// The graph is gone through as an evaluation does it, operands first, with the bytes each array takes and when its last
// reader is done.
#include "backend/mlx/shim/peak.h"

#include <mlx/primitives.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

namespace mx = mlx::core;

namespace {

// MLX allocates ahead of what it computes: so many operations may still hold their operands.
constexpr size_t ahead = 12;

struct node {
  int readers = 0;
  size_t bytes = 0;                   // of its own; 0: it looks at an operand's
  std::vector<std::uintptr_t> holds;  // operands that live as long as it does
};

struct walk {
  std::unordered_map<std::uintptr_t, node> nodes;
  std::deque<std::uintptr_t> done;  // read for the last time
  size_t live = 0, peak = 0;

  bool is_new(const mx::array &a) const {
    return a.status() == mx::array::Status::unscheduled && a.has_primitive() && nodes.find(a.id()) == nodes.end();
  }

  void read(std::uintptr_t id) {
    auto at = nodes.find(id);
    if (at != nodes.end() && --at->second.readers == 0) done.push_back(id);
  }

  void drop() {
    const node &n = nodes[done.front()];
    done.pop_front();
    live -= n.bytes;
    for (std::uintptr_t id : n.holds) read(id);
  }
};

bool is_one_of(const char *name, std::initializer_list<const char *> names) {
  return std::any_of(names.begin(), names.end(), [&](const char *n) { return !std::strcmp(n, name); });
}

bool is_view(const mx::array &a) {
  return is_one_of(a.primitive().name(), {"Broadcast", "BroadcastAxes", "Transpose", "Slice", "ExpandDims", "Squeeze", "Flatten",
                                          "Unflatten", "AsStrided", "StopGradient"});
}

// Written over its first operand.
bool is_in_place(const mx::array &a) {
  return is_one_of(a.primitive().name(), {"SliceUpdate"}) && a.inputs()[0].is_donatable();
}

// What is computed, operands first.
std::vector<const mx::array *> order_of(const std::vector<mx::array> &wanted, walk &w) {
  std::vector<const mx::array *> order;
  std::vector<std::pair<const mx::array *, size_t>> path;
  for (const mx::array &root : wanted) {
    if (w.is_new(root)) path.emplace_back(&root, 0);
    w.nodes[root.id()].readers++;  // the caller, to the end
    while (!path.empty()) {
      auto &[a, i] = path.back();
      if (i == a->inputs().size()) {
        order.push_back(a);
        path.pop_back();
        continue;
      }
      const mx::array &in = a->inputs()[i++];
      bool fresh = w.is_new(in);
      if (fresh || w.nodes.count(in.id())) w.nodes[in.id()].readers++;
      if (fresh) path.emplace_back(&in, 0);
    }
  }
  return order;
}

}  // namespace

size_t cel_mlx_peak(const std::vector<mx::array> &wanted) {
  walk w;
  for (const mx::array *a : order_of(wanted, w)) {
    node &n = w.nodes[a->id()];
    if (is_view(*a) || is_in_place(*a)) {
      for (const mx::array &in : a->inputs()) n.holds.push_back(in.id());
      continue;
    }
    n.bytes = a->nbytes();
    w.live += n.bytes;
    w.peak = std::max(w.peak, w.live);
    for (const mx::array &in : a->inputs()) w.read(in.id());
    while (w.done.size() > ahead) w.drop();
  }
  return w.peak;
}
