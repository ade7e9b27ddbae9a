/**
 * Tidepool in Spark: kernels over the columns of datasets, on the accelerators of the executors.
 *
 * <p>{@link dev.tidepool.spark.TidepoolPlugin} gives each executor one {@code Tidepool}. {@link
 * dev.tidepool.spark.TidepoolFunctions} adds a node to the plan of a query. A task that runs the
 * node divides its partition into chunks. Each chunk is copied through pooled buffers and computed
 * by one launch of the kernel, or by several if memory is short.
 *
 * <p>Ownership: the executor owns the {@code Tidepool}. A task owns its buffers, which are closed
 * at the latest when Spark reports the end of the task, whatever the reason. Kernels belong to
 * their managers, which keep the compiled code for the next task.
 */
@NullMarked
package dev.tidepool.spark;

import org.jspecify.annotations.NullMarked;
