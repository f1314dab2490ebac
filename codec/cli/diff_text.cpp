// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/diff_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/facts.hpp"
#include "cli/terminal.hpp"

namespace ptd::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char signs[] = {'-', '+', '~', '>'};
constexpr const char* change_names[] = {"removed", "added", "changed", "renamed"};

char sign_of(Change change) { return signs[static_cast<unsigned>(change)]; }

// The start of a digest is enough to tell two apart.
std::string value_text(const Detail& detail, const std::string& value) {
  constexpr std::size_t digest_digits = 12, most = 100;
  if (detail.what == "content" && value.size() > digest_digits) return value.substr(0, digest_digits);
  return value.size() <= most ? escaped(value) : escaped(value.substr(0, most)) + "...";
}

std::string detail_text(const Detail& detail) {
  auto what = escaped(detail.what);
  if (detail.before.empty() && detail.after.empty()) return what;
  if (detail.before.empty()) return "+ " + what + " " + value_text(detail, detail.after);
  if (detail.after.empty()) return "- " + what + " " + value_text(detail, detail.before);
  return what + " " + value_text(detail, detail.before) + " -> " + value_text(detail, detail.after);
}

// Of something added or removed as a whole, whose details all have one side.
std::string fact_text(const Detail& detail) {
  return escaped(detail.what) + " " +
         value_text(detail, detail.before.empty() ? detail.after : detail.before);
}

bool is_whole(const Difference& difference) {
  return difference.change == Change::added || difference.change == Change::removed;
}

template <class Render>
std::string details_text(const std::vector<Detail>& details, Render render) {
  std::string text;
  for (const auto& detail : details) text += (text.empty() ? ": " : ", ") + render(detail);
  return text;
}

std::string name_text(const std::string& name, const std::string& owner) {
  const auto of = owner.empty() ? "" : " of " + escaped(owner);
  return fmt::format("\"{}\"{}", escaped(name), of);
}

std::string tally_text(const Tally& tally, std::string_view what) {
  return fmt::format("{} {} ({})", grouped(tally.tensors), what, human_size(tally.bytes));
}

std::string verdict(const ModelDiff& diff, const DiffIds& ids) {
  if (ids.before == ids.after)
    return fmt::format("identical: both have the model id {}\n", to_hex(ids.before));
  if (diff.differences.empty())
    return "same, though the model ids differ: what differs in the manifests means nothing\n";
  return fmt::format("different: {}\n", counted(diff.differences.size(), "difference"));
}

Json details_json(const std::vector<Detail>& details) {
  Json out = Json::array();
  for (const auto& detail : details) {
    const auto side = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    out.push_back({{"what", detail.what}, {"before", side(detail.before)}, {"after", side(detail.after)}});
  }
  return out;
}

Json difference_json(const Difference& difference) {
  Json out = {{"change", change_names[static_cast<unsigned>(difference.change)]},
              {"kind", std::string(subject_name(difference.subject))},
              {"name", difference.name},
              {"owner", difference.owner}};
  if (difference.change == Change::renamed) {
    out["new_name"] = difference.new_name;
    out["new_owner"] = difference.new_owner;
  }
  out["details"] = details_json(difference.details);
  return out;
}

Json tally_json(const Tally& tally) { return {{"tensors", tally.tensors}, {"bytes", tally.bytes}}; }

Json summary_json(const DiffSummary& summary) {
  return {{"same", tally_json(summary.same)},
          {"changed", tally_json(summary.changed)},
          {"renamed", tally_json(summary.renamed)},
          {"added", tally_json(summary.added)},
          {"removed", tally_json(summary.removed)},
          {"content_bytes_in_both", summary.shared_bytes},
          {"content_bytes_only_before", summary.before_bytes},
          {"content_bytes_only_after", summary.after_bytes}};
}

}  // namespace

std::string difference_line(const Difference& difference) {
  auto line = fmt::format("{} {}", sign_of(difference.change), subject_name(difference.subject));
  if (!difference.name.empty()) line += " " + name_text(difference.name, difference.owner);
  if (difference.change == Change::renamed) {
    const bool was_owned = !difference.owner.empty() && difference.new_owner.empty();
    line += " -> " + name_text(difference.new_name, was_owned ? "the model" : difference.new_owner);
  }
  return line + details_text(difference.details, is_whole(difference) ? fact_text : detail_text) + "\n";
}

std::string conflict_text(const MergeConflict& conflict) {
  return fmt::format("{} {}{}", subject_name(conflict.subject), name_text(conflict.name, conflict.owner),
                     details_text(conflict.details, detail_text));
}

std::string summary_text(const ModelDiff& diff, const DiffIds& ids) {
  const auto& sum = diff.summary;
  return verdict(diff, ids) +
         fmt::format("tensors: {}, {}, {}, {}, {}\n", tally_text(sum.same, "the same"),
                     tally_text(sum.changed, "changed"), tally_text(sum.renamed, "renamed"),
                     tally_text(sum.added, "added"), tally_text(sum.removed, "removed")) +
         fmt::format("contents: {} in both, {} only in the first, {} only in the second\n",
                     human_size(sum.shared_bytes), human_size(sum.before_bytes), human_size(sum.after_bytes));
}

std::string diff_json(const ModelDiff& diff, const DiffIds& ids, const std::string& before,
                      const std::string& after) {
  Json differences = Json::array();
  for (const auto& difference : diff.differences) differences.push_back(difference_json(difference));
  const Json json = {{"before", {{"file", before}, {"model_id", to_hex(ids.before)}}},
                     {"after", {{"file", after}, {"model_id", to_hex(ids.after)}}},
                     {"identical", ids.before == ids.after},
                     {"same", diff.differences.empty()},
                     {"differences", std::move(differences)},
                     {"summary", summary_json(diff.summary)}};
  // Paths need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptd::cli
