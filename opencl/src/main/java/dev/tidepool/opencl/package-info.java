/**
 * OpenCL accelerators: platforms and devices found through {@code libOpenCL} by foreign functions.
 *
 * <p>The package owns the bindings, the discovery, and the SPI of {@code dev.tidepool.spi} on top
 * of them. An absent library is a value, not an error.
 */
@NullMarked
package dev.tidepool.opencl;

import org.jspecify.annotations.NullMarked;
