// Loads the data of a page, and reloads it after a reconnect or sign-in. Ignores responses of superseded loads.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, toError } from "../api/client.ts";
import { reconnectCount } from "./connection.ts";
import { signInCount } from "./session.ts";

export interface Loaded<T> {
  /** The last loaded data. It is kept during a reload, so that the page does not flicker. */
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
  const [reloadCount, setReloadCount] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ data, isLoading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted)
          setState((before) => ({ ...before, error: toError(error), isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...dependencies, reloadCount, reconnectCount.value, signInCount.value]);
  const reload = useCallback(() => setReloadCount((before) => before + 1), []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

/** Like `useLoad`, and reloads at an interval while the page is visible; never if it is null. */
export function usePoll<T>(
  load: (signal: AbortSignal) => Promise<T>,
  intervalMs: number | null,
  dependencies: readonly unknown[],
): Loaded<T> {
  const loaded = useLoad(load, dependencies);
  const { reload, isLoading, error } = loaded;
  // Polling cannot help if the resource does not exist.
  const isMissing = error instanceof ApiError && error.status === 404;
  useEffect(() => {
    if (intervalMs === null || isLoading || isMissing) return undefined;
    const timer = setTimeout(() => {
      if (!document.hidden) reload();
    }, intervalMs);
    const onVisibilityChange = () => {
      if (!document.hidden) reload();
    };
    document.addEventListener("visibilitychange", onVisibilityChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisibilityChange);
    };
  }, [isLoading, isMissing, intervalMs, reload]);
  return loaded;
}
