package dev.tidepool.host;

import java.util.Map;

/**
 * The blocks that one {@link MemoryAllocator} has allocated, by the properties they really have,
 * and the refusals.
 *
 * @param allocated all blocks except wrapped ones
 * @param pages these blocks by the kind of their pages; every kind has an entry
 * @param locked the blocks among them whose pages stay in memory
 * @param nodes the blocks among them with a NUMA policy, by node; a block of several nodes counts
 *     at each of them, with its share of the bytes
 * @param wrapped memory of other owners that was wrapped or adopted
 * @param refusedHugePages blocks that got simpler pages than the huge ones requested
 * @param refusedPolicies blocks that did not get the requested NUMA policy
 * @param refusedLocks blocks that the budget or the system refused to lock
 */
public record AllocatorStatistics(
    UsageCounter allocated,
    Map<PageKind, UsageCounter> pages,
    UsageCounter locked,
    Map<Integer, UsageCounter> nodes,
    UsageCounter wrapped,
    long refusedHugePages,
    long refusedPolicies,
    long refusedLocks) {}
