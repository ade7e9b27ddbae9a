/**
 * The threads of a session: which thread runs a kernel or a transfer, and which completes a future.
 * Also the handling of a stack that may overflow ({@code StackReserve}) and of a full heap ({@code
 * Resumable}).
 *
 * <p>The package knows no operation and no buffer: it runs a {@code Runnable}.
 *
 * <p>These threads complete futures, and so run users' stages:
 *
 * <ul>
 *   <li>one operation, such as a copy, a fill or a kernel ({@code OperationFuture}): a {@code
 *       tidepool-completion} thread of the {@link dev.tidepool.runtime.threads.FutureCompleter};
 *   <li>several operations ({@code CompositeFuture}): the thread that completes the last of them;
 *   <li>an allocation ({@code BufferAllocator}), a mapping ({@code OpenHostMapping}) or a list of
 *       transfers ({@code TransferList}): a {@code tidepool-completion} thread of its own;
 *   <li>a copy with options ({@code DefaultTransferEngine}): the thread that completes its list of
 *       one transfer, or the caller if that list has ended already;
 *   <li>{@link dev.tidepool.runtime.threads.BackgroundWork} and kernels over files ({@code
 *       Orchestrator}): the thread that does the work.
 * </ul>
 *
 * <p>A thread that cancels a future completes it. If the heap is full when a future should
 * complete, a {@code tidepool-completion} or {@code tidepool-background} thread of its own
 * completes it later ({@link dev.tidepool.runtime.threads.FutureEnd}).
 */
@NullMarked
package dev.tidepool.runtime.threads;

import org.jspecify.annotations.NullMarked;
