/**
 * Writes a typed program as a kernel in a dialect of C: OpenCL C, CUDA C++ or Metal's language.
 *
 * <p>A backend compiles the text; nothing here knows a driver.
 */
@NullMarked
package dev.tidepool.expression.c;

import org.jspecify.annotations.NullMarked;
