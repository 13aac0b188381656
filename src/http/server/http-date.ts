// The Date header field, formatted once per second.

let second = 0;
let line = "";

/** Returns the field with its line end. */
export function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    line = `Date: ${new Date(now * 1000).toUTCString()}\r\n`;
  }
  return line;
}
