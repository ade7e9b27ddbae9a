package dev.tidepool.methods.tree;

/**
 * A local variable of one work item. Two variables are the same if their numbers are.
 *
 * @param id its number, unique in the tree
 */
public record Variable(int id, ValueType type) {}
