/**
 * The elementwise language with types: what a kernel computes, before code is made of it.
 *
 * <p>A source goes through three forms. {@link dev.tidepool.expression.types.Expression} is parsed
 * and knows names, not types. {@link dev.tidepool.expression.types.TypedProgram} is what remains
 * once every name is bound to an element type: a graph of operations on concrete types in which
 * NumPy's promotions are explicit conversions, so that generators know nothing of promotion. {@code
 * CpuLoop} runs it on the CPU; {@code CGenerator} writes it as a kernel in a dialect of C.
 *
 * <p>What depends on scalars only never reaches a device: it is evaluated once for each launch,
 * with the exactness of Python's numbers, and arrives in the kernel as a by-value argument of a
 * concrete type ({@link dev.tidepool.expression.types.TypedProgram#uniforms()}).
 *
 * <p>In the packages of expressions and in those that run them, types are told apart by {@code
 * instanceof}, the keys of maps have an {@code equals} of their own, and comparators are plain
 * lambdas: a {@code switch} over patterns, a record's own {@code equals} and the serializable
 * lambdas of {@link java.util.Comparator} are linked again in every process, for milliseconds each,
 * which the command line would pay at every start.
 *
 * <p>Of the rest of the library, the packages of expressions use {@code dev.tidepool} only.
 */
@NullMarked
package dev.tidepool.expression.types;

import org.jspecify.annotations.NullMarked;
