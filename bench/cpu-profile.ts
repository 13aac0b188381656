// Reads a .cpuprofile of the runtime: where the time of a process went, by function.
import { readFileSync } from "node:fs";

const LONGEST_NAME = 60;

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface TimeSpent {
  readonly name: string;
  /** Microseconds in it alone. */
  readonly self: number;
  /** Microseconds in it and in what it called. */
  readonly total: number;
}

export interface ProfileSummary {
  /** By function, natives of the runtime among them. */
  readonly functions: readonly TimeSpent[];
  /** By file of ours; what a native of the runtime took counts for the file that called it. */
  readonly files: readonly TimeSpent[];
}

export function summarize(file: string): ProfileSummary {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as CpuProfile;
  const [nameOf, fileOf] = [new Map<number, string>(), new Map<number, string>()];
  const parentOf = new Map<number, number>();
  for (const { id, callFrame, children = [] } of nodes) {
    const { functionName, url, lineNumber } = callFrame;
    const path = url.replace(/^.*\/(?=(src|node_modules)\/)/, "");
    const place = path === "" ? "" : `  ${path}:${lineNumber + 1}`;
    // A regular expression is named by its source, however long that is.
    const name = functionName === "" ? "(anonymous)" : functionName.slice(0, LONGEST_NAME);
    nameOf.set(id, `${name}${place}`);
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
    files.add(callers.length === 0 ? ["(the runtime alone)"] : callers, spent);
  });
  return { functions: functions.most(), files: files.most() };
}

class Tally {
  readonly #self = new Map<string, number>();
  readonly #total = new Map<string, number>();

  /** A stack, innermost first. What calls itself counts once. */
  add(stack: readonly string[], spent: number): void {
    const innermost = stack[0] ?? "?";
    this.#self.set(innermost, (this.#self.get(innermost) ?? 0) + spent);
    for (const each of new Set(stack)) this.#total.set(each, (this.#total.get(each) ?? 0) + spent);
  }

  most(): TimeSpent[] {
    const all = [...this.#self].map(([name, self]) => ({ name, self, total: this.#total.get(name) ?? self }));
    return all.sort((a, b) => b.self - a.self);
  }
}
