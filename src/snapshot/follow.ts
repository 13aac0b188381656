// Follows the store: takes over what other processes write within a second, and tells whether the store is there.
import type { Health } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log.ts";
import { StoreRefused } from "../store/store.ts";
import type { CurrentConfiguration } from "./current.ts";

const POLL_MS = 400;

/** Polls until `signal` aborts. Only a store that refuses this process for good ends it with an error. */
export async function followStore(
  current: CurrentConfiguration,
  health: Health,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await current.refresh();
      if (health.store.state !== "ok") log.info({ revision: health.revision }, "the store is there");
      health.store = { state: "ok" };
    } catch (fault) {
      if (fault instanceof StoreRefused) throw fault;
      const detail = fault instanceof Error ? fault.message : String(fault);
      if (health.store.detail !== detail) log.warn({ err: fault }, `the store is away: ${detail}`);
      health.store = { state: "away", detail };
    }
    // Jitter keeps many nodes from asking at the same moment.
    await pause(POLL_MS * (0.75 + Math.random() / 2), signal);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
