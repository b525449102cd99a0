#include "sim/sharing/max_min.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

void require_positive(double value, const char* what) {
  if (!(value > 0)) {
    throw core::InvariantError(std::string(what) + " is " + std::to_string(value) +
                               " (must be > 0)");
  }
}

}  // namespace

MaxMin::Resource MaxMin::add_resource(double capacity) {
  require_positive(capacity, "the capacity of a resource");
  ResourceState state;
  state.capacity = capacity;
  state.users.reserve(4);
  resources_.push_back(std::move(state));
  return static_cast<Resource>(resources_.size() - 1);
}

MaxMin::Pattern MaxMin::add_pattern(std::span<const Use> uses) {
  for (const Use& use : uses) {
    require_positive(use.coefficient, "what a consumer takes of a resource");
    if (use.resource >= resources_.size()) {
      throw core::InvariantError("a pattern uses resource " + std::to_string(use.resource) +
                                 " (there are " + std::to_string(resources_.size()) + ")");
    }
  }
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  pattern_begin_.push_back(static_cast<std::uint32_t>(uses_.size()));
  return static_cast<Pattern>(pattern_begin_.size() - 2);
}

double MaxMin::start(Consumer consumer, Pattern pattern, double bound) {
  if (consumer >= consumers_.size()) consumers_.resize(consumer + 1);
  bool alone = true;
  double rate = bound;
  for (const Use& use : uses(pattern)) {
    ResourceState& resource = resources_[use.resource];
    alone = alone && resource.users.empty();
    rate = std::min(rate, resource.capacity / use.coefficient);
    resource.users.push_back(consumer);
  }
  if (rate == unbounded) {
    throw core::InvariantError("consumer " + std::to_string(consumer) +
                               " uses no resource and has no bound (its rate would be infinite)");
  }
  ConsumerState& state = consumers_[consumer];
  state.pattern = pattern;
  state.bound = bound;
  state.rate = alone ? rate : 0;
  if (!alone) touched_.push_back(uses(pattern).front().resource);
  return state.rate;
}

void MaxMin::stop(Consumer consumer) {
  for (const Use& use : uses(consumers_[consumer].pattern)) {
    auto& users = resources_[use.resource].users;
    if (users.size() == 1) {
      users.pop_back();
      continue;
    }
    *std::find(users.begin(), users.end(), consumer) = users.back();
    users.pop_back();
    touched_.push_back(use.resource);
  }
  consumers_[consumer].rate = 0;
}

void MaxMin::set_capacity(Resource resource, double capacity) {
  require_positive(capacity, "the capacity of a resource");
  resources_[resource].capacity = capacity;
  touched_.push_back(resource);
}

std::span<const MaxMin::Consumer> MaxMin::settle() {
  changed_.clear();
  ++mark_;
  for (const Resource from : touched_) {
    if (resources_[from].mark == mark_) continue;
    gather(from);
    solve();
  }
  touched_.clear();
  std::sort(changed_.begin(), changed_.end());
  return changed_;
}

void MaxMin::gather(Resource from) {
  component_resources_.assign(1, from);
  component_consumers_.clear();
  resources_[from].mark = mark_;
  for (std::size_t i = 0; i < component_resources_.size(); ++i) {
    for (const Consumer consumer : resources_[component_resources_[i]].users) {
      if (consumers_[consumer].mark == mark_) continue;
      consumers_[consumer].mark = mark_;
      component_consumers_.push_back(consumer);
      for (const Use& use : uses(consumers_[consumer].pattern)) {
        if (resources_[use.resource].mark == mark_) continue;
        resources_[use.resource].mark = mark_;
        component_resources_.push_back(use.resource);
      }
    }
  }
  // A fixed order: sums do not depend on who came first.
  std::sort(component_resources_.begin(), component_resources_.end());
  std::sort(component_consumers_.begin(), component_consumers_.end());
}

void MaxMin::fix(Consumer consumer, double rate) {
  ConsumerState& state = consumers_[consumer];
  state.fixed = true;
  state.next = rate;
  for (const Use& use : uses(state.pattern)) {
    ResourceState& resource = resources_[use.resource];
    resource.left -= use.coefficient * rate;
    resource.demand -= use.coefficient;
  }
}

void MaxMin::solve() {
  for (const Resource id : component_resources_) {
    ResourceState& resource = resources_[id];
    resource.left = resource.capacity;
    resource.demand = 0;
  }
  for (const Consumer id : component_consumers_) {
    ConsumerState& consumer = consumers_[id];
    consumer.fixed = false;
    for (const Use& use : uses(consumer.pattern)) {
      resources_[use.resource].demand += use.coefficient;
    }
  }
  solved_ += component_consumers_.size();
  std::size_t left = component_consumers_.size();
  // Equal shares that rounding has set apart still count as equal.
  constexpr double same = 1 + 1e-12;
  while (left > 0) {
    double level = unbounded;
    for (const Resource id : component_resources_) {
      const ResourceState& resource = resources_[id];
      if (resource.demand > 1e-9) level = std::min(level, resource.left / resource.demand);
    }
    for (const Consumer id : component_consumers_) {
      if (!consumers_[id].fixed) level = std::min(level, consumers_[id].bound);
    }
    for (const Resource id : component_resources_) {
      ResourceState& resource = resources_[id];
      if (resource.demand <= 1e-9 || resource.left > level * resource.demand * same) continue;
      for (const Consumer user : resource.users) {
        if (consumers_[user].fixed) continue;
        fix(user, level);
        --left;
      }
      resource.demand = 0;
    }
    for (const Consumer id : component_consumers_) {
      if (consumers_[id].fixed || consumers_[id].bound > level * same) continue;
      fix(id, consumers_[id].bound);
      --left;
    }
  }
  for (const Consumer id : component_consumers_) {
    ConsumerState& consumer = consumers_[id];
    if (consumer.next == consumer.rate) continue;
    consumer.rate = consumer.next;
    changed_.push_back(id);
  }
}

}  // namespace paceline::sim
