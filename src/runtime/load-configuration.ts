// Loads the configuration and the plugins that it is compiled with, and keeps both up to date until stopped.
import type { Clock } from "../base/clock.ts";
import { BalanceRegistry } from "../balance/balance-registry.ts";
import { SettingsError, type Settings } from "../config/settings.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { CustomPlugins } from "../plugins/custom-plugins.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import { DecryptionError } from "../store/credential-cipher.ts";
import { isDamaged } from "../store/store-error.ts";
import { StoreRejected } from "../store/store.ts";
import type { Health } from "../telemetry/health.ts";
import type { TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import type { Log } from "../telemetry/log/log.ts";
import { Blocks } from "./blocks.ts";
import { CurrentConfiguration } from "./current-configuration.ts";
import { followStore } from "./follow-store.ts";
import type { Storage } from "./open-storage.ts";
import { shareShadow, type ShadowSource } from "./shadow-source.ts";
import type { Siblings } from "../telemetry/siblings.ts";
import { SilentServers } from "../mcp/silent-servers.ts";
import { describeSilences } from "./mcp-silences.ts";
import { StoredToolPins } from "./stored-tool-pins.ts";
import { Isolation } from "./isolation/isolation.ts";
import { PluginHosts } from "./plugin-hosts.ts";

export interface Configuration {
  readonly current: CurrentConfiguration;
  readonly registry: PluginRegistry;
  readonly blocks: Blocks;
  readonly shareShadow: (siblings: Siblings) => ShadowSource;
  readonly toolPins: StoredToolPins;
  readonly silentServers: SilentServers;
  readonly pluginRestarts: Isolation["restarts"];
  /** Rejects when the store rejects this process permanently; never resolves. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export async function loadConfiguration(
  settings: Settings,
  { store, ledger, databaseUrl, responses }: Storage,
  health: Health,
  log: Log,
  offLoop: OffLoop,
  credentials: TargetCredentials,
  clock: Clock,
): Promise<Configuration> {
  const registry = new PluginRegistry();
  const blocks = new Blocks(store, ledger, settings.MAX_BLOCKS, log, clock);
  const toolPins = new StoredToolPins(store, log, clock);
  const silentServers = new SilentServers(clock);
  const isolation = new Isolation(settings, registry, log, clock);
  health.faultyPlugins = () => isolation.faults();
  const hosts = new PluginHosts(ledger, blocks, log, offLoop, clock, responses, isolation);
  const compile = { plugins: registry, balance: new BalanceRegistry(), credentials, instances: hosts };
  const current = new CurrentConfiguration(store, compile, health, log);
  health.silentMcpServers = () => describeSilences(silentServers, current);
  const recompile = (name: string) => void current.recompilePlugin(name);
  const customPlugins = new CustomPlugins(settings.PLUGINS_DIR, registry, log, recompile);
  await customPlugins.start();
  // A client that connects right after the start should find the configuration loaded and the plugins ready. An embedded
  // database that cannot be opened ends the start; a database server may become available later.
  // Blocks and approved tools are loaded first, so that no request is served without them.
  const refresh = async () => {
    await blocks.refresh();
    await toolPins.load();
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
    await hosts.stop();
    blocks.stop();
    await toolPins.close();
    isolation.close();
  };
  return {
    current,
    registry,
    blocks,
    shareShadow: (siblings) => shareShadow(hosts, siblings),
    toolPins,
    silentServers,
    pluginRestarts: () => isolation.restarts(),
    failed: following.then(() => new Promise<never>(() => undefined)),
    stop,
  };
}

function rejectEmbeddedDatabase(error: unknown, { DATABASE_URL, DATA_DIR }: Settings): never {
  if (error instanceof StoreRejected || error instanceof DecryptionError) throw error;
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.?$/, ".");
  const place = DATABASE_URL === null ? `DATA_DIR ${DATA_DIR}` : `DATABASE_URL ${DATABASE_URL}`;
  const fix = isDamaged(error) ? "Restore a backup of the database" : "Make it writable";
  throw new SettingsError(`${place} cannot hold the database: ${reason} ${fix}, or choose another.`);
}
