// The requests of a gateway as they end: first those that are kept, then each new one, for as long as the page is open.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, query, request } from "../api/client.ts";
import { readEvents } from "../api/event-stream.ts";
import type { RequestRecord } from "../api/observed.ts";
import { signIns } from "./session.ts";

/** More than this nobody scrolls through, and the page stays light under any traffic. */
const MAX_ROWS = 500;
const FIRST_ROWS = 100;
const AGAIN_MS = 1500;
/** Under heavy traffic the page is drawn this often, not once a request. */
const DRAW_MS = 200;

export type Filters = Readonly<Record<string, string>>;

export interface LiveRequests {
  readonly records: readonly RequestRecord[];
  /** Came while paused, and are not shown yet. */
  readonly waiting: number;
  readonly isLive: boolean;
  /** Came faster than they could be shown, since the page was opened. */
  readonly dropped: number;
  readonly error: Error | undefined;
}

export function useLiveRequests(gateway: string, filters: Filters, isPaused: boolean): LiveRequests {
  const [records, setRecords] = useState<readonly RequestRecord[]>([]);
  const [waiting, setWaiting] = useState(0);
  const [isLive, setLive] = useState(false);
  const [dropped, setDropped] = useState(0);
  const [error, setError] = useState<Error>();
  const held = useRef<RequestRecord[]>([]);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const search = query(filters);

  useEffect(() => {
    const abort = new AbortController();
    const path = `/gateways/${encodeURIComponent(gateway)}/requests`;
    held.current = [];
    const flush = () => {
      if (paused.current) {
        setWaiting(held.current.length);
        return;
      }
      setWaiting(0);
      if (held.current.length === 0) return;
      const fresh = held.current.splice(0).reverse();
      setRecords((before) => withoutTwins([...fresh, ...before]).slice(0, MAX_ROWS));
    };
    const timer = setInterval(flush, DRAW_MS);
    const follow = async () => {
      // The stream first, then what is kept: nothing that ends in between is missed, and twins are dropped.
      const stream = await request("GET", `${path}/stream${search}`, { signal: abort.signal });
      const kept = await get<{ requests: readonly RequestRecord[] }>(
        `${path}${query({ ...filters, limit: FIRST_ROWS })}`,
        abort.signal,
      );
      setRecords(kept.requests);
      setError(undefined);
      setLive(true);
      if (stream.body === null) return;
      for await (const { event, data } of readEvents(stream.body)) {
        if (event === "dropped") {
          const { count } = JSON.parse(data) as { count: number };
          setDropped((before) => before + count);
        }
        if (event !== "request") continue;
        held.current.push(JSON.parse(data) as RequestRecord);
        if (held.current.length > MAX_ROWS) held.current.shift();
      }
    };
    const again = async () => {
      while (!abort.signal.aborted) {
        try {
          await follow();
        } catch (error) {
          if (abort.signal.aborted) return;
          setError(error instanceof Error ? error : new Error(String(error)));
          if (error instanceof ApiError && [400, 401, 404].includes(error.status)) return;
        } finally {
          setLive(false);
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void again();
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [gateway, search, signIns.value]);

  return { records, waiting, isLive, dropped, error };
}

function withoutTwins(records: readonly RequestRecord[]): RequestRecord[] {
  const seen = new Set<string>();
  return records.filter(({ request_id, time }) => {
    const mark = `${request_id} ${time}`;
    if (seen.has(mark)) return false;
    seen.add(mark);
    return true;
  });
}
