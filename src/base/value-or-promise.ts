// Results that are a plain value when nothing has to be awaited and a promise otherwise. Awaiting a plain value costs a
// turn of the microtask queue and a promise, which is measurable when every request pays it.

export type ValueOrPromise<T> = T | Promise<T>;

export function isPromise<T>(value: ValueOrPromise<T>): value is Promise<T> {
  return value instanceof Promise;
}

/** Whether `await` would wait for a value of unknown origin: code that is not ours may return any object with `then`. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    "then" in value &&
    typeof value.then === "function"
  );
}
