// objc_msgSend: finds the method and jumps to it with the caller's registers and stack as they were, so
// that it serves every signature.

#include "object.h"

#ifdef __x86_64__

asm(R"(
  .text
  .macro tidepool_message name, self, selector, finder
  .globl \name
  .type \name, @function
\name:
  pushq %rbp
  movq %rsp, %rbp
  subq $192, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movdqu %xmm0, 64(%rsp)
  movdqu %xmm1, 80(%rsp)
  movdqu %xmm2, 96(%rsp)
  movdqu %xmm3, 112(%rsp)
  movdqu %xmm4, 128(%rsp)
  movdqu %xmm5, 144(%rsp)
  movdqu %xmm6, 160(%rsp)
  movdqu %xmm7, 176(%rsp)
  movq \self, %rdi
  movq \selector, %rsi
  call \finder
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movdqu 64(%rsp), %xmm0
  movdqu 80(%rsp), %xmm1
  movdqu 96(%rsp), %xmm2
  movdqu 112(%rsp), %xmm3
  movdqu 128(%rsp), %xmm4
  movdqu 144(%rsp), %xmm5
  movdqu 160(%rsp), %xmm6
  movdqu 176(%rsp), %xmm7
  leave
  jmp *%r11
  .size \name, .-\name
  .endm

  tidepool_message objc_msgSend, 0(%rsp), 8(%rsp), tidepool_method
  tidepool_message objc_msgSend_stret, 8(%rsp), 16(%rsp), tidepool_stret_method

  .globl tidepool_nil
  .hidden tidepool_nil
tidepool_nil:
  xorl %eax, %eax
  xorl %edx, %edx
  pxor %xmm0, %xmm0
  ret

  .globl tidepool_nil_stret
  .hidden tidepool_nil_stret
tidepool_nil_stret:
  movq %rdi, %rax
  ret
)");

#elif defined(__aarch64__)

asm(R"(
  .text
  .globl objc_msgSend
  .type objc_msgSend, %function
objc_msgSend:
  sub sp, sp, #224
  stp x0, x1, [sp, #0]
  stp x2, x3, [sp, #16]
  stp x4, x5, [sp, #32]
  stp x6, x7, [sp, #48]
  stp x8, x29, [sp, #64]
  str x30, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl tidepool_method
  mov x16, x0
  ldp x0, x1, [sp, #0]
  ldp x2, x3, [sp, #16]
  ldp x4, x5, [sp, #32]
  ldp x6, x7, [sp, #48]
  ldp x8, x29, [sp, #64]
  ldr x30, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  add sp, sp, #224
  br x16
  .size objc_msgSend, .-objc_msgSend

  .globl tidepool_nil
  .hidden tidepool_nil
tidepool_nil:
  mov x0, #0
  mov x1, #0
  movi d0, #0
  ret
)");

#else
#error "the simulated Metal has trampolines for x86-64 and AArch64"
#endif

extern "C" {

__attribute__((visibility("hidden"))) void tidepool_nil(void);
#ifdef __x86_64__
__attribute__((visibility("hidden"))) void tidepool_nil_stret(void);
#endif

// The code of a message's method; what answers 0 for a message to nil, and for one that cannot be sent.
__attribute__((visibility("hidden"), used)) IMP tidepool_method(id self, SEL selector) {
  const sim::Method* method = sim::find_method(self, selector);
  if (method == nullptr) {
    return tidepool_nil;
  }
#ifdef __x86_64__
  if (method->in_memory) {
    sim::violation("objc_msgSend of %s, whose result is a structure in memory: send it by "
                   "objc_msgSend_stret",
                   method->name);
    return tidepool_nil;
  }
#endif
  return method->code;
}

#ifdef __x86_64__
__attribute__((visibility("hidden"), used)) IMP tidepool_stret_method(id self, SEL selector) {
  const sim::Method* method = sim::find_method(self, selector);
  if (method == nullptr) {
    return tidepool_nil_stret;
  }
  if (!method->in_memory) {
    sim::violation("objc_msgSend_stret of %s, whose result is no structure in memory: send it by "
                   "objc_msgSend",
                   method->name);
    return tidepool_nil_stret;
  }
  return method->code;
}
#endif

}  // extern "C"
