// Runs a program in a control group with a memory limit, as a container does.
import { existsSync, mkdirSync, rmdirSync, writeFileSync, chmodSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "./temporary-directory.ts";

/** Version 1 and version 2 of control groups: where groups are, and the file with the limit. */
const HIERARCHIES = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes" },
  { root: "/sys/fs/cgroup", limit: "memory.max" },
];

interface MemoryLimit {
  /** A program that runs `program` in the group. */
  readonly program: string;
  /** Call it when all processes of the group have ended. */
  remove(): void;
}

/** Returns null where groups cannot be created. */
export function limitMemory(program: string, bytes: number): MemoryLimit | null {
  const name = `gatehouse-test-${process.pid}`;
  for (const { root, limit } of HIERARCHIES) {
    const group = join(root, name);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    if (!existsSync(join(group, limit))) {
      rmdirSync(group);
      continue;
    }
    writeFileSync(join(group, limit), String(bytes));
    const script = join(temporaryDirectory(), "limited");
    writeFileSync(script, `#!/bin/sh\necho $$ > ${group}/cgroup.procs && exec ${program} "$@"\n`);
    chmodSync(script, 0o755);
    return { program: script, remove: () => rmdirSync(group) };
  }
  return null;
}
