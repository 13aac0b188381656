// Recognizes media types in Content-Type fields.

const EVENT_STREAM = /^\s*text\/event-stream\s*(?:;|$)/i;

/** Whether a Content-Type is that of server-sent events, in any case and with any parameters. */
export function isEventStreamType(type: string | null): boolean {
  return type !== null && EVENT_STREAM.test(type);
}
