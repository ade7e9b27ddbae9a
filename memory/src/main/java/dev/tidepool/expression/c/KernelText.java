package dev.tidepool.expression.c;

/**
 * A kernel's source.
 *
 * @param source the text
 * @param entry the name of the kernel function
 * @param elementsPerItem the number of elements that a work item computes; a group computes its
 *     size times that number of consecutive elements
 */
public record KernelText(String source, String entry, int elementsPerItem) {}
