// The event format that the provider and the client of the stream benchmark share.

/** Precedes the 16 digits of the time at which an event was sent; occurs nowhere else. */
export const STAMP_MARK = "~";
export const STAMP_DIGITS = 16;
export const DONE = "[DONE]";

/** Returns the wall-clock time in microseconds, which is comparable between processes. */
export function wallMicroseconds(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}
