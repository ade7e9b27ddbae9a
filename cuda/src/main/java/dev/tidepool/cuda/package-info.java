/**
 * NVIDIA's graphics processors, driven through {@code libcuda} by foreign functions; no toolkit is
 * needed except for compiling kernels, which NVRTC does where it is found.
 *
 * <p>{@link dev.tidepool.cuda.Cuda} and {@link dev.tidepool.cuda.Nvrtc} list what is called;
 * nothing above them sees an address. A call goes to the driver within {@link
 * dev.tidepool.cuda.Context}, which makes the device current on whatever thread calls and leaves
 * the thread as it was.
 */
@NullMarked
package dev.tidepool.cuda;

import org.jspecify.annotations.NullMarked;
