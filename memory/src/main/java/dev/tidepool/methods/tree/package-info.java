/**
 * The body of a kernel that was written as a Java method, as a tree of structured statements with
 * typed variables. {@code methods.bytecode} makes trees, {@code methods.analysis} finds facts in
 * them and rewrites them, {@code methods.c} and {@code methods.jvm} write code of them.
 *
 * <p>A tree has no calls: static methods are part of the tree of their caller. Expressions have no
 * effects and cannot fail, so they may be computed at any time while their variables keep their
 * values. Operations that may fail or have an effect are statements; those that may fail have a
 * {@link dev.tidepool.methods.tree.Site}.
 */
@NullMarked
package dev.tidepool.methods.tree;

import org.jspecify.annotations.NullMarked;
