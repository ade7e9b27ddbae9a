// The other side of DLPack in the tests: a library that takes tensors and makes some.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

extern "C" {

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

typedef struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
} ArrowSchema;

typedef struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
} ArrowArray;

typedef struct {
  ArrowArray array;
  int64_t device_id;
  int32_t device_type;
  void* sync_event;
  int64_t reserved[3];
} ArrowDeviceArray;

// What a C compiler makes of Arrow's structures.
int64_t arrow_layout(int64_t* out) {
  int n = 0;
  out[n++] = sizeof(ArrowSchema);
  out[n++] = offsetof(ArrowSchema, format);
  out[n++] = offsetof(ArrowSchema, name);
  out[n++] = offsetof(ArrowSchema, flags);
  out[n++] = offsetof(ArrowSchema, release);
  out[n++] = sizeof(ArrowArray);
  out[n++] = offsetof(ArrowArray, length);
  out[n++] = offsetof(ArrowArray, null_count);
  out[n++] = offsetof(ArrowArray, offset);
  out[n++] = offsetof(ArrowArray, n_buffers);
  out[n++] = offsetof(ArrowArray, n_children);
  out[n++] = offsetof(ArrowArray, buffers);
  out[n++] = offsetof(ArrowArray, dictionary);
  out[n++] = offsetof(ArrowArray, release);
  out[n++] = offsetof(ArrowArray, private_data);
  out[n++] = sizeof(ArrowDeviceArray);
  out[n++] = offsetof(ArrowDeviceArray, device_id);
  out[n++] = offsetof(ArrowDeviceArray, device_type);
  out[n++] = offsetof(ArrowDeviceArray, sync_event);
  return n;
}

// What a C compiler makes of DLPack's structures: sizes, then the offset of each field.
int64_t layout(int64_t* out) {
  int n = 0;
  out[n++] = sizeof(DLManagedTensorVersioned);
  out[n++] = offsetof(DLManagedTensorVersioned, version);
  out[n++] = offsetof(DLManagedTensorVersioned, manager_ctx);
  out[n++] = offsetof(DLManagedTensorVersioned, deleter);
  out[n++] = offsetof(DLManagedTensorVersioned, flags);
  out[n++] = offsetof(DLManagedTensorVersioned, dl_tensor);
  out[n++] = sizeof(DLManagedTensor);
  out[n++] = offsetof(DLManagedTensor, dl_tensor);
  out[n++] = offsetof(DLManagedTensor, manager_ctx);
  out[n++] = offsetof(DLManagedTensor, deleter);
  out[n++] = sizeof(DLTensor);
  return n;
}

static DLTensor* tensor_of(void* managed, int versioned) {
  return versioned ? &static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor
                   : &static_cast<DLManagedTensor*>(managed)->dl_tensor;
}

// A tensor as numbers: type of device, device, dimensions, code, bits, lanes, offset, flags,
// version, then shape and strides.
int64_t describe(void* managed, int versioned, int64_t* out) {
  DLTensor* tensor = tensor_of(managed, versioned);
  int n = 0;
  out[n++] = tensor->device.device_type;
  out[n++] = tensor->device.device_id;
  out[n++] = tensor->ndim;
  out[n++] = tensor->dtype.code;
  out[n++] = tensor->dtype.bits;
  out[n++] = tensor->dtype.lanes;
  out[n++] = tensor->byte_offset;
  out[n++] = versioned ? static_cast<DLManagedTensorVersioned*>(managed)->flags : 0;
  out[n++] = versioned ? static_cast<DLManagedTensorVersioned*>(managed)->version.major : 0;
  out[n++] = versioned ? static_cast<DLManagedTensorVersioned*>(managed)->version.minor : 0;
  for (int i = 0; i < tensor->ndim; i++) out[n++] = tensor->shape[i];
  for (int i = 0; i < tensor->ndim; i++) out[n++] = tensor->strides[i];
  return n;
}

