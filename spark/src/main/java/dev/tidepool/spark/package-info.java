/**
 * Tidepool in Spark: kernels over the columns of datasets, on the accelerators of the executors.
 *
 * <p>{@link dev.tidepool.spark.TidepoolPlugin} gives each executor one {@code Tidepool}. {@link
 * dev.tidepool.spark.TidepoolFunctions} puts a node into the plan of a query. A task that runs the
 * node cuts its partition into chunks, and each chunk travels through pooled buffers and one launch
 * of the kernel.
 *
 * <p>Ownership: the executor owns the {@code Tidepool}; a task owns its buffers, which are closed
 * when Spark says that the task has ended, however it did. Kernels belong to their managers, which
 * keep the compiled code for the next task.
 */
@NullMarked
package dev.tidepool.spark;

import org.jspecify.annotations.NullMarked;
