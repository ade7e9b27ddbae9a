#include "library.h"

namespace sim {
namespace library_methods {

struct CompileOptions : Object {
  CompileOptions() : Object(class_of("MTLCompileOptions")) {}
  NSInteger mode = MTLMathModeFast;
  NSInteger functions = MTLMathFloatingPointFunctionsFast;
  NSUInteger version = MTLLanguageVersion3_0;
  bool invariant = false;
};

Bool fast_math_enabled(CompileOptions& self) { return {self.mode != MTLMathModeSafe}; }
// The older of the two settings is also about functions.
void set_fast_math(CompileOptions& self, Bool enabled) {
  self.mode = enabled.value ? MTLMathModeFast : MTLMathModeSafe;
  self.functions = enabled.value ? MTLMathFloatingPointFunctionsFast : MTLMathFloatingPointFunctionsPrecise;
}
NSInteger math_mode(CompileOptions& self) { return self.mode; }
void set_math_mode(CompileOptions& self, NSInteger mode) {
  if (mode < MTLMathModeSafe || mode > MTLMathModeFast) {
    violation("setMathMode: %ld", mode);
    return;
  }
  self.mode = mode;
}
NSInteger functions(CompileOptions& self) { return self.functions; }
void set_functions(CompileOptions& self, NSInteger functions) { self.functions = functions; }
NSUInteger language_version(CompileOptions& self) { return self.version; }
void set_language_version(CompileOptions& self, NSUInteger version) { self.version = version; }
Bool preserve_invariance(CompileOptions& self) { return {self.invariant}; }
void set_preserve_invariance(CompileOptions& self, Bool invariant) { self.invariant = invariant.value; }

METHOD("MTLCompileOptions", "fastMathEnabled", fast_math_enabled)
METHOD("MTLCompileOptions", "setFastMathEnabled:", set_fast_math)
METHOD_SINCE("MTLCompileOptions", "mathMode", math_mode, 15)
METHOD_SINCE("MTLCompileOptions", "setMathMode:", set_math_mode, 15)
METHOD_SINCE("MTLCompileOptions", "mathFloatingPointFunctions", functions, 15)
METHOD_SINCE("MTLCompileOptions", "setMathFloatingPointFunctions:", set_functions, 15)
METHOD("MTLCompileOptions", "languageVersion", language_version)
METHOD("MTLCompileOptions", "setLanguageVersion:", set_language_version)
METHOD("MTLCompileOptions", "preserveInvariance", preserve_invariance)
METHOD("MTLCompileOptions", "setPreserveInvariance:", set_preserve_invariance)

struct Library : Labelled {
  Library(std::shared_ptr<Device> device, const tidepool_metal_library* code)
      : Labelled(class_of("MTLLibrary")), device(std::move(device)), code(code) {}

  const std::shared_ptr<Device> device;
  const tidepool_metal_library* const code;
};

struct Code : Labelled {  // MTLFunction
  Code(std::shared_ptr<Device> device, const tidepool_metal_kernel* code)
      : Labelled(class_of("MTLFunction")), device(std::move(device)), code(code), name(code->kernel.name) {}
  std::string describe() const override { return std::string("MTLFunction ") + code->kernel.name; }

