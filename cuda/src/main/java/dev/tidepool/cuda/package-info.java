/**
 * NVIDIA's graphics processors, driven through {@code libcuda} by foreign functions. No toolkit is
 * needed except NVRTC, to compile kernels.
 *
 * <p>{@link dev.tidepool.cuda.Cuda} and {@link dev.tidepool.cuda.Nvrtc} list the functions that are
 * called; nothing above them sees an address. A call enters the driver within {@link
 * dev.tidepool.cuda.Context}, which makes the device current on the calling thread, and restores
 * the thread afterwards.
 */
@NullMarked
package dev.tidepool.cuda;

import org.jspecify.annotations.NullMarked;
