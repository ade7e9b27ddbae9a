/**
 * What most programs import: managers, buffers, element types, kernels, options and exceptions.
 *
 * <p>{@link dev.tidepool.Tidepool} is the way in. Lists of transfers are in {@link
 * dev.tidepool.transfer}, pools of objects and arrays in {@link dev.tidepool.pooling}, reports and
 * figures in {@link dev.tidepool.diagnostics}. These four packages may name each other and nothing
 * else of the library; their factories find the runtime with {@link java.util.ServiceLoader}
 * through {@link dev.tidepool.TidepoolRuntime}.
 */
@NullMarked
package dev.tidepool;

import org.jspecify.annotations.NullMarked;
