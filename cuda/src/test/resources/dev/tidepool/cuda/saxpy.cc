// A library of kernels that knows nothing of Tidepool, called as cuBLAS is: the caller's context is current,
// a handle has the caller's stream, arrays are device pointers with strides, and calls do not wait.

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

extern "C" {
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct nvrtcProgram_st* nvrtcProgram;

int cuCtxGetCurrent(CUcontext*);
int cuStreamGetCtx(CUstream, CUcontext*);
int cuModuleLoadDataEx(CUmodule*, const void*, unsigned, int*, void**);
int cuModuleGetFunction(CUfunction*, CUmodule, const char*);
int cuModuleUnload(CUmodule);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   CUstream, void**, void**);
int nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*,
                       const char* const*);
int nvrtcCompileProgram(nvrtcProgram, int, const char* const*);
int nvrtcGetPTXSize(nvrtcProgram, size_t*);
int nvrtcGetPTX(nvrtcProgram, char*);
int nvrtcDestroyProgram(nvrtcProgram*);
}

namespace {

const char* const kSource = R"(
extern "C" __global__ void saxpy(int n, float alpha, const float* x, int incx, float* y, int incy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i * incy] += alpha * x[i * incx];
  }
}
)";

constexpr int kNotInitialized = -1;
constexpr int kInvalidValue = -2;
constexpr int kWrongContext = -3;
constexpr int kNoCode = -4;
constexpr unsigned kBlock = 256;

struct Handle {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
};

bool compile(std::vector<char>& image) {
  nvrtcProgram program = nullptr;
  size_t size = 0;
  bool done = nvrtcCreateProgram(&program, kSource, "saxpy.cu", 0, nullptr, nullptr) == 0;
  if (done) {
    const char* options[] = {"--gpu-architecture=compute_80"};
    done = nvrtcCompileProgram(program, 1, options) == 0 && nvrtcGetPTXSize(program, &size) == 0;
    image.resize(size);
    done = done && nvrtcGetPTX(program, image.data()) == 0;
    nvrtcDestroyProgram(&program);
  }
  return done;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int saxpyCreate(Handle** handle) {
  std::vector<char> image;
  Handle made;
  if (handle == nullptr) {
    return kInvalidValue;
  }
  if (cuCtxGetCurrent(&made.context) != 0 || made.context == nullptr) {
    return kNotInitialized;
  }
  if (!compile(image)) {
    return kNoCode;
  }
  if (int error = cuModuleLoadDataEx(&made.module, image.data(), 0, nullptr, nullptr)) {
    return error;
  }
  if (int error = cuModuleGetFunction(&made.function, made.module, "saxpy")) {
    cuModuleUnload(made.module);
    return error;
  }
  *handle = new Handle(made);
  return 0;
}

EXPORT int saxpySetStream(Handle* handle, CUstream stream) {
  CUcontext owner = nullptr;
  if (handle == nullptr) {
    return kNotInitialized;
  }
  if (int error = cuStreamGetCtx(stream, &owner)) {
    return error;
  }
  if (owner != handle->context) {
    return kWrongContext;
  }
  handle->stream = stream;
  return 0;
}

// y += alpha * x over n elements.
EXPORT int saxpySaxpy(Handle* handle, int n, const float* alpha, CUdeviceptr x, int incx, CUdeviceptr y,
                      int incy) {
  CUcontext context = nullptr;
  if (handle == nullptr) {
    return kNotInitialized;
  }
  if (n < 0 || alpha == nullptr || x == 0 || y == 0) {
    return kInvalidValue;
  }
  if (cuCtxGetCurrent(&context) != 0 || context != handle->context) {
    return kWrongContext;
  }
  if (n == 0) {
    return 0;
  }
  float factor = *alpha;
  void* arguments[] = {&n, &factor, &x, &incx, &y, &incy};
  unsigned blocks = (static_cast<unsigned>(n) + kBlock - 1) / kBlock;
  return cuLaunchKernel(handle->function, blocks, 1, 1, kBlock, 1, 1, 0, handle->stream, arguments,
                        nullptr);
}

EXPORT int saxpyDestroy(Handle* handle) {
  if (handle == nullptr) {
    return kNotInitialized;
  }
  int result = cuModuleUnload(handle->module);
  delete handle;
  return result;
}
