package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory whose arena somebody else must not close for a while. */
@Timeout(60)
final class ArenaKeepAliveTest {
  @Test
  void anArenaCannotBeClosedWhileItIsHeld() {
    Arena arena = Arena.ofShared();
    ArenaKeepAlive held = ArenaKeepAlive.of(arena.allocate(100));
    assertThatIllegalStateException().isThrownBy(arena::close);
    assertThat(arena.scope().isAlive()).isTrue();
    held.close();
    held.close();
    arena.close();
    assertThat(arena.scope().isAlive()).isFalse();
  }

  @Test
  void eachHolderHoldsItAlone() {
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(100);
    ArenaKeepAlive first = ArenaKeepAlive.of(memory);
    ArenaKeepAlive second = ArenaKeepAlive.of(memory.asSlice(50));
    first.close();
    assertThatIllegalStateException().isThrownBy(arena::close);
    second.close();
    arena.close();
  }

  @Test
  void whatIsClosedCannotBeHeld() {
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(100);
    arena.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> ArenaKeepAlive.of(memory))
        .withMessageContaining("arena is closed");
  }

  @Test
  void anInterruptStaysSetAndChangesNothing() {
    Arena arena = Arena.ofShared();
    Thread.currentThread().interrupt();
    ArenaKeepAlive held = ArenaKeepAlive.of(arena.allocate(100));
    assertThat(Thread.interrupted()).isTrue();
    assertThatIllegalStateException().isThrownBy(arena::close);
    held.close();
    arena.close();
  }
}
