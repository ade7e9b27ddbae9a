// The system's OpenCL library with functions before its own that count their calls and fail at some of them.
//
// Functions that are not here are found in the system's library, which this one is linked with. All parameters are numbers
// and pointers of at most 64 bits, and the caller removes them from the stack. So a call is handed on with as many as any
// function has.

#include <dlfcn.h>

#include <string>

#include "export.h"
#include "ledger.h"

namespace {

using Any = long (*)(long, long, long, long, long, long, long, long, long, long);

Any real(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  return reinterpret_cast<Any>(dlsym(library, name));
}

long refuse(long error, int code) {
  *reinterpret_cast<int*>(error) = code;
  return 0;
}

}  // namespace

namespace sim {

// The tests count objects themselves.
std::string leaks() { return ""; }

}  // namespace sim

EXPORT void tidepool_sim_reset(int) { sim::forget_ledger(); }

#define FAILING(name, failure)                                                                            \
  EXPORT long name(long p0, long p1, long p2, long p3, long p4, long p5, long p6, long p7, long p8, long p9) { \
    static sim::Function& function = sim::function(#name);                                                \
    static const Any next = real(#name);                                                                  \
    int code = function.count();                                                                          \
    return code != 0 ? (failure) : next(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9);                          \
  }

// A function that returns its code.
#define CODE(name) FAILING(name, code)
// A function that stores its code where a parameter says.
#define OBJECT(name, error) FAILING(name, refuse(error, code))

OBJECT(clCreateContext, p5)
OBJECT(clCreateCommandQueue, p3)
OBJECT(clCreateBuffer, p4)
OBJECT(clCreateSubBuffer, p4)
OBJECT(clCreateProgramWithSource, p4)
OBJECT(clCreateKernel, p2)
OBJECT(clEnqueueMapBuffer, p9)
FAILING(clSVMAlloc, 0)
CODE(clReleaseContext)
CODE(clReleaseCommandQueue)
CODE(clReleaseMemObject)
CODE(clReleaseProgram)
CODE(clReleaseKernel)
CODE(clReleaseEvent)
CODE(clRetainEvent)
CODE(clBuildProgram)
CODE(clGetProgramBuildInfo)
CODE(clGetKernelInfo)
CODE(clGetKernelWorkGroupInfo)
CODE(clGetKernelArgInfo)
CODE(clSetKernelArg)
CODE(clSetKernelArgSVMPointer)
CODE(clGetEventInfo)
CODE(clWaitForEvents)
CODE(clFlush)
CODE(clFinish)
CODE(clEnqueueReadBuffer)
CODE(clEnqueueWriteBuffer)
CODE(clEnqueueCopyBuffer)
CODE(clEnqueueFillBuffer)
CODE(clEnqueueUnmapMemObject)
CODE(clEnqueueMigrateMemObjects)
CODE(clEnqueueNDRangeKernel)
CODE(clEnqueueMarkerWithWaitList)
CODE(clEnqueueBarrierWithWaitList)
CODE(clEnqueueSVMMap)
CODE(clEnqueueSVMUnmap)
CODE(clEnqueueSVMMemcpy)
CODE(clEnqueueSVMMemFill)