// Adds a number to each of the floats.
void add(void* managed, int versioned, float value) {
  DLTensor* tensor = tensor_of(managed, versioned);
  float* data =
      reinterpret_cast<float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
  int64_t count = 1;
  for (int i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
  for (int64_t i = 0; i < count; i++) data[i] += value;
}

void end(void* managed, int versioned) {
  if (versioned) {
    DLManagedTensorVersioned* tensor = static_cast<DLManagedTensorVersioned*>(managed);
    tensor->deleter(tensor);
  } else {
    DLManagedTensor* tensor = static_cast<DLManagedTensor*>(managed);
    tensor->deleter(tensor);
  }
}

// Calls the deleter on a thread that Java has never seen.
void end_on_a_thread(void* managed, int versioned) {
  std::thread([=] { end(managed, versioned); }).join();
}

// Calls a deleter that was looked up before, with the address of a tensor that may be gone.
void* deleter_of(void* managed) {
  return reinterpret_cast<void*>(static_cast<DLManagedTensorVersioned*>(managed)->deleter);
}

void call(void* deleter, void* managed) {
  reinterpret_cast<void (*)(void*)>(deleter)(managed);
}

static int deleted = 0;

int deletions() { return deleted; }

static void drop(DLManagedTensorVersioned* self) {
  deleted++;
  std::free(self->manager_ctx);
  std::free(self->dl_tensor.shape);
  std::free(self);
}

static void drop_unversioned(DLManagedTensor* self) {
  deleted++;
  std::free(self->manager_ctx);
  std::free(self->dl_tensor.shape);
  std::free(self);
}

// A tensor over `bytes` of memory that hold 0, 1, 2, ...
void* make(int versioned, int64_t bytes, int code, int bits, int lanes, int ndim,
           const int64_t* shape, const int64_t* strides, int64_t offset) {
  char* memory = static_cast<char*>(std::malloc(bytes));
  for (int64_t i = 0; i < bytes; i++) memory[i] = static_cast<char>(i);
  DLTensor tensor = {};
  tensor.data = memory;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = ndim;
  tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                  static_cast<uint16_t>(lanes)};
  tensor.shape = static_cast<int64_t*>(std::malloc(16 * ndim + 1));
  for (int i = 0; i < ndim; i++) tensor.shape[i] = shape[i];
  if (strides) {
    tensor.strides = tensor.shape + ndim;
    for (int i = 0; i < ndim; i++) tensor.strides[i] = strides[i];
  }
  tensor.byte_offset = offset;
  if (!versioned) {
    DLManagedTensor* made = static_cast<DLManagedTensor*>(std::calloc(1, sizeof(DLManagedTensor)));
    made->dl_tensor = tensor;
    made->manager_ctx = memory;
    made->deleter = drop_unversioned;
    return made;
  }
  DLManagedTensorVersioned* made =
      static_cast<DLManagedTensorVersioned*>(std::calloc(1, sizeof(DLManagedTensorVersioned)));
  made->version = {1, 1};
  made->dl_tensor = tensor;
  made->manager_ctx = memory;
  made->deleter = drop;
  return made;
}

void set_version(void* managed, int major) {
  static_cast<DLManagedTensorVersioned*>(managed)->version.major = major;
}

void set_flags(void* managed, int64_t flags) {
  static_cast<DLManagedTensorVersioned*>(managed)->flags = flags;
}

void set_device(void* managed, int type) {
  static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor.device.device_type =
      static_cast<DLDeviceType>(type);
}

void set_ndim(void* managed, int ndim) {
  static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor.ndim = ndim;
}

void forget_shape(void* managed) {
  DLTensor* tensor = &static_cast<DLManagedTensorVersioned*>(managed)->dl_tensor;
  std::free(tensor->shape);
  tensor->shape = nullptr;
}

// The memory of a tensor that has no deleter stays; the caller of this frees it.
void* forget_deleter(void* managed) {
  static_cast<DLManagedTensorVersioned*>(managed)->deleter = nullptr;
  return managed;
}

void drop_now(void* managed) { drop(static_cast<DLManagedTensorVersioned*>(managed)); }
}
