package dev.tidepool.expression.c;

/**
 * A kernel's source.
 *
 * @param source the text
 * @param entry the name of the kernel function
 * @param elementsPerItem how many elements a work item computes: a group computes its size times
 *     that, one behind the other
 */
public record KernelText(String source, String entry, int elementsPerItem) {}
