// The texts of a request body of any kind: JSON, lines of JSON, forms, and plain text. What is neither of these and no media is unreadable, so
// that no content type is a way around an inspection.
import { indexOfByte } from "../base/byte-search.ts";
import { isJsonText } from "../base/json.ts";
import { isUtf8 } from "node:buffer";
import { isMediaFile } from "../base/text-bytes.ts";
import { RequestTexts } from "../formats/request-texts.ts";
import { namesOtherCharset } from "../http/charset.ts";
import { isJsonType, isMultipart, isUrlEncoded } from "../http/media-type.ts";
import type { BodyTexts } from "./body-text-list.ts";
import type { PluginResponse } from "./contexts.ts";
import { readMultipartTexts, readUrlEncodedTexts } from "./form-texts.ts";
import { readJsonLines, readPlainText } from "./plain-texts.ts";

/** How JSON begins that is an object, a list or a string, after a byte order mark. Numbers have no text. */
const JSON_START = /^(?:\xef\xbb\xbf)?[ \t\r\n]*[{["]/;
const MAX_START = 1024;

export function readBodyTexts(body: Uint8Array, contentType: string | null): BodyTexts {
  if (body.byteLength === 0) return emptyTexts(body, null);
  if (contentType !== null && namesOtherCharset(contentType))
    return emptyTexts(body, "a body in another charset than UTF-8");
  const isForm = isMultipart(contentType);
  if (isUrlEncoded(contentType))
    return (isForm ? null : readUrlEncodedTexts(body)) ?? emptyTexts(body, "a form that cannot be read");
  if (isForm)
    return readMultipartTexts(body, contentType) ?? emptyTexts(body, "a form that cannot be read for sure");
  // The gateway has validated it.
  if (isJsonType(contentType))
    return RequestTexts.read(body) ?? emptyTexts(body, "a body that is no valid JSON");
  return readUndeclared(body, (contentType ?? "").trim().toLowerCase());
}

/** The response of a guard to a request whose texts it cannot read. */
export function unreadableResponse(plugin: string, unreadable: string): PluginResponse {
  return {
    status: 403,
    body: {
      error: `The plugin ${plugin} of the gateway cannot inspect ${unreadable} (transport body). Send valid JSON, a form, or text in UTF-8.`,
      code: "guard_not_applicable",
    },
  };
}

/** Servers may read JSON in spite of its content type, and in UTF-16 and UTF-32, too. */
function readUndeclared(body: Uint8Array, type: string): BodyTexts {
  if (isMediaFile(type, body)) return emptyTexts(body, null);
  // Latin text in UTF-16 and UTF-32 is UTF-8, too: with zeros, which no text has.
  if (!isUtf8(body) || indexOfByte(body, 0, 0) >= 0)
    return emptyTexts(body, "a body that is neither text in UTF-8 nor an image, audio, video or PDF");
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, MAX_START));
  if (JSON_START.test(start.toString("latin1"))) {
    const text = new TextDecoder().decode(body);
    const json = isJsonText(text) ? RequestTexts.read(body) : readJsonLines(body, text);
    if (json !== null) return json;
    if (!text.trimStart().startsWith('"'))
      return emptyTexts(body, "a body that begins as JSON and is no valid JSON");
  }
  return readPlainText(body);
}

function emptyTexts(body: Uint8Array, unreadable: string | null): BodyTexts {
  return { texts: [], identifiers: [], keptConversation: null, unreadable, replace: () => body };
}
