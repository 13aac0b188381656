// State of a form: the record being edited, and the API's error messages by field path.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, toError, type ErrorDetail } from "../api/client.ts";
import { confirmAction } from "./dialogs.ts";
import { isWithin, parsePath, valueAt, withValueAt } from "./json-path.ts";
import { setLeaveGuard } from "./router.tsx";

export interface Form<T extends object> {
  readonly value: T;
  readonly isBusy: boolean;
  /** The error of the last submit. */
  readonly error: Error | null;
  readonly details: readonly ErrorDetail[];
  get(path: string): unknown;
  set(path: string, value: unknown): void;
  /** Returns the error messages at this path; with `deep` also those of paths below it. */
  errorsAt(path: string, deep?: boolean): readonly string[];
  /** Runs the write and keeps its error. Resolves to true if it succeeded. */
  submit(write: (value: T) => Promise<unknown>): Promise<boolean>;
  /** Replaces all values by those of the stored record. Nothing is unsaved then. */
  reset(value: T): void;
  /** Changes with every reset. Fields with state of their own are keyed by it. */
  readonly resetCount: number;
}

interface FormOptions {
  /** Path of the record within the request body, such as `required_plugins[2]`. */
  readonly prefix?: string;
  /** Whether to ask before unsaved changes are lost. False for forms that save nothing. */
  readonly warnOnLeave?: boolean;
}

export function useForm<T extends object>(initial: T, options: FormOptions = {}): Form<T> {
  const { prefix = "", warnOnLeave = true } = options;
  const [value, setValue] = useState<T>(initial);
  const [details, setDetails] = useState<readonly ErrorDetail[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isSaved, setSaved] = useState(false);
  const [resetCount, setResetCount] = useState(0);
  const initialJson = useRef(JSON.stringify(initial));
  const isDirty = useMemo(() => JSON.stringify(value) !== initialJson.current, [value]) && !isSaved;
  useLeaveGuard(isDirty && warnOnLeave);

  return {
    value,
    isBusy,
    error,
    details,
    get: (path) => valueAt(value, parsePath(path)),
    set(path, next) {
      setValue((before) => withValueAt(before, parsePath(path), next) as T);
      // Hide the errors of a field as soon as it is edited.
      setDetails((before) => before.filter((detail) => !isWithin(detail.path, path)));
    },
    errorsAt: (path, deep = true) =>
      details
        .filter((detail) => (deep ? isWithin(detail.path, path) : detail.path === path))
        .map((detail) => detail.message),
    async submit(write) {
      setBusy(true);
      setError(null);
      setDetails([]);
      try {
        await write(value);
        setLeaveGuard(null);
        setSaved(true);
        return true;
      } catch (thrown) {
        setError(toError(thrown));
        if (thrown instanceof ApiError)
          setDetails(thrown.details.map((detail) => stripPrefix(prefix, detail)));
        return false;
      } finally {
        setBusy(false);
      }
    },
    reset(next) {
      initialJson.current = JSON.stringify(next);
      setValue(next);
      setError(null);
      setDetails([]);
      setResetCount((before) => before + 1);
    },
    resetCount,
  };
}

function stripPrefix(prefix: string, detail: ErrorDetail): ErrorDetail {
  if (prefix === "" || !isWithin(detail.path, prefix)) return detail;
  return { ...detail, path: detail.path.slice(prefix.length).replace(/^\./, "") };
}

function useLeaveGuard(isActive: boolean): void {
  // A layout effect runs with the change of the form. Other effects run after the next frame, and Back may be faster.
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    setLeaveGuard(() =>
      confirmAction({
        title: "Discard unsaved changes?",
        text: "Your changes on this page will be lost.",
        confirm: "Discard",
        isDangerous: true,
      }),
    );
    return () => {
      removeEventListener("beforeunload", warn);
      setLeaveGuard(null);
    };
  }, [isActive]);
}