  const std::shared_ptr<Device> device;
  const tidepool_metal_kernel* const code;
  OwnString name;
};

std::shared_ptr<Device> shared(Device& device) {
  return std::static_pointer_cast<Device>(device.shared_from_this());
}

Owned new_library(Device& self, Ref<String> source, Ref<CompileOptions> options, Out error) {
  constexpr const char* kMessage = "newLibraryWithSource:options:error:";
  if (!source) {
    violation("%s: no source", kMessage);
    return {nullptr};
  }
  bool fast = !options || options->mode != MTLMathModeSafe;
  bool precise = options && options->functions == MTLMathFloatingPointFunctionsPrecise;
  std::string complaint;
  const tidepool_metal_library* code = compile(source->text, fast, precise, complaint);
  if (code == nullptr) {
    store_error(error, "MTLLibraryErrorDomain", MTLLibraryErrorCompileFailure, complaint, kMessage);
    return {nullptr};
  }
  return {std::make_shared<Library>(shared(self), code)};
}

Borrowed library_device(Library& self) { return {self.device->handle}; }
Borrowed label(Labelled& self) { return {self.label.handle()}; }
void set_label(Labelled& self, Ref<String> label) { self.label.set(label ? label->text : ""); }
Autoreleased function_names(Library& self) {
  std::vector<id> names;
  for (unsigned i = 0; i < self.code->count; i++) {
    names.push_back(registry().own(std::make_shared<String>(self.code->kernels[i]->kernel.name)));
  }
  auto array = std::make_shared<Array>(names);  // retains them
  for (id name : names) {
    registry().release(name, "functionNames");
  }
  return {array};
}
Owned new_function(Library& self, Ref<String> name) {
  for (unsigned i = 0; name && i < self.code->count; i++) {
    if (name->text == self.code->kernels[i]->kernel.name) {
      return {std::make_shared<Code>(self.device, self.code->kernels[i])};
    }
  }
  return {nullptr};
}

METHOD("MTLDevice", "newLibraryWithSource:options:error:", new_library)
METHOD("MTLLibrary", "device", library_device)
METHOD("MTLLibrary", "label", label)
METHOD("MTLLibrary", "setLabel:", set_label)
METHOD("MTLLibrary", "functionNames", function_names)
METHOD("MTLLibrary", "newFunctionWithName:", new_function)

Borrowed function_device(Code& self) { return {self.device->handle}; }
Borrowed function_name(Code& self) { return {self.name.handle()}; }
NSUInteger function_type(Code&) { return MTLFunctionTypeKernel; }

METHOD("MTLFunction", "device", function_device)
METHOD("MTLFunction", "name", function_name)
METHOD("MTLFunction", "functionType", function_type)

// One parameter of a function that is memory.
struct Binding : Object {
  Binding(const tidepool_metal_kernel& code, unsigned parameter, bool with_types)
      : Object(class_of(code.bindings[parameter].kind == TIDEPOOL_BUFFER ? "MTLBufferBinding"
                                                                         : "MTLThreadgroupBinding")),
        binding(code.bindings[parameter]),
        type(code.types[parameter]),
        with_types(with_types),
        name(binding.name) {}
  std::string describe() const override { return std::string("MTLBinding ") + binding.name; }

