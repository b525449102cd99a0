#pragma once

#include "core/fields.hpp"
#include "models/architecture.hpp"

namespace paceline::models {

/// The keys of an architecture, `id` apart; the same in zoo files and inline in an experiment.
[[nodiscard]] const core::FieldTable<VitArchitecture>& architecture_fields();

/// Records what `faults_of` finds, each at its key.
void check_architecture(const VitArchitecture& architecture, const core::Cursor& cursor);

}  // namespace paceline::models
