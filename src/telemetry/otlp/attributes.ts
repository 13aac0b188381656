// Writes attributes and the resource of OTLP messages. Texts are redacted.
import { redact } from "../log/redact.ts";
import type { ResourceAttributes } from "./otlp-settings.ts";
import type { ProtobufWriter } from "./protobuf-writer.ts";

/** Field numbers from opentelemetry/proto. */
const RESOURCE = { attributes: 1 };
const SCOPE = { name: 1, version: 2 };
const ATTRIBUTE = { key: 1, value: 2 };
const VALUE = { text: 1, number: 3, double: 4, list: 5 };
const LIST = { values: 1 };

export function writeResource(write: ProtobufWriter, field: number, resource: ResourceAttributes): void {
  const message = write.begin(field);
  for (const [key, value] of Object.entries(resource)) writeText(write, RESOURCE.attributes, key, value);
  write.end(message);
}

export function writeScope(write: ProtobufWriter, field: number, version: string): void {
  const message = write.begin(field);
  write.text(SCOPE.name, "gatehouse");
  write.text(SCOPE.version, version);
  write.end(message);
}

export function writeText(
  write: ProtobufWriter,
  field: number,
  key: string,
  value: string | null | undefined,
): void {
  if (value === null || value === undefined) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const wrapped = write.begin(ATTRIBUTE.value);
  write.text(VALUE.text, redact(value));
  write.end(wrapped);
  write.end(attribute);
}

export function writeNumber(write: ProtobufWriter, field: number, key: string, value: number | null): void {
  if (value === null) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const wrapped = write.begin(ATTRIBUTE.value);
  write.number(VALUE.number, Math.round(value));
  write.end(wrapped);
  write.end(attribute);
}

export function writeDouble(write: ProtobufWriter, field: number, key: string, value: number | null): void {
  if (value === null) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const wrapped = write.begin(ATTRIBUTE.value);
  write.double(VALUE.double, value);
  write.end(wrapped);
  write.end(attribute);
}

/** Writes nothing if there are no texts. */
export function writeTexts(
  write: ProtobufWriter,
  field: number,
  key: string,
  texts: readonly string[],
): void {
  if (texts.length === 0) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const wrapped = write.begin(ATTRIBUTE.value);
  const list = write.begin(VALUE.list);
  for (const text of texts) {
    const value = write.begin(LIST.values);
    write.text(VALUE.text, redact(text));
    write.end(value);
  }
  write.end(list);
  write.end(wrapped);
  write.end(attribute);
}
