package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.TransferException;
import dev.tidepool.cuda.ipc.DescriptorExchange;
import dev.tidepool.cuda.ipc.LivenessPipe;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Device memory that processes share where no descriptor can stand for it: plain memory of {@code
 * cuMemAlloc}, which others open by a handle. It is its maker's. What the maker frees while others
 * have it open is gone under their hands, so it is not freed before the last of them has closed it
 * or has ended, which a {@link LivenessPipe} tells; until then a thread waits, and the log names
 * who has it. A maker that is ended takes it along: nothing can be done about that.
 *
 * <p>A process cannot open what it has made, and others not twice. So this class knows what the
 * process has, by the tickets that handles travel as, and counts its users.
 *
 * <p><b>Locking.</b> The class's monitor guards all fields, and is held while a handle is opened or
 * closed, so that nobody opens one that is being closed. It is taken with no context pushed.
 */
final class IpcMemory {
  private static final System.Logger LOG = System.getLogger(IpcMemory.class.getName());
  // The driver cuts smaller allocations out of blocks that others would get to see whole.
  private static final long GRANULE = 2L << 20;
  // Those who close at the same time as the maker do not need to be told of.
  private static final int GRACE_MILLIS = 1000;

  private static final Map<String, IpcMemory> BY_TICKET = new HashMap<>();
  private static final Map<Long, IpcMemory> BY_ADDRESS = new HashMap<>();

  private final String ticket;
  private final long address;
  private final long bytes;
  // Held besides the device's, which may be closed before the memory goes.
  private final Context context;
  // Of what this process has made.
  private final @Nullable LivenessPipe hold;
  // Of what another has made: keeps it there; else -1.
  private final int descriptor;
  private int users = 1;

  private IpcMemory(
      String ticket,
      long address,
      long bytes,
      Context context,
      @Nullable LivenessPipe hold,
      int descriptor) {
    this.ticket = ticket;
    this.address = address;
    this.bytes = bytes;
    this.context = context;
    this.hold = hold;
    this.descriptor = descriptor;
  }

  /** Whether this system and the driver can do it; a device may refuse all the same. */
  static boolean isSupported() {
    return DescriptorExchange.isSupported()
        && Installed.DRIVER.has("cuIpcGetMemHandle")
        && Installed.DRIVER.has("cuIpcOpenMemHandle_v2");
  }

  /**
   * Memory that other processes can have.
   *
   * @param address where it begins
   * @param ticket what they open it by, once they have the descriptor
   * @param descriptor keeps it; the receiver's to close
   */
  record Exported(long address, String ticket, int descriptor) {}

  /** New memory of a device; no context is pushed. */
  static Exported export(int device, long bytes) {
    long size = Math.ceilDiv(bytes, GRANULE) * GRANULE;
    LivenessPipe.Begun begun = LivenessPipe.begin();
    try {
      Context context = Context.retain(device);
      try {
        IpcMemory made = context.call(() -> allocated(size, context, begun.hold()));
        enter(made);
        return new Exported(made.address, made.ticket, begun.descriptor());
      } catch (RuntimeException | Error failed) {
        Closing.surviving(context::release);
        throw failed;
      }
    } catch (RuntimeException | Error failed) {
      DescriptorExchange.discard(begun.descriptor());
      begun.hold().close();
      throw failed;
    }
  }

