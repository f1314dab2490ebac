// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Real GPUs, through the driver's functions.
#include <map>
#include <mutex>

#include "cuda/cuda_api.hpp"
#include "cuda/device.hpp"
#include "cuda/gpu/decoder.hpp"

namespace ptd::cuda {
namespace {

/// A device's primary context, which the runtime library uses too, and a queue in it.
class Context {
 public:
  static Result<std::shared_ptr<const Context>> make(CudaApiPtr api, int ordinal) {
    auto made = std::shared_ptr<Context>(new Context(std::move(api), ordinal));
    const auto& cuda = *made->api;
    PTD_TRY(cuda.check(cuda.cuDeviceGet(&made->device_, ordinal), "finding the GPU"));
    PTD_TRY(cuda.check(cuda.cuDevicePrimaryCtxRetain(&made->context, made->device_), "using the GPU"));
    const CurrentContext current(cuda, made->context);
    PTD_TRY(cuda.check(current.result(), "using the GPU"));
    PTD_TRY(cuda.check(cuda.cuStreamCreate(&made->stream, CU_STREAM_NON_BLOCKING), "making a stream"));
    return made;
  }

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    if (context == nullptr) return;
    decoder_.reset();
    if (stream != nullptr) {
      const CurrentContext current(*api, context);
      api->cuStreamDestroy(stream);
    }
    api->cuDevicePrimaryCtxRelease(device_);
  }

  /// Calls with the context current.
  template <class Call>
  Result<void> call(std::string_view doing, Call call) const {
    const CurrentContext current(*api, context);
    PTD_TRY(api->check(current.result(), doing));
    return api->check(call(), doing);
  }

  /// Whoever asks first loads the kernels. Valid as long as the context.
  Result<const gpu::Decoder*> decoder() const {
    const std::lock_guard lock(mutex_);
    if (!decoder_) {
      PTD_LET(made, gpu::Decoder::create(api, context));
      decoder_ = made;
    }
    return decoder_.get();
  }

  const CudaApiPtr api;
  const int ordinal;
  CUcontext context = nullptr;
  CUstream stream = nullptr;

 private:
  Context(CudaApiPtr with, int of) : api(std::move(with)), ordinal(of) {}
  CUdevice device_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const gpu::Decoder> decoder_;
};

using ContextPtr = std::shared_ptr<const Context>;

class CudaMark final : public Mark {
 public:
  static Result<MarkPtr> make(ContextPtr context, CUstream stream) {
    auto mark = std::make_shared<CudaMark>(std::move(context));
    const auto& cuda = *mark->context_->api;
    PTD_TRY(mark->context_->call("marking a point in a stream", [&] {
      const auto made = cuda.cuEventCreate(&mark->event_, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
      return made == CUDA_SUCCESS ? cuda.cuEventRecord(mark->event_, stream) : made;
    }));
    return mark;
  }

  explicit CudaMark(ContextPtr context) : context_(std::move(context)) {}
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;
  ~CudaMark() override {
    const CurrentContext current(*context_->api, context_->context);
    if (event_ != nullptr) context_->api->cuEventDestroy(event_);
  }

  [[nodiscard]] bool is_reached() const override {
    const CurrentContext current(*context_->api, context_->context);
    return context_->api->cuEventQuery(event_) != CUDA_ERROR_NOT_READY;
  }

  [[nodiscard]] Result<void> wait() const override {
    return context_->call("copying to the GPU", [&] { return context_->api->cuEventSynchronize(event_); });
  }

  [[nodiscard]] Result<void> make_wait(Stream stream) const override {
    return context_->call("letting a stream wait", [&] {
      return context_->api->cuStreamWaitEvent(stream, event_, CU_EVENT_WAIT_DEFAULT);
    });
  }

 private:
  ContextPtr context_;
  CUevent event_ = nullptr;
};

CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

class CudaLane final : public Lane {
 public:
  static Result<LanePtr> make(ContextPtr context) {
    PTD_LET(decoder, context->decoder());
    auto lane = std::make_unique<CudaLane>(std::move(context), *decoder);
    PTD_TRY(lane->context_->call("making a stream", [&] {
      return lane->cuda_.cuStreamCreate(&lane->stream_, CU_STREAM_NON_BLOCKING);
    }));
    return lane;
  }

  CudaLane(ContextPtr context, const gpu::Decoder& decoder)
      : context_(std::move(context)), cuda_(*context_->api), decoder_(decoder) {}
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;
  ~CudaLane() override {
    const CurrentContext current(cuda_, context_->context);
    if (stream_ != nullptr) cuda_.cuStreamDestroy(stream_);
  }

  [[nodiscard]] Result<void> copy(void* device, const void* host, std::uint64_t bytes) override {
    return context_->call("copying to the GPU",
                          [&] { return cuda_.cuMemcpyHtoDAsync(address_of(device), host, bytes, stream_); });
  }

  [[nodiscard]] Result<void> fetch(void* host, const void* device, std::uint64_t bytes) override {
    return context_->call("copying from the GPU",
                          [&] { return cuda_.cuMemcpyDtoHAsync(host, address_of(device), bytes, stream_); });
  }

  [[nodiscard]] Result<void> wait_for(const MarkPtr& mark) override { return mark->make_wait(stream_); }

