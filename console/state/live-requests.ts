// Follows the request log of a gateway: loads the stored requests, then adds each new one while the page is open.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, request, toError, toQueryString } from "../api/client.ts";
import { readEvents } from "../api/event-stream.ts";
import type { RequestRecord } from "../api/item-types.ts";
import type { RequestList } from "../api/types.ts";
import { signInCount } from "./session.ts";

/** Upper bound of rows, which keeps the page responsive under any traffic. */
const MAX_ROWS = 500;
const FIRST_ROWS = 200;
const RETRY_MS = 1500;
/** New rows are rendered in batches at this interval, not one by one. */
const RENDER_INTERVAL_MS = 200;

type Filters = Readonly<Record<string, string>>;

interface LiveRequests {
  readonly records: readonly RequestRecord[];
  /** Requests that arrived while paused and are not shown yet. */
  readonly pendingCount: number;
  /** Number of matching requests in the log of the gateway when it was read. */
  readonly storedCount: number;
  readonly isLive: boolean;
  /** Requests that the gateway skipped because the page could not keep up. */
  readonly droppedCount: number;
  readonly error: Error | undefined;
}

interface Listener {
  readonly onLoaded: (records: readonly RequestRecord[], count: number) => void;
  readonly onRequest: (record: RequestRecord) => void;
  readonly onDropped: (count: number) => void;
  readonly onDisconnected: () => void;
  readonly onError: (error: Error) => void;
}

export function useLiveRequests(gateway: string, filters: Filters, isPaused: boolean): LiveRequests {
  const [records, setRecords] = useState<readonly RequestRecord[]>([]);
  const [pendingCount, setPendingCount] = useState(0);
  const [storedCount, setStoredCount] = useState(0);
  const [isLive, setLive] = useState(false);
  const [droppedCount, setDroppedCount] = useState(0);
  const [error, setError] = useState<Error>();
  const paused = useRef(isPaused);
  paused.current = isPaused;

  useEffect(() => {
    const abort = new AbortController();
    const buffer: RequestRecord[] = [];
    const flush = () => {
      setPendingCount(paused.current ? buffer.length : 0);
      if (paused.current || buffer.length === 0) return;
      const added = buffer.splice(0).reverse();
      setRecords((before) => withoutDuplicates([...added, ...before]).slice(0, MAX_ROWS));
    };
    const timer = setInterval(flush, RENDER_INTERVAL_MS);
    void follow(gateway, filters, abort.signal, {
      onLoaded: (stored, count) => {
        setRecords(stored);
        setStoredCount(count);
        setError(undefined);
        setLive(true);
      },
      onRequest: (record) => {
        buffer.push(record);
        if (buffer.length > MAX_ROWS) buffer.shift();
      },
      onDropped: (count) => setDroppedCount((before) => before + count),
      onDisconnected: () => setLive(false),
      onError: setError,
    });
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [gateway, toQueryString(filters), signInCount.value]);

  return { records, pendingCount, storedCount, isLive, droppedCount, error };
}

/** Reads the log and reconnects until aborted or until the API rejects the request. */
export async function follow(
  gateway: string,
  filters: Filters,
  signal: AbortSignal,
  listener: Listener,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await readLog(gateway, filters, signal, listener);
    } catch (error) {
      if (signal.aborted) return;
      listener.onError(toError(error));
      if (error instanceof ApiError && [400, 401, 404].includes(error.status)) return;
    } finally {
      listener.onDisconnected();
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readLog(
  gateway: string,
  filters: Filters,
  signal: AbortSignal,
  listener: Listener,
): Promise<void> {
  const path = `/gateways/${encodeURIComponent(gateway)}/requests`;
  // Open the stream before reading the stored requests: a request that ends in between would be missed otherwise. One that
  // is in both is removed as a duplicate.
  const stream = await request("GET", `${path}/stream${toQueryString(filters)}`, { signal });
  const stored = await get<RequestList>(`${path}${toQueryString({ ...filters, limit: FIRST_ROWS })}`, signal);
  listener.onLoaded(stored.requests, stored.count);
  if (stream.body === null) return;
  for await (const { event, data } of readEvents(stream.body)) {
    if (event === "dropped") listener.onDropped((JSON.parse(data) as { count: number }).count);
    if (event === "request") listener.onRequest(JSON.parse(data) as RequestRecord);
  }
}

function withoutDuplicates(records: readonly RequestRecord[]): RequestRecord[] {
  const seen = new Set<string>();
  return records.filter(({ request_id, time }) => {
    const id = `${request_id} ${time}`;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
