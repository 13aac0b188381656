// The files of other processes in a directory: finds out which of these processes have ended, and has their work finished.
import { readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { errorCode } from "../base/error-code.ts";
import { isRunning } from "./process-owner.ts";
import {
  INCOMPLETE,
  readSlotFile,
  readSlotHeader,
  removeFile,
  type SlotFileContent,
  type SlotFileHeader,
} from "./slot-file.ts";

/** A process that may run elsewhere has ended if its file had no sign of life for this long. A process renews it three times as often. */
const SILENT_MS = 30_000;

interface LeftFilesParts {
  readonly directory: string;
  readonly suffix: string;
  /** The writer of the file that this process uses. */
  readonly ownWriter: string;
  readonly clock: Clock;
  /** A damaged file was renamed, because it would be in the way forever. The amounts in it are not used. */
  readonly onDamagedFile: (path: string) => void;
}

/** The last sign of life of a process that may run elsewhere, and when it was first seen by the clock of this process. */
interface Sign {
  readonly aliveAt: number;
  readonly seenAt: number;
  /** Whether there was an earlier sign, so that the process has run while this one watched. */
  readonly isRenewed: boolean;
}

interface LeftFilesState {
  /** Whether another process has ended since the last call: this one, or a third one, has finished its work. */
  readonly hasEnded: boolean;
  /** Files of processes that may have ended. They are read again until that is known. */
  readonly uncertain: readonly SlotFileContent[];
}

export class LeftFiles {
  readonly #parts: LeftFilesParts;
  /** Files of other processes that were there at the last call. */
  #known = new Set<string>();
  readonly #signs = new Map<string, Sign>();
  #hasEnded = false;

  constructor(parts: LeftFilesParts) {
    this.#parts = parts;
  }

  /**
   * Calls `finish` for every process that has ended, then deletes its file. Rejects if `finish` does, to be called again. A SyntaxError of
   * `finish` says that the file is damaged.
   */
  async finishEnded(finish: (content: SlotFileContent) => Promise<void>): Promise<LeftFilesState> {
    const { directory, suffix, ownWriter } = this.#parts;
    const names = namesIn(directory);
    for (const name of names.filter((each) => each.endsWith(`${suffix}${INCOMPLETE}`)))
      removeAbandoned(join(directory, name));
    const files = names.filter((name) => name.endsWith(suffix) && name !== `${ownWriter}${suffix}`);
    for (const name of this.#known) if (!files.includes(name)) this.#forget(name);
    this.#known = new Set(files);
    const uncertain: SlotFileContent[] = [];
    for (const name of files) {
      const path = join(directory, name);
      const header = this.#read(path, readSlotHeader);
      const state = header === null ? "running" : this.#stateOf(name, header);
      if (state === "running") continue;
      const content = this.#read(path, readSlotFile);
      if (content === null) continue;
      if (state === "uncertain") uncertain.push(content);
      else {
        if (!(await this.#isFinished(path, finish(content)))) continue;
        removeFile(path);
        this.#known.delete(name);
        this.#forget(name);
      }
    }
    const hasEnded = this.#hasEnded;
    this.#hasEnded = false;
    return { hasEnded, uncertain };
  }

  #stateOf(name: string, { owner, aliveAt }: SlotFileHeader): "running" | "ended" | "uncertain" {
    const isAlive = isRunning(owner);
    if (isAlive !== null) return isAlive ? "running" : "ended";
    const now = this.#parts.clock.now();
    const before = this.#signs.get(name);
    if (before?.aliveAt !== aliveAt) {
      const sign = { aliveAt, seenAt: now, isRenewed: before !== undefined };
      this.#signs.set(name, sign);
      return sign.isRenewed ? "running" : "uncertain";
    }
    // By this clock alone: the clocks of two machines may differ, and that of one may be corrected.
    if (now - before.seenAt >= SILENT_MS) return "ended";
    return before.isRenewed ? "running" : "uncertain";
  }

  #forget(name: string): void {
    this.#signs.delete(name);
    this.#hasEnded = true;
  }

  #read<Content>(path: string, read: (path: string) => Content | null): Content | null {
    try {
      return read(path);
    } catch (error) {
      this.#setAside(path, error);
      return null;
    }
  }

  async #isFinished(path: string, finished: Promise<void>): Promise<boolean> {
    try {
      await finished;
      return true;
    } catch (error) {
      this.#setAside(path, error);
      return false;
    }
  }

  /** Throws other errors. */
  #setAside(path: string, error: unknown): void {
    if (!(error instanceof SyntaxError)) throw error;
    const renamed = `${path}.damaged`;
    if (renameFile(path, renamed)) this.#parts.onDamagedFile(renamed);
  }
}

/** Returns false if another process has renamed or removed it. */
function renameFile(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    // The directory may not exist, or not be one: then no file can be created there either, which is reported.
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return [];
    throw error;
  }
}

/** Deletes the file of a process that was killed while it created it. That takes milliseconds. */
function removeAbandoned(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info !== undefined && Date.now() - info.mtimeMs > SILENT_MS) removeFile(path);
}
