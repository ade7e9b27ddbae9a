/**
 * Reads the bytecode of methods and builds trees ({@code dev.tidepool.methods.tree}) of it.
 *
 * <p>{@code MethodReader} is the entry. {@code MethodCode} finds a method in its class file, {@code
 * FlowGraph} divides it into basic blocks, {@code BlockTranslator} computes the operand stack of
 * each block symbolically, {@code Structurer} nests the blocks, and {@code Simplifier} removes the
 * jumps and blocks that the nesting does not need.
 */
@NullMarked
package dev.tidepool.methods.bytecode;

import org.jspecify.annotations.NullMarked;
