// Calls the host of the gateway for a plugin that runs in an isolate.
import type { PluginHost } from "../../sdk/index.ts";

type Method = (...args: never[]) => unknown;

const METHODS: Readonly<Record<string, (host: PluginHost) => Method>> = {
  "counters.admit": ({ counters }) => counters.admit.bind(counters),
  "counters.peek": ({ counters }) => counters.peek.bind(counters),
  "counters.knownRejection": ({ counters }) => counters.knownRejection.bind(counters),
  "counters.clear": ({ counters }) => counters.clear.bind(counters),
  knownRefusal: (host) => host.knownRefusal.bind(host),
  "blocks.has": ({ blocks }) => blocks.has.bind(blocks),
  "blocks.add": ({ blocks }) => blocks.add.bind(blocks),
  log: (host) => host.log.bind(host),
};

/** Methods that change something outside of the isolate: a hook that has called one is not repeated. */
export const CHANGING_METHODS: ReadonlySet<string> = new Set([
  "counters.admit",
  "counters.clear",
  "blocks.add",
]);

/** Returns a value, or a promise of it. Throws if the plugin must not call the method. */
export function askHost(host: PluginHost, method: string, args: readonly unknown[]): unknown {
  const get = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (get === undefined) throw new Error(`host.${method} is not available to isolated plugins`);
  // The arguments are those of plugin code, which is not typed either.
  return get(host)(...(args as never[]));
}
