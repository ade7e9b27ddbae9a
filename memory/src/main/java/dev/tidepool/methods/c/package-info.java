/**
 * Writes trees ({@code dev.tidepool.methods.tree}) of kernels in languages like C. {@code
 * MethodGenerator} writes what they have in common; each language is a {@code KernelLanguage}.
 */
@NullMarked
package dev.tidepool.methods.c;

import org.jspecify.annotations.NullMarked;
