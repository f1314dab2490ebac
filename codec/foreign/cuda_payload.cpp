// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/cuda_payload.hpp"

#include <algorithm>
#include <set>

#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

constexpr std::string_view magic = "ETCUDAFQN";
constexpr std::uint32_t most_variants = 256;
constexpr std::uint32_t most_entries = std::uint32_t{1} << 20;
constexpr std::uint32_t most_dimensions = 64;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Reads front to back; the only way to touch a payload's bytes.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

  Result<Bytes> take(std::size_t size) {
    if (size > left())
      return refuse("the manifest ends before " + std::to_string(size) + " bytes that it needs here");
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }

  template <class Integer>
  Result<Integer> number() {
    PTD_LET(bytes, take(sizeof(Integer)));
    return wire::load<Integer>(bytes, 0);
  }

  Result<std::string> string(std::string_view what) {
    PTD_LET(size, number<std::uint32_t>());
    if (size == 0) return refuse("an empty " + std::string(what));
    PTD_LET(bytes, take(size));
    return std::string(text_of(bytes));
  }

  /// A count of things of at least `least` bytes each.
  Result<std::uint32_t> count(std::uint32_t most, std::size_t least, std::string_view what) {
    PTD_LET(count, number<std::uint32_t>());
    if (count <= most && count <= left() / least) return count;
    return refuse(std::to_string(count) + " " + std::string(what) + ", which is over the limit of " +
                  std::to_string(most) + " or more than the bytes that follow can hold");
  }

  [[nodiscard]] Failure refuse(std::string message) const {
    return fail_at(ErrorCode::foreign_input, "", at_, std::move(message));
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

// What each digit's layout has.
struct Layout {
  char digit;
  bool has_variants;  ///< a list of them; else one library key
  bool has_flags;     ///< per variant
  bool has_group;     ///< per entry, and whether it is shareable
  bool has_device;    ///< per entry; else all are on the GPU
};
constexpr Layout layouts[] = {
    {'0', true, true, false, true},   {'1', false, false, true, false}, {'2', false, false, true, true},
    {'3', false, false, false, true}, {'4', true, false, false, true},  {'5', true, true, false, true},
};

class Parser {
 public:
  Parser(Bytes payload, const Layout& layout) : cursor_(payload), layout_(layout) {
    manifest_.digit = layout.digit;
  }

  Result<CudaManifest> run() {
    PTD_TRY(cursor_.take(magic.size() + 1));
    PTD_TRY(layout_.has_variants ? read_variants() : read_library());
    PTD_TRY(read_entries());
    if (cursor_.left() != 0)
      return cursor_.refuse(std::to_string(cursor_.left()) + " bytes follow the manifest's last entry");
    return std::move(manifest_);
  }

 private:
  Result<void> read_library() {
    PTD_LET(key, cursor_.string("library key"));
    manifest_.variants.push_back({0, 0, false, std::move(key)});
    return {};
  }

  Result<void> read_variants() {
    constexpr std::size_t least = 13;
    PTD_LET(count, cursor_.count(most_variants, least, "variants"));
    if (count == 0) return cursor_.refuse("no variant");
    for (std::uint32_t i = 0; i < count; ++i) PTD_TRY(read_variant());
    return check_variants();
  }

  Result<void> read_variant() {
    CudaVariant variant;
    PTD_LET(sm, cursor_.number<std::uint32_t>());
    PTD_LET(ptx, cursor_.number<std::uint32_t>());
    std::uint32_t flags = 0;
    if (layout_.has_flags) {
      PTD_LET(read, cursor_.number<std::uint32_t>());
      flags = read;
    }
    if (flags > 1)
      return cursor_.refuse("variant flags " + std::to_string(flags) + "; only bit 0 has a meaning");
    variant.sm = sm;
    variant.ptx = ptx;
    variant.is_fallback = flags == 1;
    PTD_LET(key, cursor_.string("library key"));
    variant.library_key = std::move(key);
    manifest_.variants.push_back(std::move(variant));
    return {};
  }

  [[nodiscard]] Result<void> check_variants() const {
    const auto& variants = manifest_.variants;
    const bool is_untargeted = layout_.digit == '0' && variants.size() == 1 && variants[0].sm == 0;
    if (is_untargeted && variants[0].ptx == 0 && !variants[0].is_fallback) return {};
    std::set<std::uint32_t> regular;
    const auto fallbacks = std::ranges::count_if(variants, &CudaVariant::is_fallback);
    if (fallbacks > 1) return cursor_.refuse("more than one fallback variant");
    // Digit 4 came before fallbacks: there, regular variants carry the PTX.
    const bool may_have_ptx = layout_.digit == '4' || variants.size() == 1;
    for (const auto& variant : variants) {
      const auto name = "variant sm " + std::to_string(variant.sm);
      if (variant.sm == 0 || variant.ptx > variant.sm)
        return cursor_.refuse(name + " has PTX " + std::to_string(variant.ptx));
      if (variant.is_fallback && variant.ptx == 0) return cursor_.refuse(name + " is a fallback without PTX");
      if (variant.is_fallback) continue;
      if (variant.ptx != 0 && !may_have_ptx) return cursor_.refuse(name + " has PTX beside a fallback's");
      if (!regular.insert(variant.sm).second) return cursor_.refuse(name + " stands there twice");
    }
    return {};
  }

  Result<void> read_entries() {
    constexpr std::size_t least = 34;
    PTD_LET(count, cursor_.count(most_entries, least, "entries"));
    for (std::uint32_t i = 0; i < count; ++i) PTD_TRY(read_entry());
    return check_groups();
  }

  Result<void> read_entry() {
    CudaEntry entry;
    PTD_LET(fqn, cursor_.string("FQN"));
    PTD_LET(key, cursor_.string("storage key"));
    entry.fqn = std::move(fqn);
    entry.storage_key = std::move(key);
    if (layout_.has_group) {
      PTD_LET(group, cursor_.number<std::uint32_t>());
      entry.group = group;
    }
    PTD_LET(bytes, cursor_.number<std::uint64_t>());
    PTD_LET(type, cursor_.number<std::int32_t>());
    entry.storage_bytes = bytes;
    entry.scalar_type = type;
    if (layout_.has_device) PTD_TRY(read_device(entry));
    PTD_LET(offset, unsigned_number("storage offset"));
    entry.storage_offset = offset;
    PTD_TRY(read_shape(entry));
    if (layout_.has_group) PTD_TRY(read_shareable(entry));
    if (!fqns_.insert(entry.fqn).second)
      return fail_on(ErrorCode::foreign_input, "", entry.fqn, "the manifest has this FQN twice");
    manifest_.entries.push_back(std::move(entry));
    return {};
  }

  Result<void> read_device(CudaEntry& entry) {
    PTD_LET(device, cursor_.number<std::int32_t>());
    if (device != 0 && device != 1)
      return cursor_.refuse("device type " + std::to_string(device) +
                            "; 0 (CPU) and 1 (CUDA) are understood");
    entry.device = static_cast<CudaDevice>(device);
    return {};
  }

  Result<void> read_shape(CudaEntry& entry) {
    constexpr std::size_t least = 16;
    PTD_LET(rank, cursor_.count(most_dimensions, least, "dimensions"));
    for (std::uint32_t i = 0; i < rank; ++i) {
      PTD_LET(size, unsigned_number("size"));
      entry.sizes.push_back(size);
    }
    for (std::uint32_t i = 0; i < rank; ++i) {
      PTD_LET(stride, unsigned_number("stride"));
      entry.strides.push_back(stride);
    }
    return {};
  }

  Result<void> read_shareable(CudaEntry& entry) {
    PTD_LET(flag, cursor_.number<std::uint8_t>());
    if (flag > 1)
      return cursor_.refuse("shareable flag " + std::to_string(flag) + "; 0 and 1 are understood");
    entry.is_shareable = flag == 1;
    return {};
  }

  Result<std::uint64_t> unsigned_number(std::string_view what) {
    PTD_LET(value, cursor_.number<std::int64_t>());
    if (value >= 0) return static_cast<std::uint64_t>(value);
    return cursor_.refuse("a negative " + std::string(what) + ", " + std::to_string(value));
  }

  // One allocation has one size, one place and one initial value.
  [[nodiscard]] Result<void> check_groups() const {
    std::vector<const CudaEntry*> sorted;
    for (const auto& entry : manifest_.entries)
      if (entry.group) sorted.push_back(&entry);
    std::ranges::stable_sort(sorted, {}, [](const auto* entry) { return *entry->group; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      const auto &a = *sorted[i - 1], &b = *sorted[i];
      if (a.group == b.group &&
          (a.storage_key != b.storage_key || a.storage_bytes != b.storage_bytes || a.device != b.device))
        return fail_on(ErrorCode::foreign_input, "", b.fqn,
                       "it shares an allocation with \"" + escaped(a.fqn) +
                           "\" but names another storage, size or device");
    }
    return {};
  }

  Cursor cursor_;
  const Layout& layout_;
  std::set<std::string> fqns_;
  CudaManifest manifest_;
};

}  // namespace

Result<CudaManifest> parse_cuda_manifest(Bytes payload) {
  const auto text = text_of(payload);
  if (!text.starts_with(magic) || text.size() == magic.size())
    return fail(ErrorCode::foreign_input, "", "it does not begin with ETCUDAFQN and a digit");
  const auto* const layout = std::ranges::find(layouts, text[magic.size()], &Layout::digit);
  if (layout == std::end(layouts))
    return fail(
        ErrorCode::unsupported_input, "",
        "it is a manifest ETCUDAFQN" + escaped(text.substr(magic.size(), 1)) +
            "; digits 0 to 5 are understood: use a newer ptd, or export again with a released ExecuTorch");
  return Parser(payload, *layout).run();
}

Result<CudaKeyList> parse_cuda_key_list(Bytes payload) {
  auto text = text_of(payload);
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto end = text.find('\n');
  if (end == std::string_view::npos || end == 0 || end + 1 == text.size() ||
      text.find('\n', end + 1) != std::string_view::npos)
    return fail(ErrorCode::foreign_input, "", "it is not two keys, one a line");
  return CudaKeyList{std::string(text.substr(0, end)), std::string(text.substr(end + 1))};
}

bool is_library_local(const CudaEntry& entry) {
  if (entry.group) return entry.fqn.starts_with("_tensor_constant");
  const std::string prefix =
      entry.device == CudaDevice::cpu ? "cuda_fqn_weight:cpu:" : "cuda_fqn_weight:cuda:";
  const auto shared_key = prefix + entry.fqn;
  // "<prefix><library key>:<FQN>"
  return entry.storage_key != shared_key && entry.storage_key.starts_with(prefix) &&
         entry.storage_key.ends_with(":" + entry.fqn) && entry.storage_key.size() > shared_key.size() + 1;
}

}  // namespace ptd::foreign
