// Runs WORKERS processes that share the listening ports: starts them, replaces those that crash or hang, and forwards signals
// and messages.
import type { Subprocess } from "bun";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Settings } from "../config/settings.ts";
import type { Listening } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";
import { newService } from "../telemetry/siblings.ts";
import { CHECKS_PER_LIMIT, HeartbeatMonitor, type Hang } from "./heartbeat-monitor.ts";
import { ReplyKeeper } from "./kept-replies.ts";
import { readMainThread } from "./main-thread.ts";
import { awaitSignal, reportReload, type ReceivedSignal } from "./run-until-signal.ts";
import { printStartupSummary } from "./startup-summary.ts";
import { gatehouseCommand } from "./runtime-environment.ts";
import { hangFields, replacementEnvironment, restartEnvironment } from "./watchdog.ts";
import { serviceEnvironment, type WorkerMessage } from "./worker-channel.ts";

/** Stop restarting workers after MAX_CRASHES within CRASH_WINDOW_MS: another restart would not help. */
const MAX_CRASHES = 10;
const CRASH_WINDOW_MS = 10_000;
/** Exit code for errors that a restart would only repeat, such as wrong settings or a taken port. */
const USAGE_EXIT_CODE = 2;
/** Queries between workers time out after a second, so older ones can be forgotten. */
const MAX_PENDING_QUERIES = 1000;

/** Returns the number of this worker, counted from 1; null in a process without a supervisor. */
export function workerNumber(): number | null {
  const number = Number(process.env["GATEHOUSE_WORKER"]);
  return Number.isInteger(number) && number > 0 && process.send !== undefined ? number : null;
}

/** Resolves to the exit code once every worker has exited. */
export async function supervise(settings: Settings, args: readonly string[], log: Log): Promise<number> {
  const supervisor = new Supervisor(settings, args, log);
  const signal = awaitSignal({ onReload: () => supervisor.reload() });
  void signal.then((received) => supervisor.stop(received));
  return supervisor.run();
}

interface RunningWorker {
  readonly process: Subprocess;
  readonly monitor: HeartbeatMonitor;
  isListening: boolean;
  /** Heartbeats so far; null before the worker listens, because startup may take long. */
  beats: number | null;
  /** Set when the worker is killed because it hangs. */
  hang: Hang | null;
}

interface PendingQuery {
  readonly sender: number;
  /** Null if the replies are only forwarded. */
  readonly keptTopic: string | null;
}

class Supervisor {
  readonly #settings: Settings;
  readonly #args: readonly string[];
  readonly #log: Log;
  /** Outlives the workers, and so do the counters that are exported. */
  readonly #service = newService();
  readonly #running = new Map<number, RunningWorker>();
  /** How often each worker was replaced because it hung, since it last reported its metrics. */
  readonly #unreportedHangs = new Map<number, number>();
  /** Set once the first worker listens. That worker picks the port if the setting is 0; the others reuse it. */
  #listening: Listening | null = null;
  #crashTimes: readonly number[] = [];
  /** By query id. */
  readonly #pendingQueries = new BoundedCache<string, PendingQuery>(MAX_PENDING_QUERIES);
  readonly #kept = new ReplyKeeper();
  readonly #ended = Promise.withResolvers<number>();
  #exitCode: number | null = null;

  constructor(settings: Settings, args: readonly string[], log: Log) {
    this.#settings = settings;
    this.#args = args;
    this.#log = log;
  }