  [[nodiscard]] Result<void> decode(std::span<const gpu::ChunkJob> jobs,
                                    const gpu::Workspace& workspace) override {
    return decoder_.decode_chunks(stream_, jobs, workspace);
  }

  [[nodiscard]] Result<void> hash_leaves(std::span<const gpu::LeafRun> runs,
                                         const gpu::Workspace& workspace) override {
    return decoder_.hash_leaves(stream_, runs, workspace);
  }

  [[nodiscard]] Result<MarkPtr> mark() override { return CudaMark::make(context_, stream_); }

 private:
  ContextPtr context_;
  const CudaApi& cuda_;
  const gpu::Decoder& decoder_;  ///< the context's
  CUstream stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(ContextPtr context) : context_(std::move(context)), cuda_(*context_->api) {}

  [[nodiscard]] int ordinal() const noexcept override { return context_->ordinal; }

  [[nodiscard]] Result<void*> allocate(std::uint64_t bytes) override {
    CUdeviceptr memory = 0;
    auto allocated =
        context_->call("allocating memory of the GPU", [&] { return cuda_.cuMemAlloc(&memory, bytes); });
    // The driver has its addresses as numbers.
    if (allocated) return reinterpret_cast<void*>(memory);  // NOLINT(performance-no-int-to-ptr)
    if (allocated.error().code == ErrorCode::no_memory) allocated.error().message = shortage(bytes);
    return Failure(std::move(allocated.error()));
  }

  void release(void* memory) noexcept override {
    const CurrentContext current(cuda_, context_->context);
    cuda_.cuMemFree(address_of(memory));
  }

  [[nodiscard]] Result<void> copy(void* device, const void* host, std::uint64_t bytes) override {
    return context_->call("copying to the GPU", [&] {
      return cuda_.cuMemcpyHtoDAsync(address_of(device), host, bytes, context_->stream);
    });
  }

  [[nodiscard]] Result<void> set_zero(void* device, std::uint64_t bytes) override {
    return context_->call("zeroing memory of the GPU", [&] {
      return cuda_.cuMemsetD8Async(address_of(device), 0, bytes, context_->stream);
    });
  }

  [[nodiscard]] Result<MarkPtr> mark() override { return CudaMark::make(context_, context_->stream); }

  [[nodiscard]] Result<LanePtr> make_lane() override { return CudaLane::make(context_); }

  [[nodiscard]] bool owns(const void* memory, std::uint64_t bytes) const override {
    const CurrentContext current(cuda_, context_->context);
    int ordinal = -1;
    CUdeviceptr base = 0;
    std::size_t size = 0;
    const auto address = address_of(memory);
    if (cuda_.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS ||
        ordinal != context_->ordinal)
      return false;
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    if (cuda_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE)
      return false;
    if (cuda_.cuMemGetAddressRange(&base, &size, address) != CUDA_SUCCESS) return false;
    return address - base <= size && bytes <= size - (address - base);
  }

 private:
  std::string shortage(std::uint64_t bytes) const {
    std::size_t free = 0;
    std::size_t total = 0;
    const CurrentContext current(cuda_, context_->context);
    cuda_.cuMemGetInfo(&free, &total);
    return "GPU " + std::to_string(context_->ordinal) + " has no " + std::to_string(bytes) +
           " bytes left: " + std::to_string(free) + " of " + std::to_string(total) + " are free";
  }

  ContextPtr context_;
  const CudaApi& cuda_;
};

class CudaDriver final : public Driver {
 public:
  explicit CudaDriver(CudaApiPtr api) : api_(std::move(api)) {}

  [[nodiscard]] Result<DevicePtr> device(int ordinal) override {
    PTD_TRY(check_ordinal(ordinal));
    const std::lock_guard lock(mutex_);
    auto& device = devices_[ordinal];
    if (!device) {
      PTD_LET(context, Context::make(api_, ordinal));
      if (!any_) any_ = context;
      device = std::make_shared<CudaDevice>(context);
    }
    return device;
  }

  [[nodiscard]] Result<void*> pin(std::uint64_t bytes) override {
    void* memory = nullptr;
    const auto context = any();
    if (!context) return fail(ErrorCode::internal, "", "no GPU has been asked for");
    PTD_TRY(context->call("page-locking memory",
                          [&] { return api_->cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE); }));
    return memory;
  }

  void unpin(void* memory) noexcept override {
    const auto context = any();
    const CurrentContext current(*api_, context->context);
    api_->cuMemFreeHost(memory);
  }

 private:
  Result<void> check_ordinal(int ordinal) const {
    int count = 0;
    PTD_TRY(api_->check(api_->cuDeviceGetCount(&count), "counting GPUs"));
    if (ordinal >= 0 && ordinal < count) return {};
    return fail(ErrorCode::argument, "",
                "there is no GPU number " + std::to_string(ordinal) + "; there are " + std::to_string(count));
  }

  [[nodiscard]] ContextPtr any() {
    const std::lock_guard lock(mutex_);
    return any_;
  }

  const CudaApiPtr api_;
  std::mutex mutex_;
  std::map<int, DevicePtr> devices_;
  ContextPtr any_;  ///< that page-locked memory is made in
};

}  // namespace

Result<DriverPtr> cuda_driver() {
  PTD_LET(api, CudaApi::load());
  return std::make_shared<CudaDriver>(api);
}

}  // namespace ptd::cuda
