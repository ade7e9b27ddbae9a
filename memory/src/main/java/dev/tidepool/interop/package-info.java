/**
 * Exchange of buffers with other libraries in this process, without copies, by the C structures
 * that many of them have: {@link dev.tidepool.interop.DLPack} for tensors, {@link
 * dev.tidepool.interop.ArrowC} for columns.
 *
 * <p>A producer fills a structure and leaves a function in it that gives the memory back; the
 * consumer calls that function once, from any thread. Here an export holds the memory of a buffer
 * until then, and an import is a buffer that calls the function after its last use, as {@link
 * dev.tidepool.UnifiedMemoryManager#adopt adopt} does.
 *
 * <p>Structures are read and written by the {@code java.lang.foreign} API alone. The programs that
 * use this package need {@code --enable-native-access}, as the library does.
 */
@NullMarked
package dev.tidepool.interop;

import org.jspecify.annotations.NullMarked;
