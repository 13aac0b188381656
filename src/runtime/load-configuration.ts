// Loads the configuration and the plugins that it is compiled with, and keeps both up to date until stopped.
import type { Clock } from "../base/clock.ts";
import { BalanceRegistry } from "../balance/balance-registry.ts";
import { SettingsError, type Settings } from "../config/settings.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { CustomPlugins } from "../plugins/custom-plugins.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import { DecryptionError } from "../store/credential-cipher.ts";
import { StoreRejected } from "../store/store.ts";
import type { Health } from "../telemetry/health.ts";
import type { TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import type { Log } from "../telemetry/log/log.ts";
import { Blocks } from "./blocks.ts";
import { CurrentConfiguration } from "./current-configuration.ts";
import { followStore } from "./follow-store.ts";
import type { Storage } from "./open-storage.ts";
import { PluginHosts } from "./plugin-hosts.ts";

export interface Configuration {
  readonly current: CurrentConfiguration;
  readonly registry: PluginRegistry;
  readonly blocks: Blocks;
  /** Rejects when the store rejects this process permanently; never resolves. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export async function loadConfiguration(
  settings: Settings,
  { store, ledger, databaseUrl }: Storage,
  health: Health,
  log: Log,
  offLoop: OffLoop,
  credentials: TargetCredentials,
  clock: Clock,
): Promise<Configuration> {
  const registry = new PluginRegistry();
  const blocks = new Blocks(store, ledger, settings.MAX_BLOCKS, log, clock);
  const hosts = new PluginHosts(ledger, blocks, log, offLoop, clock);
  const compile = { plugins: registry, balance: new BalanceRegistry(), credentials, instances: hosts };
  const current = new CurrentConfiguration(store, compile, health, log);
  const customPlugins = new CustomPlugins(settings.PLUGINS_DIR, registry, log, (name) =>
    current.recompilePlugin(name),
  );
  await customPlugins.start();
  // A client that connects right after the start should find the configuration loaded and the plugins ready. An embedded
  // database that cannot be opened ends the start; a database server may become available later.
  // Blocks are loaded first, so that no request is served without them.
  const refresh = async () => {
    await blocks.refresh();
    await current.refresh();
  };
  await refresh().catch((error: unknown) => {
    if (databaseUrl.startsWith("sqlite:")) rejectEmbeddedDatabase(error, settings);
  });
  await hosts.ready();
  const stopFollowing = new AbortController();
  const following = followStore({ store, refresh }, health, log, stopFollowing.signal, clock);
  const stop = async () => {
    stopFollowing.abort();
    await following.catch(() => undefined);
    customPlugins.stop();
    blocks.stop();
  };
  return {
    current,
    registry,
    blocks,
    failed: following.then(() => new Promise<never>(() => undefined)),
    stop,
  };
}

function rejectEmbeddedDatabase(error: unknown, { DATABASE_URL, DATA_DIR }: Settings): never {
  if (error instanceof StoreRejected || error instanceof DecryptionError) throw error;
  const reason = error instanceof Error ? error.message : String(error);
  const place = DATABASE_URL === null ? `DATA_DIR ${DATA_DIR}` : `DATABASE_URL ${DATABASE_URL}`;
  throw new SettingsError(
    `${place} cannot hold the database: ${reason} Make it writable, or choose another.`,
  );
}
