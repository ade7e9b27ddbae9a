package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.TransferException;
import dev.tidepool.cuda.ipc.DescriptorExchange;
import dev.tidepool.cuda.ipc.LivenessPipe;
import dev.tidepool.spi.support.Closing;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Device memory that processes share if the driver cannot export it as a descriptor: plain memory
 * of {@code cuMemAlloc}, which other processes open by a handle. It belongs to the process that
 * allocated it. If that process freed the memory while others have it open, their accesses would
 * fail. It therefore frees the memory only after the last of them has closed it or has ended, which
 * a {@link LivenessPipe} reports. Until then a thread waits, and the log names the processes. If
 * the process that allocated the memory ends, the memory is gone.
 *
 * <p>A process cannot open memory that it allocated itself, nor open other memory twice. This class
 * therefore keeps all shared memory of the process by its tickets, and counts the users.
 *
 * <p><b>Locking.</b> The class's monitor guards all fields. It is held while a handle is opened or
 * closed, so that no thread opens a handle that is being closed. It is acquired with no context
 * pushed.
 */
final class IpcMemory {
  private static final System.Logger LOG = System.getLogger(IpcMemory.class.getName());
  // The driver takes smaller allocations from larger blocks, which would be shared as a whole.
  private static final long GRANULE = 2L << 20;
  // Processes that close the memory within this time are not reported.
  private static final int GRACE_MILLIS = 1000;

  private static final Map<String, IpcMemory> BY_TICKET = new HashMap<>();
  private static final Map<Long, IpcMemory> BY_ADDRESS = new HashMap<>();

  private final String ticket;
  private final long address;
  private final long bytes;
  // A reference of its own: the device may be closed before the memory is freed.
  private final Context context;
  // Null for memory that another process made.
  private final @Nullable LivenessPipe hold;
  // Keeps memory that another process made; -1 for memory that this process made.
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

  /**
   * Returns whether this system and the driver support this kind of sharing; a device may still
   * refuse.
   */
  static boolean isSupported() {
    return DescriptorExchange.isSupported()
        && Installed.DRIVER.has("cuIpcGetMemHandle")
        && Installed.DRIVER.has("cuIpcOpenMemHandle_v2");
  }

  /**
   * Memory that other processes can open.
   *
   * @param address its start
   * @param ticket identifies the memory to processes that have the descriptor
   * @param descriptor keeps the memory; the receiver closes it
   */
  record Exported(long address, String ticket, int descriptor) {}

  /** Allocates memory of a device; no context is pushed. */
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
   * Opens memory that another process, or this one, has made; no context is pushed.
   *
   * @param descriptor the descriptor that belongs to the ticket; the caller keeps it
   * @return the address
   * @throws TransferException if the process that made the memory has ended
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

  /** Ends one use; the last one frees or closes the memory. No context is pushed. */
  static void free(long address) {
    IpcMemory unused = leave(address);
    if (unused != null) {
      unused.freeUnlessOthersHaveIt();
    }
  }

  /** Ends a use; returns memory that this process made and no longer uses, or null. */
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
    // Closed last: this shows the process that made the memory that the memory is not open here.
    DescriptorExchange.discard(memory.descriptor);
    return null;
  }

  private void freeUnlessOthersHaveIt() {
    LivenessPipe others = Objects.requireNonNull(hold, "memory of this process");
    if (others.isOver(0)) {
      freeUnused();
    } else {
      // Not a daemon thread: a program that ends also waits for the other processes.
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
            ? "the processes that have them close them, which this process cannot see"
            : "processes " + holders + " close them")
        + "; if this process is ended before, what uses them fails";
  }

  /** Frees the memory, unless this process has begun to use it again. */
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
