// The entry point of a worker thread: imports the module of each task on its first use and calls its `run`, one task at a time.
import { attachStrings, detachStrings } from "./large-strings.ts";
import { toTaskError, type TaskReply, type TaskRequest } from "./task-messages.ts";

declare const self: Worker;

/** Smaller outputs are copied: they may be views of a buffer that Buffer shares among many. */
const MIN_TRANSFERRED_BYTES = 65_536;

type Run = (input: unknown) => unknown;
const tasks = new Map<string, Run>();

/** Of the next message. */
let strings: readonly string[] = [];

self.onmessage = ({ data }: MessageEvent<TaskRequest | string[]>) => {
  const received = strings;
  strings = Array.isArray(data) ? data : [];
  if (!Array.isArray(data)) void respond(data, received);
};

async function respond({ module, input, places }: TaskRequest, received: readonly string[]): Promise<void> {
  try {
    const run = tasks.get(module) ?? (await load(module));
    const output = detachStrings(await run(attachStrings(input, received, places)));
    if (output.strings.length > 0) self.postMessage(output.strings);
    reply({ output: output.value, places: output.places }, transferable(output.value));
  } catch (error) {
    reply({ error: toTaskError(error) }, []);
  }
}

async function load(module: string): Promise<Run> {
  const { run } = (await import(module)) as { readonly run?: unknown };
  if (!isRun(run)) throw new Error(`${module} does not export a function "run"`);
  tasks.set(module, run);
  return run;
}

function isRun(value: unknown): value is Run {
  return typeof value === "function";
}

function reply(message: TaskReply, transfer: ArrayBuffer[]): void {
  self.postMessage(message, transfer);
}

/** Returns the buffers of the output, or of its fields, that are large and belong to one array. These are moved, not copied. */
function transferable(output: unknown): ArrayBuffer[] {
  if (typeof output !== "object" || output === null) return [];
  const values: readonly unknown[] = ArrayBuffer.isView(output) ? [output] : Object.values(output);
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) {
    if (!(value instanceof Uint8Array) || !(value.buffer instanceof ArrayBuffer)) continue;
    if (value.byteLength >= MIN_TRANSFERRED_BYTES && value.byteLength === value.buffer.byteLength)
      buffers.add(value.buffer);
  }
  return [...buffers];
}
