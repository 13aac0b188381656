// Loads what a page shows, again when the gateway came back or someone signed in, and drops what comes too late.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { revivals } from "./connection.ts";
import { signIns } from "./session.ts";

export interface Loaded<T> {
  /** What came last; kept while it is loaded again, so that the page does not flicker. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; isLoading: boolean }>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ data, isLoading: false });
      },
      (fault: unknown) => {
        if (abort.signal.aborted) return;
        const error = fault instanceof Error ? fault : new Error(String(fault));
        setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...dependencies, turn, revivals.value, signIns.value]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

/** The same, again and again while the page is seen. */
export function usePoll<T>(
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number,
  dependencies: readonly unknown[],
): Loaded<T> {
  const loaded = useLoad(load, dependencies);
  const { reload, isLoading, error } = loaded;
  // A part of the API that is not there will not come within seconds.
  const isHopeless = error instanceof ApiError && error.status === 404;
  useEffect(() => {
    if (isLoading || isHopeless) return undefined;
    const timer = setTimeout(() => {
      if (!document.hidden) reload();
    }, everyMs);
    const onSight = () => {
      if (!document.hidden) reload();
    };
    document.addEventListener("visibilitychange", onSight);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onSight);
    };
  }, [isLoading, isHopeless, everyMs, reload]);
  return loaded;
}