  private static IpcMemory allocated(long bytes, Context context, LivenessPipe hold) {
    long address = Cuda.cuMemAlloc(bytes);
    try {
      String ticket = Ticket.of(IpcCalls.cuIpcGetMemHandle(address));
      return new IpcMemory(ticket, address, bytes, context, hold, -1);
    } catch (RuntimeException | Error failed) {
      Closing.surviving(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY));
      throw failed;
    }
  }

  private static synchronized void enter(IpcMemory memory) {
    BY_TICKET.put(memory.ticket, memory);
    BY_ADDRESS.put(memory.address, memory);
  }

  private static synchronized void forget(IpcMemory memory) {
    BY_TICKET.remove(memory.ticket);
    BY_ADDRESS.remove(memory.address);
  }

  /**
   * The address of memory that another process has made, or this one; no context is pushed.
   *
   * @param descriptor came with the ticket; stays the caller's
   * @throws TransferException if its maker has ended
   */
  static synchronized long open(int device, int descriptor, String ticket, long bytes) {
    IpcMemory there = BY_TICKET.get(ticket);
    if (there != null) {
      there.users++;
      return there.address;
    }
    int kept = LivenessPipe.another(descriptor);
    try {
      Context context = Context.retain(device);
      try {
        long address = context.call(() -> IpcCalls.cuIpcOpenMemHandle(Ticket.handle(ticket)));
        enter(new IpcMemory(ticket, address, bytes, context, null, kept));
        return address;
      } catch (RuntimeException | Error failed) {
        Closing.surviving(context::release);
        throw failed;
      }
    } catch (AcceleratorException refused) {
      DescriptorExchange.discard(kept);
      throw Ticket.isOfTheLiving(ticket) ? refused : goneWith(Ticket.maker(ticket), refused);
    } catch (RuntimeException | Error failed) {
      DescriptorExchange.discard(kept);
      throw failed;
    }
  }

  private static TransferException goneWith(long maker, AcceleratorException refused) {
    return new TransferException(
        "process "
            + maker
            + ", which made this memory of a device, has ended, and the memory with it; close it"
            + " everywhere, and create it again",
        refused);
  }

  /** Ends one use; the last one ends the memory here. No context is pushed. */
  static void free(long address) {
    IpcMemory unused = leave(address);
    if (unused != null) {
      unused.freeUnlessOthersHaveIt();
    }
  }

  /** What this process has made and uses no longer; else null. */
  private static synchronized @Nullable IpcMemory leave(long address) {
    IpcMemory memory = Objects.requireNonNull(BY_ADDRESS.get(address), "memory that is shared");
    memory.users--;
    if (memory.users > 0) {
      return null;
    }
    if (memory.hold != null) {
      return memory;
    }
    forget(memory);
    Closing.surviving(() -> memory.context.run(() -> IpcCalls.cuIpcCloseMemHandle(memory.address)));
    Closing.surviving(memory.context::release);
    // Last, for it tells the maker that the memory is not open here any more.
    DescriptorExchange.discard(memory.descriptor);
    return null;
  }

  private void freeUnlessOthersHaveIt() {
    LivenessPipe others = Objects.requireNonNull(hold, "memory of this process");
    if (others.isOver(0)) {
      freeUnused();
    } else {
      // No daemon: a program that has come to its end waits for them too.
      Thread.ofPlatform()
          .daemon(false)
          .name("tidepool-share-end")
          .start(
              () -> {
                if (!others.isOver(GRACE_MILLIS)) {
                  LOG.log(System.Logger.Level.WARNING, remains(others.holders()));
                  others.isOver(-1);
                }
                freeUnused();
              });
    }
  }

  private String remains(List<Long> holders) {
    return bytes
        + " bytes of device memory that this process shared stay until "
        + (holders.isEmpty()
            ? "those close them who have them still, whom this process cannot see"
            : "processes " + holders + " close them")
        + "; if this process is ended before, what uses them fails";
  }

  /** Frees what nobody has, and what nobody here has begun to use again meanwhile. */
  private void freeUnused() {
    if (forgetIfUnused()) {
      Closing.surviving(() -> context.run(() -> Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY)));
      Closing.surviving(context::release);
      Objects.requireNonNull(hold).close();
    }
  }

  private boolean forgetIfUnused() {
    synchronized (IpcMemory.class) {
      if (users > 0 || !BY_TICKET.remove(ticket, this)) {
        return false;
      }
      BY_ADDRESS.remove(address);
      return true;
    }
  }

  /** A handle as text, with the number of the process that made the memory. */
  private static final class Ticket {
    private static final String SEPARATOR = ":";

    private Ticket() {}

    static String of(byte[] handle) {
      return ProcessHandle.current().pid() + SEPARATOR + HexFormat.of().formatHex(handle);
    }

    static long maker(String ticket) {
      return Long.parseLong(ticket.substring(0, ticket.indexOf(SEPARATOR)));
    }

    static boolean isOfTheLiving(String ticket) {
      return ProcessHandle.of(maker(ticket)).isPresent();
    }

    static byte[] handle(String ticket) {
      byte[] handle =
          HexFormat.of().parseHex(ticket, ticket.indexOf(SEPARATOR) + 1, ticket.length());
      return Arrays.copyOf(handle, IpcCalls.HANDLE_BYTES);
    }
  }
}
