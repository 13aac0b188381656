// Takes large strings out of a message between threads, and puts them back. A string within an object is copied, which takes 4 to 6 ms
// per million characters on each side. Strings in an array of nothing else are shared, and take no time.

/** Copying a shorter string takes less time than another message. */
export const LARGE_LENGTH = 65_536;
/** Strings at deeper levels are copied. */
const MAX_DEPTH = 8;

/** Keys and indices from the outermost value to a string. */
export type StringPlace = readonly (string | number)[];

interface Detached {
  /** The value without its large strings. It shares the parts that have none with the original, which is not changed. */
  readonly value: unknown;
  readonly strings: string[];
  /** Of each string. */
  readonly places: StringPlace[];
}

/** Strings in objects of other classes than arrays and plain objects are left where they are. */
export function detachStrings(value: unknown): Detached {
  const strings: string[] = [];
  const places: StringPlace[] = [];
  const place: (string | number)[] = [];
  const detach = (from: unknown): unknown => {
    if (typeof from === "string") {
      if (from.length < LARGE_LENGTH) return from;
      strings.push(from);
      places.push([...place]);
      return "";
    }
    if (place.length >= MAX_DEPTH || !isContainer(from)) return from;
    let copy: Container | null = null;
    for (const [key, child] of Object.entries(from)) {
      place.push(key);
      const detached = detach(child);
      place.pop();
      if (detached === child) continue;
      copy ??= Array.isArray(from) ? [...from] : { ...from };
      (copy as Record<string, unknown>)[key] = detached;
    }
    return copy ?? from;
  };
  return { value: detach(value), strings, places };
}

/** Returns the value with its strings. Changes the value. */
export function attachStrings(
  value: unknown,
  strings: readonly string[],
  places: readonly StringPlace[],
): unknown {
  let attached = value;
  for (const [index, place] of places.entries()) {
    const last = place.at(-1);
    if (last === undefined) attached = strings[index];
    else {
      let holder = attached as Record<string | number, unknown>;
      for (const key of place.slice(0, -1)) holder = holder[key] as Record<string | number, unknown>;
      holder[last] = strings[index];
    }
  }
  return attached;
}

type Container = unknown[] | Record<string, unknown>;

function isContainer(value: unknown): value is Container {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