  const tidepool_binding& binding;
  const tidepool_parameter& type;
  const bool with_types;
  OwnString name;
};

struct Reflection : Object {
  explicit Reflection(id bindings) : Object(class_of("MTLComputePipelineReflection")), bindings(bindings) {}
  ~Reflection() override { registry().drop_constant(bindings); }
  const id bindings;
};

std::shared_ptr<Reflection> reflect(const tidepool_metal_kernel& code, bool with_types) {
  std::vector<id> bindings;
  for (unsigned i = 0; i < code.kernel.parameters; i++) {
    tidepool_binding_kind kind = code.bindings[i].kind;
    if (kind == TIDEPOOL_BUFFER || kind == TIDEPOOL_THREADGROUP_MEMORY) {
      bindings.push_back(registry().constant(std::make_shared<Binding>(code, i, with_types)));
    }
  }
  auto array = std::make_shared<Array>(bindings);
  for (id binding : bindings) {
    registry().drop_constant(binding);  // the array has it
  }
  return std::make_shared<Reflection>(registry().constant(array));
}

Owned make_pipeline(Device& self, const Ref<Code>& function, const char* message) {
  if (!function || function->device.get() != &self) {
    violation("%s: no function, or one of another device", message);
    return {nullptr};
  }
  return {std::make_shared<Pipeline>(shared(self), function->code)};
}
Owned new_pipeline(Device& self, Ref<Code> function, Out) {
  return make_pipeline(self, function, "newComputePipelineStateWithFunction:error:");
}
Owned new_pipeline_with_reflection(Device& self, Ref<Code> function, NSUInteger options, Out reflection,
                                   Out) {
  constexpr const char* kMessage = "newComputePipelineStateWithFunction:options:reflection:error:";
  Owned made = make_pipeline(self, function, kMessage);
  if (made.object && reflection.place != nullptr && (options & MTLPipelineOptionBindingInfo) != 0) {
    *reflection.place =
        registry().own(reflect(*function->code, (options & MTLPipelineOptionBufferTypeInfo) != 0));
    autorelease(*reflection.place, kMessage);
  }
  return made;
}

METHOD("MTLDevice", "newComputePipelineStateWithFunction:error:", new_pipeline)
METHOD("MTLDevice",
       "newComputePipelineStateWithFunction:options:reflection:error:", new_pipeline_with_reflection)

Borrowed pipeline_device(Pipeline& self) { return {self.device->handle}; }
NSUInteger most_threads(Pipeline& self) { return self.most_threads(); }
NSUInteger execution_width(Pipeline&) { return TIDEPOOL_SIMD_WIDTH; }
NSUInteger group_bytes(Pipeline& self) { return self.code->group_bytes; }

METHOD("MTLComputePipelineState", "device", pipeline_device)
METHOD("MTLComputePipelineState", "label", label)
METHOD("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", most_threads)
METHOD("MTLComputePipelineState", "threadExecutionWidth", execution_width)
METHOD("MTLComputePipelineState", "staticThreadgroupMemoryLength", group_bytes)

Borrowed bindings(Reflection& self) { return {self.bindings}; }
Borrowed binding_name(Binding& self) { return {self.name.handle()}; }
NSInteger binding_type(Binding& self) {
  return self.binding.kind == TIDEPOOL_BUFFER ? MTLBindingTypeBuffer : MTLBindingTypeThreadgroupMemory;
}
NSUInteger binding_access(Binding& self) { return self.binding.access; }
NSUInteger binding_index(Binding& self) { return self.binding.index; }
Bool is_used(Binding& self) { return {self.binding.is_used}; }
Bool is_argument(Binding&) { return {true}; }
NSUInteger alignment(Binding& self) { return self.type.alignment; }
NSUInteger data_size(Binding& self) { return self.type.size; }
NSUInteger data_type(Binding& self) { return self.with_types ? self.type.data_type : MTLDataTypeNone; }
NSUInteger group_alignment(Binding& self) { return self.type.alignment; }
NSUInteger group_size(Binding& self) { return self.type.size; }

METHOD_SINCE("MTLComputePipelineReflection", "bindings", bindings, 13)
METHOD("MTLBinding", "name", binding_name)
METHOD("MTLBinding", "type", binding_type)
METHOD("MTLBinding", "access", binding_access)
METHOD("MTLBinding", "index", binding_index)
METHOD("MTLBinding", "isUsed", is_used)
METHOD("MTLBinding", "isArgument", is_argument)
METHOD("MTLBufferBinding", "bufferAlignment", alignment)
METHOD("MTLBufferBinding", "bufferDataSize", data_size)
METHOD("MTLBufferBinding", "bufferDataType", data_type)
METHOD("MTLThreadgroupBinding", "threadgroupMemoryAlignment", group_alignment)
METHOD("MTLThreadgroupBinding", "threadgroupMemoryDataSize", group_size)

}  // namespace library_methods

std::shared_ptr<Object> make_heap_descriptor();

std::shared_ptr<Object> make_metal_object(const ClassInfo& type) {
  if (&type == &class_of("MTLCompileOptions")) {
    return std::make_shared<library_methods::CompileOptions>();
  }
  return &type == &class_of("MTLHeapDescriptor") ? make_heap_descriptor() : nullptr;
}

}  // namespace sim