  run(): Promise<number> {
    this.#start(1);
    const { WATCHDOG_SECONDS } = this.#settings;
    if (WATCHDOG_SECONDS > 0)
      setInterval(() => this.#killHungWorkers(), (WATCHDOG_SECONDS * 1000) / CHECKS_PER_LIMIT).unref();
    return this.#ended.promise;
  }

  stop({ name, again }: ReceivedSignal): void {
    // A worker reloads on SIGHUP.
    const stopSignal = name === "SIGHUP" ? "SIGINT" : name;
    this.#endWith(0, stopSignal);
    void again.then(() => this.#signalAll(stopSignal));
  }

  /** A worker that starts reads everything anyway, and may not handle the signal yet. */
  reload(): void {
    reportReload(this.#log);
    for (const worker of this.#running.values()) if (worker.isListening) worker.process.kill("SIGHUP");
  }

  #start(number: number): void {
    const child = Bun.spawn(gatehouseCommand("serve", ...this.#args), {
      env: {
        ...replacementEnvironment(this.#listening),
        ...restartEnvironment({ restarts: this.#unreportedHangs.get(number) ?? 0 }),
        ...serviceEnvironment(this.#service),
        GATEHOUSE_WORKER: String(number),
      },
      stdio: ["ignore", "inherit", "inherit"],
      // A message of a worker that has ended must not be taken for one of its replacement.
      ipc: (message: WorkerMessage, sender) => {
        if (this.#running.get(number)?.process === sender) this.#onMessage(number, message);
      },
      onExit: (_, code, signal) => this.#onExit(number, code, signal),
    });
    const monitor = new HeartbeatMonitor(this.#settings.WATCHDOG_SECONDS * 1000);
    this.#running.set(number, { process: child, monitor, isListening: false, beats: null, hang: null });
  }

  #killHungWorkers(): void {
    for (const [number, worker] of this.#running) {
      if (worker.beats === null || worker.hang !== null) continue;
      worker.hang = worker.monitor.check(worker.beats, () => readMainThread(worker.process.pid));
      if (worker.hang === null) continue;
      worker.process.kill("SIGKILL");
      const fields = { worker: number, ...hangFields(worker.hang, this.#settings.WATCHDOG_SECONDS) };
      if (this.#exitCode === null) this.#log.error(fields, "worker hung; starting a replacement");
      else this.#log.error(fields, "worker hung while stopping; killed");
    }
  }

  #onMessage(number: number, message: WorkerMessage): void {
    const worker = this.#running.get(number);
    if (worker === undefined) return;
    if (message.kind === "heartbeat") worker.beats = (worker.beats ?? 0) + 1;
    else if (message.kind === "listening") this.#onListening(number, message.listening);
    else if (message.kind === "reply") this.#onReply(number, message.id, message.reply);
    else if (message.kind === "collect") {
      this.#keep(message.topic, number, message.own);
      const reply = this.#kept.collect(message.topic, number);
      this.#send({ kind: "reply", id: message.id, reply }, number);
    } else if (message.kind === "merged")
      this.#kept.replaceEnded(message.topic, message.version, message.reply);
    else {
      if (message.kind === "query") {
        const keptTopic = message.isKept === true ? message.topic : null;
        this.#pendingQueries.set(message.id, { sender: number, keptTopic });
      }
      for (const other of this.#running.keys()) if (other !== number) this.#send(message, other);
    }
  }

  #onReply(number: number, id: string, reply: unknown): void {
    const query = this.#pendingQueries.get(id);
    if (query === undefined) return;
    if (query.keptTopic !== null) this.#keep(query.keptTopic, number, reply);
    this.#send({ kind: "reply", id, reply: query.keptTopic === null ? reply : null }, query.sender);
  }

  #keep(topic: string, number: number, reply: unknown): void {
    this.#kept.keep(topic, number, reply);
    // The page of metrics that is kept contains the number of hangs that this worker was started with.
    this.#unreportedHangs.delete(number);
  }

  #send(message: WorkerMessage, to: number): void {
    const worker = this.#running.get(to);
    // An exiting worker can no longer receive messages.
    if (worker?.process.exitCode === null && !worker.process.killed) worker.process.send(message);
  }

  /** Starts the other workers: the first one has created the secret, the database, and the ports that they share. */
  #onListening(number: number, listening: Listening): void {
    this.#log.debug({ worker: number }, "worker listening");
    const worker = this.#running.get(number);
    if (worker !== undefined) worker.isListening = true;
    if (this.#listening !== null || this.#exitCode !== null) return;
    this.#listening = listening;
    printStartupSummary(listening, this.#settings);
    for (let other = 1; other <= this.#settings.WORKERS; other++)
      if (!this.#running.has(other)) this.#start(other);
  }

  #onExit(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    const hung = (this.#running.get(number)?.hang ?? null) !== null;
    this.#running.delete(number);
    this.#kept.endWorker(number);
    if (this.#exitCode === null) {
      if (hung) this.#replaceHung(number);
      else this.#replace(number, code, signal);
    }
    if (this.#exitCode !== null && this.#running.size === 0) this.#ended.resolve(this.#exitCode);
  }

  /** Not counted as a crash: hangs cannot be frequent, and one request could cause one in each of many workers. */
  #replaceHung(number: number): void {
    this.#unreportedHangs.set(number, (this.#unreportedHangs.get(number) ?? 0) + 1);
    this.#start(number);
  }

  #replace(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    if (code === USAGE_EXIT_CODE) {
      // The worker has printed the error.
      this.#endWith(USAGE_EXIT_CODE, "SIGTERM");
      return;
    }
    const now = performance.now();
    this.#crashTimes = [...this.#crashTimes.filter((at) => now - at < CRASH_WINDOW_MS), now];
    if (this.#crashTimes.length < MAX_CRASHES) {
      this.#log.error({ worker: number, code, signal }, "worker exited; starting a replacement");
      this.#start(number);
      return;
    }
    this.#log.fatal(
      { worker: number, code, signal, exits: MAX_CRASHES, seconds: CRASH_WINDOW_MS / 1000 },
      "workers exited too often; stopping, see the output above for the reason",
    );
    this.#endWith(1, "SIGTERM");
  }

  #endWith(exitCode: number, signal: NodeJS.Signals): void {
    this.#exitCode ??= exitCode;
    this.#signalAll(signal);
  }

  #signalAll(signal: NodeJS.Signals): void {
    for (const worker of this.#running.values()) worker.process.kill(signal);
  }
}
