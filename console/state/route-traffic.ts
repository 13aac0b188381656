// Live traffic by rule and by target of a gateway, from the stream of its request log.
import { useEffect, useState } from "preact/hooks";
import { follow } from "./live-requests.ts";
import { RateWindow, type Rate } from "./route-rates.ts";
import { signInCount } from "./session.ts";

interface RouteTraffic {
  readonly rates: ReadonlyMap<string, Rate>;
  readonly isLive: boolean;
  /** Requests that the gateway left out because the page could not keep up. */
  readonly droppedCount: number;
  readonly error: Error | undefined;
}

export function useRouteTraffic(gateway: string): RouteTraffic {
  const [rates, setRates] = useState<ReadonlyMap<string, Rate>>(new Map());
  const [isLive, setLive] = useState(false);
  const [droppedCount, setDroppedCount] = useState(0);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const abort = new AbortController();
    const counts = new RateWindow();
    const timer = setInterval(() => setRates(counts.tick()), 1000);
    void follow(gateway, {}, abort.signal, {
      onLoaded: () => {
        setError(undefined);
        setLive(true);
      },
      onRequest: (record) => counts.add(record),
      onDropped: (count) => setDroppedCount((before) => before + count),
      onDisconnected: () => setLive(false),
      onError: setError,
    });
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [gateway, signInCount.value]);
  return { rates, isLive, droppedCount, error };
}
