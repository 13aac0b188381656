// The recent log lines of all worker processes that share the listeners.
import { newId } from "../../base/ids.ts";
import type { Siblings } from "../siblings.ts";
import type { LogLevel } from "./log-levels.ts";
import { mergeLines, type LogListener, type LogSource, type RecentLine } from "./recent-log.ts";

interface LinesQuery {
  readonly level: LogLevel;
  readonly limit: number;
}

/** A client of another worker follows the log. A null level ends the subscription. */
interface FollowMessage {
  readonly id: string;
  readonly level: LogLevel | null;
}

interface FollowedLine {
  readonly id: string;
  readonly line: RecentLine;
}

export function shareLog(own: LogSource, siblings: Siblings): LogSource {
  const listeners = new Map<string, LogListener>();
  const stops = new Map<string, () => void>();
  siblings.onQuery("log lines", (query) => {
    const { level, limit } = query as LinesQuery;
    return own.listLines(level, limit);
  });
  siblings.subscribe("follow log", (message) => {
    const { id, level } = message as FollowMessage;
    stops.get(id)?.();
    stops.delete(id);
    if (level === null) return;
    const onLine = (line: RecentLine) =>
      siblings.publish("followed line", { id, line } satisfies FollowedLine);
    const stop = own.followLines({ level, onLine, onClose: () => stops.delete(id) });
    if (stop !== null) stops.set(id, stop);
  });
  siblings.subscribe("followed line", (message) => {
    const { id, line } = message as FollowedLine;
    listeners.get(id)?.onLine(line);
  });
  return {
    listLines: async (level, limit) => {
      const others = await siblings.query("log lines", { level, limit } satisfies LinesQuery);
      return mergeLines([await own.listLines(level, limit), ...(others as RecentLine[][])], limit);
    },
    followLines: (listener) => {
      const stop = own.followLines(listener);
      if (stop === null) return null;
      const id = newId();
      listeners.set(id, listener);
      siblings.publish("follow log", { id, level: listener.level } satisfies FollowMessage);
      return () => {
        stop();
        listeners.delete(id);
        siblings.publish("follow log", { id, level: null } satisfies FollowMessage);
      };
    },
  };
}
