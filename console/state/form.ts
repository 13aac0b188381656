// A form: the record as it is being written, and what the API said about it, by the place of each fault.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, type Detail } from "../api/client.ts";
import { ask } from "./dialogs.ts";
import { isWithin, stepsOf, valueAt, withValueAt } from "./json-path.ts";
import { guardLeaving } from "./router.tsx";

export interface Form<T extends object> {
  readonly value: T;
  readonly isDirty: boolean;
  readonly isBusy: boolean;
  /** What went wrong as a whole, in the API's words. */
  readonly fault: Error | null;
  readonly details: readonly Detail[];
  get(path: string): unknown;
  set(path: string, value: unknown): void;
  replace(value: T): void;
  /** The faults at this place; with `deep` also those of anything within it. */
  faultsAt(path: string, deep?: boolean): readonly string[];
  /** Runs the write; its faults become those of the form. True when it went through. */
  submit(write: (value: T) => Promise<unknown>): Promise<boolean>;
}

export interface FormOptions {
  /** Where the record stands within what is sent, as in `required_plugins[2]`. */
  readonly prefix?: string;
  /** False for a form that saves nothing: leaving it loses nothing. */
  readonly isGuarded?: boolean;
}

export function useForm<T extends object>(initial: T, options: FormOptions = {}): Form<T> {
  const { prefix = "", isGuarded = true } = options;
  const [value, setValue] = useState<T>(initial);
  const [details, setDetails] = useState<readonly Detail[]>([]);
  const [fault, setFault] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const start = useRef(JSON.stringify(initial));
  const isDirty = useMemo(() => JSON.stringify(value) !== start.current, [value]) && !isDone;
  useLeaveGuard(isDirty && isGuarded);

  return {
    value,
    isDirty,
    isBusy,
    fault,
    details,
    get: (path) => valueAt(value, stepsOf(path)),
    set(path, next) {
      setValue((before) => withValueAt(before, stepsOf(path), next) as T);
      // What is being mended is not shown as wrong any more.
      setDetails((before) => before.filter((detail) => !isWithin(detail.path, path)));
    },
    replace(next) {
      setValue(next);
      setDetails([]);
    },
    faultsAt: (path, deep = true) =>
      details
        .filter((detail) => (deep ? isWithin(detail.path, path) : detail.path === path))
        .map((detail) => detail.message),
    async submit(write) {
      setBusy(true);
      setFault(null);
      setDetails([]);
      try {
        await write(value);
        guardLeaving(null);
        setDone(true);
        return true;
      } catch (error) {
        setFault(error instanceof Error ? error : new Error(String(error)));
        if (error instanceof ApiError) setDetails(error.details.map((detail) => without(prefix, detail)));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}

function without(prefix: string, detail: Detail): Detail {
  if (prefix === "" || !isWithin(detail.path, prefix)) return detail;
  return { ...detail, path: detail.path.slice(prefix.length).replace(/^\./, "") };
}

function useLeaveGuard(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    guardLeaving(() =>
      ask({
        title: "Leave without saving?",
        text: "What you changed on this page will be lost.",
        confirm: "Leave",
        isDangerous: true,
      }),
    );
    return () => {
      removeEventListener("beforeunload", warn);
      guardLeaving(null);
    };
  }, [isDirty]);
}
