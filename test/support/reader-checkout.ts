// A checkout as a newcomer has it, with a running gateway: an empty home directory, no variables but PATH, and the defaults of
// the project. Only the ports are free ones, which a `.env` file sets. Commands of the documentation are pasted into it.
import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "./gatehouse-process.ts";
import { waitUntil } from "./waiting.ts";
import { freePort } from "./free-port.ts";

const ROOT = join(import.meta.dir, "../..");
/** What a running gateway creates, and what belongs to the developer. */
const NOT_CHECKED_OUT = new Set([".env", ".git", "data"]);

const ENDING_MS = 20_000;

interface PastedCommands {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
  /** Command lines of the processes that the commands have left running. */
  readonly left: readonly string[];
}

interface ReaderCheckout {
  readonly directory: string;
  /** Runs commands in one shell, as if pasted in order. Only ports are replaced. */
  paste(commands: string): Promise<PastedCommands>;
  stop(): Promise<void>;
}

/** Starts the gateway with `npm start`. */
export async function startReaderCheckout(): Promise<ReaderCheckout> {
  const directory = temporaryDirectory();
  for (const name of readdirSync(ROOT))
    if (!NOT_CHECKED_OUT.has(name)) symlinkSync(join(ROOT, name), join(directory, name));
  const home = join(directory, "home");
  mkdirSync(home);
  const env = { PATH: process.env["PATH"], HOME: home };
  const ports = new Map<string, number>();
  for (const documented of ["8080", "8081", "9098", "9099"]) ports.set(documented, freePort());
  const [admin, proxy] = [ports.get("8080") ?? 0, ports.get("8081") ?? 0];
  writeFileSync(join(directory, ".env"), `ADMIN_PORT=${admin}\nPROXY_PORT=${proxy}\n`);
  const gateway = Bun.spawn(["npm", "start"], { cwd: directory, env, stdout: "ignore" });
  await waitUntil(async () => {
    const ready = await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => null);
    return ready?.status === 200;
  });
  const own = new Set(processesIn(directory));
  const files = { output: join(home, "output"), errors: join(home, "errors") };
  return {
    directory,
    async paste(commands) {
      const replaced = commands.replaceAll(/\b(8080|8081|9098|9099)\b/g, (port) => String(ports.get(port)));
      const shell = Bun.spawn(["bash", "-c", `set -eu\n${replaced}`], {
        cwd: directory,
        env,
        // Files, because a process that is left behind would keep a pipe open.
        stdout: Bun.file(files.output),
        stderr: Bun.file(files.errors),
      });
      const code = await shell.exited;
      const [output, errors] = await Promise.all([
        Bun.file(files.output).text(),
        Bun.file(files.errors).text(),
      ]);
      const started = () => processesIn(directory).filter((process) => !own.has(process));
      // A process that was told to end may take a moment.
      await waitUntil(() => started().length === 0, ENDING_MS).catch(() => undefined);
      const left = started();
      for (const process of left) globalThis.process.kill(Number(process.split(" ", 1)[0]));
      return { code, output, errors, left };
    },
    async stop() {
      gateway.kill("SIGTERM");
      await gateway.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns the id and the command of each process whose working directory is the given one. */
function processesIn(directory: string): string[] {
  const found: string[] = [];
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${id}/cwd`) === directory)
        found.push(`${id} ${readlinkSync(`/proc/${id}/exe`)}`);
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found;
}
