/**
 * The API that most programs use: managers, buffers, element types, kernels, options and
 * exceptions.
 *
 * <p>{@link dev.tidepool.Tidepool} is the entry point. Lists of transfers are in {@link
 * dev.tidepool.transfer}, pools of objects and arrays in {@link dev.tidepool.pooling}, reports and
 * figures in {@link dev.tidepool.diagnostics}. These four packages refer to each other and to
 * nothing else of the library. Their factories find the runtime with {@link
 * java.util.ServiceLoader} through {@link dev.tidepool.TidepoolRuntime}.
 */
@NullMarked
package dev.tidepool;

import org.jspecify.annotations.NullMarked;
