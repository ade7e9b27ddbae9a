/**
 * Writes trees ({@code dev.tidepool.methods.tree}) of kernels in C-like languages. {@code
 * MethodGenerator} writes what the languages have in common; each language is a {@code
 * KernelLanguage}.
 */
@NullMarked
package dev.tidepool.methods.c;

import org.jspecify.annotations.NullMarked;
