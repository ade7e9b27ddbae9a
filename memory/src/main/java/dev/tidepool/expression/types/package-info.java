/**
 * The elementwise language with types: the computation of a kernel, before code is generated.
 *
 * <p>A source has three forms. {@link dev.tidepool.expression.types.Expression} is parsed and has
 * names, but no types. {@link dev.tidepool.expression.types.TypedProgram} is the form after every
 * name has been bound to an element type: a graph of operations on concrete types in which NumPy's
 * promotions are explicit conversions, so that generators need not know promotion. {@code CpuLoop}
 * runs it on the CPU; {@code CGenerator} writes it as a kernel in a dialect of C.
 *
 * <p>Values that depend only on scalars are not computed on a device. They are evaluated once for
 * each launch, with the exactness of Python's numbers, and passed to the kernel by value in a
 * concrete type ({@link dev.tidepool.expression.types.TypedProgram#uniforms()}).
 *
 * <p>In the packages of expressions and in those that run them, code distinguishes types by {@code
 * instanceof}, the keys of maps have an {@code equals} of their own, and comparators are plain
 * lambdas. A {@code switch} over patterns, a record's own {@code equals} and the serializable
 * lambdas of {@link java.util.Comparator} are linked again in every process, for milliseconds each,
 * at every start of the command line.
 *
 * <p>Of the rest of the library, the packages of expressions use {@code dev.tidepool}, {@code spi},
 * {@code host.system} and {@code pool}.
 */
@NullMarked
package dev.tidepool.expression.types;

import org.jspecify.annotations.NullMarked;
