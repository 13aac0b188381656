// Parts of OTLP spans that all spans have.
import { redact } from "../log/redact.ts";
import { ProtobufWriter } from "../otlp/protobuf-writer.ts";
import type { RequestFacts } from "../requests/request-facts.ts";

/** Field numbers from opentelemetry/proto. */
export const SPAN = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  status: 15,
};
const STATUS = { code: 3 };
export const INTERNAL = 1;
export const SERVER = 2;
export const CLIENT = 3;
const ERROR = 2;

const commonWriter = new ProtobufWriter();

/** Returns the name, the kind, the attributes, and the status of a span. */
export function encodeCommonPart(
  name: string,
  kind: number,
  hasFailed: boolean,
  writeAttributes: (write: ProtobufWriter) => void,
): Uint8Array {
  commonWriter.clear();
  commonWriter.text(SPAN.name, redact(name));
  commonWriter.number(SPAN.kind, kind);
  writeAttributes(commonWriter);
  const status = commonWriter.begin(SPAN.status);
  if (hasFailed) commonWriter.number(STATUS.code, ERROR);
  commonWriter.end(status);
  return commonWriter.take();
}

/** Converts monotonic times to wall-clock times with the offset at the end of the request. */
export function writeSpanTimes(
  writer: ProtobufWriter,
  { endedAt, endedWallMs }: RequestFacts,
  from: number,
  to: number,
): void {
  const offset = endedWallMs - endedAt;
  writer.nanoseconds(SPAN.start, Math.round((offset + from) * 1000));
  writer.nanoseconds(SPAN.end, Math.round((offset + to) * 1000));
}
