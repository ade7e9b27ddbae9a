package dev.tidepool.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The classes of this package, which is too large, by the packages that it is to be divided into.
 * Each room is to use only those before it in the list. Uses that run the other way are counted;
 * their number may only fall, until the rooms are packages.
 */
class RoomsTest {
  /** Uses that run from a room to one above it. Lower this when some of them are gone. */
  private static final int BACKWARD = 0;

  /** From the ground up. */
  private static final Map<String, String> ROOMS = new LinkedHashMap<>();

  static {
    ROOMS.put(
        "order",
        "Work Lane Use Occupancy InPlaceAccess LastUse MemoryWaiters Placing Retries"
            + " OperationFuture JointFuture CheckedFuture OpenFutures Failures Closing Porters"
            + " Traffic Workers Unfinished StackReserve LargeFrame Monitors Once OperationGate"
            + " KernelThreads KernelBody ManagerContext DeviceContext ManagerState OpenSession"
            + " Ticks OrderedResource Coalescable");
    ROOMS.put(
        "metering",
        "Counters Movements Cohort Cohorts SitedCohorts Sites SiteSampling Reports History"
            + " AllocationTrace AllocationLedger");
    ROOMS.put(
        "supply",
        "Pools BlockOver ChargedBlock GuardedBlock GuardedSource TrackedBlock MemoryLimit"
            + " SessionResources OnDemandLink LimitReached Pressure Shortage PinnedRoom"
            + " LockedMemory");
    ROOMS.put(
        "storage",
        "Storage Tenancy Residency Copies DirtyRanges Pattern SpillFile FileSpace Spilling Erasure"
            + " LiveBuffers Releases PendingReleases Handovers Succession Guards LostResults"
            + " StorageContext BlockSource PeerPaths");
    ROOMS.put(
        "reclaim",
        "Blocks Ladder RecoveryStrategy MemoryRequest Eviction EvictionCandidates ReleaseWait"
            + " UnreachableBuffers Room Defragmenter Refusal");
    ROOMS.put(
        "buffer",
        "TypedBuffer WholeBuffer Mapping MemoryRange MappedFile Allocations ForeignBuffers"
            + " SharedDeviceMemory BufferCopy Parcel Batch Columns Transposition");
    ROOMS.put(
        "transfers",
        "DeviceAccelerator Transfers Consignment Shipment Convoy Checksum Progress Calibrations"
            + " CalibrationText Peers PeerWay Distribution");
    ROOMS.put(
        "kernel",
        "Kernels HeldPrograms BoundKernel Execution Run RegisteredSources Signature"
            + " ElementwiseSignature DeclaredSignature DeclaredScalar FileKernels");
    ROOMS.put(
        "report", "Accounts Survey ExhaustionDumps Leaks LeakCensus ManagementBean Registration");
    ROOMS.put(
        "session",
        "InstalledRuntime RuntimeSession Orchestrator AcceleratorMemory"
            + " Maintenance Upkeep Ending");
  }

  private static final Pattern DESCRIBED = Pattern.compile("dev/tidepool/runtime/(\\w+)(?!/|\\w)");

  @Test
  void everyClassHasOneRoom() throws Exception {
    List<String> assigned =
        ROOMS.values().stream().flatMap(classes -> Stream.of(classes.split(" "))).toList();
    assertThat(assigned).doesNotHaveDuplicates();
    assertThat(assigned).containsExactlyInAnyOrderElementsOf(uses().keySet());
  }

  @Test
  void usesThatRunBackwardBecomeNoMore() throws Exception {
    Map<String, Integer> floors = new TreeMap<>();
    int floor = 0;
    for (String classes : ROOMS.values()) {
      for (String name : classes.split(" ")) {
        floors.put(name, floor);
      }
      floor++;
    }
    Set<String> backward = new TreeSet<>();
    uses()
        .forEach(
            (user, used) -> {
              for (String other : used) {
                if (floors.get(other) > floors.get(user)) {
                  backward.add(user + " uses " + other);
                }
              }
            });
    assertThat(backward).as("if some are gone, lower the number in this test").hasSize(BACKWARD);
  }

  /** The top-level classes of the package, with those of it that each names. */
  private static Map<String, Set<String>> uses() throws IOException, URISyntaxException {
    Path library = Path.of(Work.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Map<String, Set<String>> uses = new TreeMap<>();
    try (Stream<Path> files = Files.list(library.resolve("dev/tidepool/runtime"))) {
      for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
        ClassModel type = ClassFile.of().parse(file);
        String user = topLevel(type.thisClass().asInternalName());
        if (user.equals("package")) {
          continue; // package-info
        }
        Set<String> used = uses.computeIfAbsent(user, name -> new TreeSet<>());
        for (PoolEntry entry : type.constantPool()) {
          String text =
              switch (entry) {
                case ClassEntry named -> named.asInternalName();
                case Utf8Entry utf8 -> utf8.stringValue();
                default -> "";
              };
          Matcher types = DESCRIBED.matcher(text);
          while (types.find()) {
            used.add(topLevel(types.group()));
          }
        }
      }
    }
    uses.values().forEach(used -> used.retainAll(uses.keySet()));
    return uses;
  }

  private static String topLevel(String internalName) {
    Matcher name = DESCRIBED.matcher(internalName);
    return name.lookingAt() ? name.group(1) : "";
  }
}
