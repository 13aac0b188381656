// A file of lines that several processes may append to, rotated by size: `x.jsonl` is the current file, `x.jsonl.1` the newest
// rotated one.
import { constants } from "node:fs";
import { mkdir, open, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "../../base/error-code.ts";

/** O_APPEND: the kernel adds each write of a process as a whole at the end of the file, wherever other processes have written. */
const APPEND = constants.O_APPEND | constants.O_CREAT | constants.O_RDWR;
/** Records may contain bodies, so only the user of the gateway may read them. */
const MODE = 0o600;
/** A lock that is older was left behind by a process that was killed while it rotated. */
const STALE_LOCK_MS = 10_000;
const NEWLINE = 0x0a;

export interface RotatingFileOptions {
  readonly path: string;
  /** Size after which the file is rotated. */
  readonly maxBytes: number;
  /** Number of rotated files to keep. */
  readonly keptFiles: number;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly inode: number;
}

export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #file: OpenFile | null = null;
  /** Whether the last line in the file is incomplete: a process was killed or the disk was full while it was written. */
  #isTorn = false;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /**
   * Appends whole lines. Returns the lines that were not written because the disk is full. Calls must not overlap.
   */
  async append(lines: Buffer): Promise<Buffer> {
    const { handle } = await this.#fileFor(lines.length);
    const prefix = this.#isTorn ? 1 : 0;
    const bytes = prefix === 1 ? Buffer.concat([Buffer.from("\n"), lines]) : lines;
    const { bytesWritten } = await handle.write(bytes);
    this.#isTorn = bytesWritten === 0 ? this.#isTorn : bytes[bytesWritten - 1] !== NEWLINE;
    if (bytesWritten === bytes.length) return bytes.subarray(bytes.length);
    const written = Math.max(0, bytesWritten - prefix);
    return lines.subarray(lines.subarray(0, written).lastIndexOf(NEWLINE) + 1);
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.handle.close();
  }

  async #fileFor(length: number): Promise<OpenFile> {
    const { path, maxBytes } = this.#options;
    let file = this.#file;
    const current = file === null ? null : await statOf(path);
    // Another process, or a tool such as logrotate, has renamed or deleted the file.
    if (file === null || current?.ino !== file.inode) file = await this.#open();
    const { size } = current ?? (await file.handle.stat());
    if (size === 0 || size + length <= maxBytes) return file;
    await this.#rotate(file);
    return this.#open();
  }

  async #open(): Promise<OpenFile> {
    const { path } = this.#options;
    await this.close();
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(path, APPEND, MODE);
    const { ino, size } = await handle.stat();
    this.#isTorn = size > 0 && (await lastByteOf(handle, size)) !== NEWLINE;
    return (this.#file = { handle, inode: ino });
  }

  /** If another process rotates the file at the same time, this one continues with the current file. */
  async #rotate({ inode }: OpenFile): Promise<void> {
    const { path, keptFiles } = this.#options;
    const lock = `${path}.lock`;
    if (!(await takeLock(lock))) return;
    try {
      if ((await statOf(path))?.ino !== inode) return;
      for (let number = keptFiles; number > 0; number--)
        await renameIfPresent(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    } finally {
      await unlink(lock);
    }
  }
}

async function takeLock(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx", MODE)).close();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    const lock = await statOf(path);
    if (lock !== null && Date.now() - lock.mtimeMs > STALE_LOCK_MS) await unlink(path);
    return false;
  }
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

async function renameIfPresent(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

async function lastByteOf(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}
