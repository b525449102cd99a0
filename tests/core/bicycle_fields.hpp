#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace paceline::test {

struct Lamp {
  double lumen = 100;
};

/// One member of each type that a table knows.
struct Bicycle {
  std::int64_t wheels = 2;
  double mass_kg = 10;
  std::string name = "nameless";
  bool electric = false;
  core::GeluForm form = core::GeluForm::exact;
  std::vector<std::int64_t> teeth{11};
  std::map<std::string, double> prices;
  std::optional<Lamp> lamp;
  core::Bytes log;
  core::PerEnum<core::Stream, double> load;
  int gears = 1;
};

inline const core::FieldTable<Lamp>& lamp_fields() {
  static const core::FieldTable<Lamp> table = [] {
    core::FieldTable<Lamp> fields;
    fields.required("lumen", &Lamp::lumen, core::number({.min = 1, .max = 500}), "light");
    return fields;
  }();
  return table;
}

inline const core::FieldTable<Bicycle>& bicycle_fields() {
  static const core::FieldTable<Bicycle> table = [] {
    using B = Bicycle;
    core::FieldTable<B> fields;
    fields.document("bicycle");
    fields.required("wheels", &B::wheels, core::integer<std::int64_t>({.min = 1, .max = 4}),
                    "that touch the road");
    fields.required("mass_kg", &B::mass_kg, core::number(core::positive), "without rider");
    fields.defaulted("name", &B::name, core::text(), "of the frame");
    fields.defaulted("electric", &B::electric, core::boolean(), "has a motor");
    fields.defaulted("form", &B::form, core::word<core::GeluForm>(), "of the curve");
    fields.defaulted("teeth", &B::teeth, core::list(core::integer<std::int64_t>({.min = 9}), 1, 3),
                     "by sprocket");
    fields.defaulted("prices", &B::prices, core::dictionary(core::number(core::not_negative)),
                     "by shop");
    fields.optional("lamp", &B::lamp, core::record(lamp_fields()), "in front");
    fields.defaulted("log", &B::log, core::bytes_value(), "size of its log");
    fields.defaulted("load", &B::load, core::per_word<core::Stream>(core::number()), "by stream");
    fields.defaulted("gears", &B::gears, core::integer<int>(), "to shift");
    fields.foreign("mass_g", [](const core::Json& value) {
      return "here it is \"mass_kg\": " + core::shown(core::Json(value.get<double>() / 1000.0));
    });
    fields.check([](const B& bicycle, const core::Cursor& cursor) {
      if (bicycle.electric && bicycle.mass_kg < 15) {
        cursor.at("mass_kg").fault("an electric one weighs 15 or more");
      }
    });
    return fields;
  }();
  return table;
}

}  // namespace paceline::test
