// What the provider and the client of the stream benchmark agree on.

/** Stands before the 16 digits of the time at which an event was sent, and nowhere else. */
export const STAMP_MARK = "~";
export const STAMP_DIGITS = 16;
export const DONE = "[DONE]";

/** A clock that processes share, to the microsecond. */
export function wallMicroseconds(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}
