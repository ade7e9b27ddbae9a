package dev.tidepool.opencl;

import static dev.tidepool.opencl.OpenClLibrary.HANDLE;
import static dev.tidepool.opencl.OpenClLibrary.INT;
import static dev.tidepool.opencl.OpenClLibrary.POINTER;

import java.lang.invoke.MethodHandle;

/** Events that a test ends as it likes: the way to a failed command on a device that works. */
final class UserEvent {
  private static final MethodHandle CREATE =
      OpenCL.LIBRARY.handle("clCreateUserEvent", HANDLE, POINTER);
  private static final MethodHandle SET_STATUS =
      OpenCL.LIBRARY.code("clSetUserEventStatus", HANDLE, INT);

  private UserEvent() {}

  static long create(Context context) {
    return NativeCall.create(
        "clCreateUserEvent",
        ObjectKind.EVENT,
        error -> (long) CREATE.invokeExact(context.handle(), error));
  }

  static void end(long event, int status) {
    NativeCall.call("clSetUserEventStatus", () -> (int) SET_STATUS.invokeExact(event, status));
  }
}
