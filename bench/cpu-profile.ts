// Reads a .cpuprofile of the runtime and sums up the time by function and by file.
import { readFileSync } from "node:fs";

const MAX_NAME_LENGTH = 60;

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface TimeSpent {
  readonly name: string;
  /** Microseconds, without called functions. */
  readonly self: number;
  /** Microseconds, with called functions. */
  readonly total: number;
}

interface ProfileSummary {
  /** By function, including native functions of the runtime. */
  readonly functions: readonly TimeSpent[];
  /** By source file; the time of a native function counts for the file that called it. */
  readonly files: readonly TimeSpent[];
}

export function summarize(file: string): ProfileSummary {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as CpuProfile;
  const [nameOf, fileOf] = [new Map<number, string>(), new Map<number, string>()];
  const parentOf = new Map<number, number>();
  for (const { id, callFrame, children = [] } of nodes) {
    const { functionName, url, lineNumber } = callFrame;
    const path = url.replace(/^.*\/(?=(src|node_modules)\/)/, "");
    const location = path === "" ? "" : `  ${path}:${lineNumber + 1}`;
    // The name of a regular expression is its source, which may be long.
    const name = functionName === "" ? "(anonymous)" : functionName.slice(0, MAX_NAME_LENGTH);
    nameOf.set(id, `${name}${location}`);
    if (path !== "") fileOf.set(id, path);
    for (const child of children) parentOf.set(child, id);
  }
  const [functions, files] = [new Tally(), new Tally()];
  samples.forEach((node, index) => {
    const spent = timeDeltas[index] ?? 0;
    const [calls, callers]: [string[], string[]] = [[], []];
    for (let at: number | undefined = node; at !== undefined; at = parentOf.get(at)) {
      calls.push(nameOf.get(at) ?? "?");
      const inFile = fileOf.get(at);
      if (inFile !== undefined) callers.push(inFile);
    }
    functions.add(calls, spent);
    files.add(callers.length === 0 ? ["(runtime)"] : callers, spent);
  });
  return { functions: functions.byTime(), files: files.byTime() };
}

class Tally {
  readonly #self = new Map<string, number>();
  readonly #total = new Map<string, number>();

  /** Adds the time of a stack, innermost function first. A recursive function counts once. */
  add(stack: readonly string[], spent: number): void {
    const innermost = stack[0] ?? "?";
    this.#self.set(innermost, (this.#self.get(innermost) ?? 0) + spent);
    for (const each of new Set(stack)) this.#total.set(each, (this.#total.get(each) ?? 0) + spent);
  }

  byTime(): TimeSpent[] {
    const all = [...this.#self].map(([name, self]) => ({ name, self, total: this.#total.get(name) ?? self }));
    return all.sort((a, b) => b.self - a.self);
  }
}
