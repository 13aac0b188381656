// A real PostgreSQL for tests: one temporary cluster per run of `npm test`, and new databases on demand.
import { SQL } from "bun";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/store/database.ts";
import { migrate } from "../../src/store/migrate.ts";
import { isInstalled } from "./required-program.ts";
import { freePort } from "./free-port.ts";

export interface PostgresCluster {
  readonly port: number;
  readonly directory: string;
  /** Resolves to the URL of a new database: empty, or a copy of the one with this URL, which must have no connections. */
  createDatabase(template?: string): Promise<string>;
  /** Resolves to the URL of a new database with the current schema. Migrating one takes a second on a busy machine, a copy less. */
  createMigrated(): Promise<string>;
  /** Runs `pg_ctl` with these arguments, e.g. `control("stop", "-m", "immediate")`. */
  control(...args: string[]): void;
  /** The postmaster's process id. */
  pid(): number;
}

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

export const hasPostgres = isInstalled(binaries, {
  name: "PostgreSQL",
  tests: "its tests",
  install: "apt-get install postgresql",
});

/** PostgreSQL does not run as root; tests that run as root start it as the user of its Debian package. */
const runAs = process.getuid?.() === 0 ? userId("postgres") : null;

function userId(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(Bun.spawnSync(["id", flag, name]).stdout.toString());
  return { uid: id("-u"), gid: id("-g") };
}

function commandLine(program: string, args: readonly string[]): string[] {
  const drop =
    runAs === null ? [] : ["setpriv", `--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups"];
  return [...drop, join(binaries ?? "", program), ...args];
}

function run(program: string, args: readonly string[]): string {
  const done = Bun.spawnSync(commandLine(program, args), { cwd: "/", stdin: "ignore" });
  if (done.exitCode !== 0)
    throw new Error(`${program} ${args.join(" ")}: ${done.stderr.toString()}${done.stdout.toString()}`);
  return done.stdout.toString();
}

/**
 * Starts a shell that waits for the end of this process, then stops the cluster. `bun test` emits no "exit" event, and a
 * killed run could not handle one.
 */
function stopWithThisProcess(directory: string, data: string): void {
  const wait = 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; rest=$2; shift 2; "$@"; rm -rf "$rest"';
  const stop = commandLine("pg_ctl", ["-D", data, "-m", "immediate", "stop"]);
  // A new session, because a test worker kills the processes of its own session when it ends.
  Bun.spawnSync(["setsid", "--fork", "sh", "-c", wait, "sh", String(process.pid), directory, ...stop], {
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** The directory and the port of the cluster that `npm test` has started; test files do not share variables. */
const RUN_CLUSTER = "GATEHOUSE_TEST_POSTGRES";

/** Starts the cluster that all test files share, and returns the environment that tells them. */
export async function startPostgresForRun(): Promise<Record<string, string>> {
  if (!hasPostgres) return {};
  const cluster = await startPostgres();
  const { directory, port } = cluster;
  return { [RUN_CLUSTER]: `${port} ${directory} ${await createTemplate(cluster)}` };
}

/** A database with the current schema that nothing else uses. */
async function createTemplate(cluster: Pick<PostgresCluster, "createDatabase">): Promise<string> {
  const url = await cluster.createDatabase();
  const database = openDatabase(url);
  await migrate(database);
  await database.close();
  return url;
}

let shared: Promise<PostgresCluster> | null = null;

/** Returns the cluster that all tests share. Tests that stop it or read its files must use `startPostgres` instead. */
export function sharedPostgres(): Promise<PostgresCluster> {
  const [port, directory, template] = process.env[RUN_CLUSTER]?.split(" ") ?? [];
  if (port !== undefined && directory !== undefined)
    shared ??= Promise.resolve(clusterAt(directory, Number(port), template));
  shared ??= startPostgres();
  return shared;
}

/** Without fsync a killed server loses nothing either; only a machine that crashes does. */
const SETTINGS = { listen_addresses: "127.0.0.1", max_connections: "300", fsync: "off", autovacuum: "off" };

export function startPostgres(): Promise<PostgresCluster> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-postgres-"));
  if (runAs !== null) chownSync(directory, runAs.uid, runAs.gid);
  const data = join(directory, "data");
  run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
  const cluster = clusterAt(directory, freePort());
  cluster.control("start");
  stopWithThisProcess(directory, data);
  return Promise.resolve(cluster);
}

/** A copy of the files takes a third of the CPU time of the default of PostgreSQL 15; older versions do nothing else. */
async function copyStrategy(sql: SQL): Promise<string> {
  const [{ version }] = await sql`SELECT current_setting('server_version_num')::integer AS version`;
  return version >= 150_000 ? " STRATEGY FILE_COPY" : "";
}

function clusterAt(directory: string, port: number, template?: string): PostgresCluster {
  const data = join(directory, "data");
  const settings = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
  const options = `-p ${port} -k ${directory} ${settings.join(" ")}`;
  const urlOf = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  let migrated = template === undefined ? null : Promise.resolve(template);
  const cluster: PostgresCluster = {
    port,
    directory,
    createMigrated: async () => cluster.createDatabase(await (migrated ??= createTemplate(cluster))),
    control: (...args) =>
      void run("pg_ctl", ["-D", data, "-w", "-l", join(directory, "log"), "-o", options, ...args]),
    pid: () => Number(run("pg_ctl", ["-D", data, "status"]).match(/PID: (\d+)/)?.[1]),
    async createDatabase(original) {
      const name = `gatehouse_${randomBytes(8).toString("hex")}`;
      const sql = new SQL(urlOf("postgres"), { max: 1 });
      const source = original === undefined ? "" : ` TEMPLATE ${new URL(original).pathname.slice(1)}`;
      await sql.unsafe(`CREATE DATABASE ${name}${source}${await copyStrategy(sql)}`);
      await sql.close();
      return urlOf(name);
    },
  };
  return cluster;
}
