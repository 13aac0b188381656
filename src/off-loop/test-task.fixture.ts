// A task for tests: does what its input says.
import { GatehouseError } from "../base/errors.ts";

export type TestInput =
  | { readonly do: "upper"; readonly text: string }
  | { readonly do: "echo"; readonly value: unknown }
  | { readonly do: "bytes"; readonly bytes: Uint8Array }
  | { readonly do: "spin" | "throw" | "reject" | "exit" | "crash" }
  | { readonly do: "wait"; readonly gate: Int32Array };

export function run(input: TestInput): unknown {
  switch (input.do) {
    case "upper":
      return input.text.toUpperCase();
    case "echo":
      return input.value;
    case "bytes":
      return { first: input.bytes.slice().fill(1), size: input.bytes.length };
    case "wait":
      Atomics.store(input.gate, 0, 1);
      Atomics.notify(input.gate, 0);
      Atomics.wait(input.gate, 1, 0);
      return "waited";
    case "throw":
      throw new TypeError("wrong input");
    case "reject":
      throw new GatehouseError("validation_failed", "bad", { details: [{ path: "a", message: "b" }] });
    case "exit":
      return process.exit(3);
    case "crash":
      queueMicrotask(() => {
        throw new Error("boom");
      });
      return new Promise(() => undefined);
    case "spin":
      for (;;);
  }
}
