#include "models/kernel_class.hpp"

#include <algorithm>

#include "core/rates.hpp"

namespace paceline::models {

std::string_view kernel_class(const Operation& operation) {
  if (const auto* shape = std::get_if<MatmulShape>(&operation.shape)) {
    const bool a = shape->a == Transpose::yes;
    const bool b = shape->b == Transpose::yes;
    if (a) return b ? "matmul_tt" : "matmul_tn";
    return b ? "matmul_nt" : "matmul_nn";
  }
  return core::spelling(operation.kind);
}

namespace {

double beyond(core::Bytes bytes, core::Bytes cache) {
  return static_cast<double>(std::max<std::int64_t>(0, (bytes - cache).value()));
}

std::vector<KernelFeature> product_features(const MatmulShape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return {{"call", 1}, {"mnk", m * n * k}, {"mn", m * n}, {"mk", m * k}, {"kn", k * n}};
}

std::vector<KernelFeature> attention_features(const AttentionShape& s) {
  const auto heads = static_cast<double>(s.batch * s.heads);
  const auto tokens = static_cast<double>(s.tokens);
  const auto d = static_cast<double>(s.head_dimension);
  return {{"call", 1},
          {"heads", heads},
          {"scores", heads * tokens * tokens},
          {"score_products", heads * tokens * tokens * d},
          {"values", heads * tokens * d}};
}

}  // namespace

std::vector<KernelFeature> kernel_features(const Operation& operation) {
  if (const auto* s = std::get_if<MatmulShape>(&operation.shape)) return product_features(*s);
  if (const auto* s = std::get_if<AttentionShape>(&operation.shape)) return attention_features(*s);
  if (std::holds_alternative<CollectiveShape>(operation.shape)) return {};
  const core::Bytes bytes = operation.bytes_read + operation.bytes_written;
  std::vector<KernelFeature> features{{"call", 1},
                                      {"bytes", static_cast<double>(bytes.value())},
                                      {"bytes_beyond_1_mib", beyond(bytes, core::mib(1))},
                                      {"bytes_beyond_16_mib", beyond(bytes, core::mib(16))}};
  if (const auto* s = std::get_if<RowsShape>(&operation.shape)) {
    features.push_back({"rows", static_cast<double>(s->rows)});
  }
  return features;
}

}  // namespace paceline::models
