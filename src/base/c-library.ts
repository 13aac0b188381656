// Functions of the C library that Bun has no API for. The code that calls them is loaded on demand, because few processes need it.
import type { FFIFunction } from "bun:ffi";

/** The C library of glibc, musl, and macOS. */
const C_LIBRARIES = [
  "libc.so.6",
  `libc.musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`,
  "libSystem.B.dylib",
];

/** Resolves to functions of the C library; rejects if there is no such library. */
export async function openCLibrary<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  const { dlopen } = await import("bun:ffi");
  let reason: unknown = null;
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, functions).symbols;
    } catch (error) {
      reason ??= error;
    }
  }
  throw reason;
}
