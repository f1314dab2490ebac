// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gds.hpp"

#include <fcntl.h>

#include <cerrno>

#include "cuda/cufile_api.hpp"
#include "file/failure.hpp"
#include "file/fd.hpp"

namespace ptd::cuda {
namespace {

constexpr unsigned p2p_feature = 1U << 4;  // CU_FILE_P2P_SUPPORTED: PCI peers without nvidia-fs

GdsProbe describe(const CuFileProperties& properties) {
  const auto& driver = properties.nvidia_fs;
  if (driver.major_version > 0)
    return {GdsMode::native, "GPUDirect Storage is native here: nvidia-fs " +
                                 std::to_string(driver.major_version) + "." +
                                 std::to_string(driver.minor_version) + " is loaded"};
  if ((properties.features & p2p_feature) != 0)
    return {GdsMode::native, "GPUDirect Storage is native here: by PCI peer-to-peer, without nvidia-fs"};
  return {
      GdsMode::compatibility,
      "GPUDirect Storage is here in compatibility mode: the kernel module nvidia-fs is not loaded, so cuFile "
      "reads to the host and copies"};
}

GdsProbe probe() {
  const auto api = CuFileApi::get();
  if (!api) return {GdsMode::absent, api.error().message};
  CuFileProperties properties{};
  if (const auto status = (*api)->get_properties(&properties); status.error != 0)
    return {GdsMode::absent,
            "GPUDirect Storage is not to be had here: cuFile does not say what it can do (error " +
                std::to_string(status.error) + ")"};
  return describe(properties);
}

}  // namespace

GdsProbe probe_gds() { return probe(); }

struct GdsFile::Inner {
  Inner(const CuFileApi& with, file::Fd opened, std::string path)
      : api(with), file(std::move(opened)), label(std::move(path)) {}
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
  ~Inner() {
    if (handle != nullptr) api.deregister_file(handle);
  }

  const CuFileApi& api;
  const file::Fd file;
  const std::string label;
  void* handle = nullptr;
};

Result<GdsFile> GdsFile::open(const std::filesystem::path& path) {
  return file::guarded([&]() -> Result<GdsFile> {
    PTD_LET(api, CuFileApi::get());
    file::Fd opened(
        file::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT); }));
    if (!opened)
      return file::system_failure("the file cannot be read past the page cache", path.native(), errno);
    auto inner = std::make_shared<Inner>(*api, std::move(opened), path.native());
    CuFileDescription description;
    description.fd = inner->file.get();
    if (const auto status = api->register_file(&inner->handle, &description); status.error != 0) {
      inner->handle = nullptr;
      return fail_on(ErrorCode::io, "", path.native(),
                     "cuFile does not take this file (error " + std::to_string(status.error) +
                         "); its file system may be none that it knows");
    }
    return GdsFile(std::move(inner));
  });
}

Result<void> GdsFile::read(void* device_memory, std::uint64_t bytes, std::uint64_t offset) const {
  for (std::uint64_t done = 0; done < bytes;) {
    const auto moved = inner_->api.read(inner_->handle, device_memory, bytes - done,
                                        static_cast<off_t>(offset + done), static_cast<off_t>(done));
    if (moved == -1 && errno != 0)
      return file::system_failure("cuFile cannot read the file", inner_->label, errno);
    if (moved <= 0)
      return fail_on(ErrorCode::io, "", inner_->label,
                     "cuFile cannot read the file (its error " + std::to_string(-moved) + ")");
    done += static_cast<std::uint64_t>(moved);
  }
  return {};
}

}  // namespace ptd::cuda
