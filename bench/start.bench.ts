// `npm run bench:start`: time from the start of a process until it serves a chat completion, what the launcher and the supervisor
// take of it, and idle memory: nginx, Gatehouse bare and full with one process, and bare with a supervisor of two workers.
// Flags: --rounds 10 --out file.json
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { requireTools } from "./comparison.ts";
import { GATEWAY_CORE, OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { seedBare, seedKeyed } from "./full-gatehouse.ts";
import { launchGatehouse, temporaryFolder } from "./gatehouse.ts";
import { formatNumber, printGrid, saveResults } from "./grid.ts";
import { startNginxProvider, startNginxProxy } from "./nginx.ts";
import { untilReady, type PinnedProcess } from "./pinned-process.ts";
import { childrenOf, commandOf, residentBytesOf, usageOf } from "./process-usage.ts";
import { median } from "./report.ts";
import { freePort } from "../test/support/free-port.ts";

interface Sample {
  readonly readyMs: number;
  /** Until the program is executed; before that, the shell script of the launcher runs. */
  readonly launcherMs: number;
  /** From then until the first worker process exists; 0 without a supervisor. */
  readonly supervisorMs: number;
  /** From the start of the process that serves until it serves. */
  readonly servingMs: number;
  readonly cpuMs: number;
  readonly idleMiB: number;
  /** The part of the idle memory that is the supervisor's. */
  readonly supervisorMiB: number;
}

interface Setup {
  readonly title: string;
  readonly hasSupervisor: boolean;
  readonly headers: Readonly<Record<string, string>>;
  launch(): PinnedProcess & { readonly url: string };
  readonly samples: Sample[];
}

const MEBIBYTE = 1024 * 1024;
const SETTLE_MS = 500;
const LAUNCHERS = new Set(["taskset", "sh", "dash", "bash"]);
/** A process that was just created still has the command line of this one. */
const OWN_COMMAND = commandOf(process.pid).join(" ");

const flags = readFlags("bench:start", { rounds: 10, out: "" });
requireTools();
reserveGatewayCore();
const folder = temporaryFolder();
const provider = freePort();
startNginxProvider(folder, provider, OTHER_CORES);
const body = chatBody();

const setups = [startsNginx(), ...(await startsGatehouse())];
// The first start of each reads the files into the page cache.
for (let round = 0; round <= flags.rounds; round++) {
  for (const setup of setups) {
    const measured = await sample(setup);
    if (round > 0) setup.samples.push(measured);
  }
}
printGrid(
  `Start: ${flags.rounds} starts of each, medians (min–max)`,
  [
    "ready ms",
    "min–max",
    "launcher",
    "supervisor",
    "serving process",
    "CPU ms",
    "idle MiB",
    "of it supervisor",
  ],
  setups.map(({ title, samples, hasSupervisor }) => {
    const middle = (field: keyof Sample) => formatNumber(median(samples.map((each) => each[field])));
    const ready = samples.map(({ readyMs }) => readyMs);
    return {
      name: title,
      cells: [
        middle("readyMs"),
        `${formatNumber(Math.min(...ready))}–${formatNumber(Math.max(...ready))}`,
        middle("launcherMs"),
        hasSupervisor ? middle("supervisorMs") : "–",
        middle("servingMs"),
        middle("cpuMs"),
        middle("idleMiB"),
        hasSupervisor ? middle("supervisorMiB") : "–",
      ],
    };
  }),
);
saveResults("start", flags.out, { flags, starts: setups.map(({ title, samples }) => ({ title, samples })) });
process.exit(0);

function startsNginx(): Setup {
  return {
    title: "nginx",
    hasSupervisor: false,
    headers: {},
    samples: [],
    launch: () => {
      const port = freePort();
      return {
        ...startNginxProxy(folder, port, provider, GATEWAY_CORE),
        url: `http://127.0.0.1:${port}${CHAT_PATH}`,
      };
    },
  };
}

async function startsGatehouse(): Promise<Setup[]> {
  const url = `http://127.0.0.1:${provider}`;
  const [bare, full] = [join(folder, "bare"), join(folder, "full")];
  mkdirSync(bare);
  mkdirSync(full);
  await seedBare(bare, url);
  const key = await seedKeyed(full, url, "full");
  const setup = (title: string, dataDir: string, workers: number, headers = {}): Setup => ({
    title: `Gatehouse, ${title}`,
    hasSupervisor: workers > 1,
    headers,
    samples: [],
    launch: () => {
      const gatehouse = launchGatehouse({ dataDir, env: { WORKERS: String(workers) } });
      return { ...gatehouse, url: gatehouse.proxyUrl + CHAT_PATH };
    },
  });
  return [
    setup("bare", bare, 1),
    setup("full", full, 1, { "X-GW-API-Key": key }),
    setup("bare, WORKERS=2", bare, 2),
  ];
}

function isLaunched(pid: number): boolean {
  const command = commandOf(pid);
  const program = basename(command[0] ?? "");
  return program !== "" && command.join(" ") !== OWN_COMMAND && !LAUNCHERS.has(program);
}

async function sample(setup: Setup): Promise<Sample> {
  const started = setup.launch();
  try {
    const init = { method: "POST", headers: { "Content-Type": "application/json", ...setup.headers }, body };
    let isReady = false;
    const ready = untilReady(started.startedAt, started.url, init).finally(() => (isReady = true));
    let [launchedMs, forkedMs] = [0, 0];
    while (!isReady) {
      const now = performance.now() - started.startedAt;
      if (launchedMs === 0) launchedMs = isLaunched(started.pid) ? now : 0;
      // The launcher has child processes too.
      else if (forkedMs === 0 && setup.hasSupervisor && childrenOf(started.pid).length > 0) forkedMs = now;
      await Bun.sleep(1);
    }
    const readyMs = await ready;
    const { cpuMicroseconds } = usageOf(started.pid);
    await Bun.sleep(SETTLE_MS);
    return {
      readyMs,
      launcherMs: launchedMs,
      supervisorMs: forkedMs === 0 ? 0 : forkedMs - launchedMs,
      servingMs: readyMs - (forkedMs === 0 ? launchedMs : forkedMs),
      cpuMs: cpuMicroseconds / 1000,
      idleMiB: usageOf(started.pid).residentBytes / MEBIBYTE,
      supervisorMiB: setup.hasSupervisor ? residentBytesOf(started.pid) / MEBIBYTE : 0,
    };
  } finally {
    await started.stop();
  }
}
