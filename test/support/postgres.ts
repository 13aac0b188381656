// A real PostgreSQL for tests: one throw-away cluster a test run, a fresh database for whoever asks.
import { SQL } from "bun";
import { chownSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PostgresCluster {
  readonly port: number;
  readonly directory: string;
  /** URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** `pg_ctl` with these words, e.g. `run("stop", "-m", "immediate")`. */
  control(...words: string[]): void;
  /** The postmaster's process id. */
  pid(): number;
}

const INSTALL = "apt-get install postgresql";

function findBinaries(): string | null {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const folders = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(process.env["PATH"] ?? "").split(":"),
  ];
  return (
    folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "pg_ctl"))) ?? null
  );
}

const binaries = findBinaries();

/** Whether PostgreSQL tests can run. In CI they must; elsewhere a missing server is said loudly. */
export const hasPostgres = binaries !== null;
if (!hasPostgres) {
  const sentence = `PostgreSQL is not installed, so its tests are SKIPPED (${INSTALL})`;
  if (process.env["CI"] === "true") throw new Error(`${sentence}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${sentence}\n\n`);
}

/** PostgreSQL refuses to run as root: there it runs as the user of its Debian package. */
const runAs = process.getuid?.() === 0 ? userId("postgres") : null;

function userId(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(Bun.spawnSync(["id", flag, name]).stdout.toString());
  return { uid: id("-u"), gid: id("-g") };
}

function commandLine(program: string, words: readonly string[]): string[] {
  const drop =
    runAs === null ? [] : ["setpriv", `--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups"];
  return [...drop, join(binaries ?? "", program), ...words];
}

function run(program: string, words: readonly string[]): string {
  const done = Bun.spawnSync(commandLine(program, words), { cwd: "/", stdin: "ignore" });
  if (done.exitCode !== 0)
    throw new Error(`${program} ${words.join(" ")}: ${done.stderr.toString()}${done.stdout.toString()}`);
  return done.stdout.toString();
}

/** `bun test` emits no "exit", and a killed run could not: a shell of its own waits for this process to be gone. */
function stopWithThisProcess(directory: string, data: string): void {
  const wait = 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rest=$2; shift 2; "$@"; rm -rf "$rest"';
  const stop = commandLine("pg_ctl", ["-D", data, "-m", "immediate", "stop"]);
  // In a session of its own: a test worker takes the processes of its own along when it ends.
  Bun.spawnSync(["setsid", "--fork", "sh", "-c", wait, "sh", String(process.pid), directory, ...stop], {
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore"],
  });
}

let shared: Promise<PostgresCluster> | null = null;

/** The cluster that all tests of a run share. Whoever stops it uses `startPostgres` for one of their own. */
export function sharedPostgres(): Promise<PostgresCluster> {
  shared ??= startPostgres();
  return shared;
}

export async function startPostgres(): Promise<PostgresCluster> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-postgres-"));
  if (runAs !== null) chownSync(directory, runAs.uid, runAs.gid);
  const data = join(directory, "data");
  run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
  const port = await freePort();
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -k ${directory} -c max_connections=100`;
  const control = (...words: string[]) =>
    void run("pg_ctl", ["-D", data, "-w", "-l", join(directory, "log"), "-o", options, ...words]);
  control("start");
  stopWithThisProcess(directory, data);
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let databases = 0;
  return {
    port,
    directory,
    control,
    pid: () => Number(run("pg_ctl", ["-D", data, "status"]).match(/PID: (\d+)/)?.[1]),
    async createDatabase() {
      const name = `gatehouse_${++databases}`;
      const sql = new SQL(admin, { max: 1 });
      await sql.unsafe(`CREATE DATABASE ${name}`);
      await sql.close();
      return `postgres://postgres@127.0.0.1:${port}/${name}`;
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
