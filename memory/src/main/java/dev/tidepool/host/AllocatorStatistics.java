package dev.tidepool.host;

import java.util.Map;

/**
 * What one {@link MemoryAllocator} gave, by what the blocks really got, and what it was refused.
 *
 * @param allocated all blocks but the wrapped ones
 * @param pages the same by the kind of their pages; every kind has its entry
 * @param locked those of them whose pages stay in memory
 * @param nodes those of them that have a NUMA policy, by node; a block of several nodes counts at
 *     each, with its share of the bytes
 * @param wrapped memory of others that was wrapped or adopted
 * @param refusedHugePages blocks that wanted huge pages and got simpler ones than they wanted
 * @param refusedPolicies blocks that wanted a NUMA policy and got none
 * @param refusedLocks blocks that were to be locked and were not, by the budget or by the system
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
