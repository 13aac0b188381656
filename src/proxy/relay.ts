// Hands a provider's answer to the client: bytes as they came, or put into another wire format, at the client's pace.
import { isEventStream, verdictOf, type Answer } from "./answer.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import { answeredHeaders } from "./header-filter.ts";
import { translateWhole, translateStream, type StreamTranslation } from "./translate-answer.ts";

const RESET_DELAY_MS = 25;

/** `onEnd` is called exactly once, when the last byte is on its way or none will come. */
export function relay(
  exchange: Exchange,
  answer: Answer,
  onEnd: (outcome: Outcome, status: number) => void,
): Response {
  const { response, report } = answer;
  exchange.answer = answer;
  const { status } = response;
  const headers = headersFor(exchange, answer);
  const end = (outcome: Outcome) => {
    const verdict =
      outcome === "complete" ? verdictOf(status) : outcome === "client_left" ? "neutral" : "failed";
    report.end(verdict);
    onEnd(outcome, status);
  };
  if (answer.isTranslated && hasBody(answer) && !isEventStream(response)) {
    const body = translateOrEnd(answer, end);
    return new Response(body, { status, headers });
  }
  if (answer.reader === null) {
    end("complete");
    return new Response(asBody(answer.body, headers), { status, headers });
  }
  const translation = answer.isTranslated ? translateStream(exchange) : null;
  return new Response(relayStream(answer.reader, translation, end), { status, headers });
}

function translateOrEnd(answer: Answer, end: (outcome: Outcome) => void): string {
  try {
    const body = translateWhole(answer);
    end("complete");
    return body;
  } catch (fault) {
    // Nothing has gone to the client yet: the fault is told as an error, and logged with it.
    answer.report.end("failed");
    throw fault;
  }
}

function relayStream(
  reader: NonNullable<Answer["reader"]>,
  translation: StreamTranslation | null,
  end: (outcome: Outcome) => void,
): ReadableStream {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          for (;;) {
            const chunk = await reader.next();
            if (chunk === null) {
              const ending = translation?.ending() ?? "complete";
              if (ending === "broken") throw new Error("the stream ended before its end");
              // An error that the provider told in its stream has been passed on, and is an end of its own.
              end(ending === "error" ? "incomplete" : "complete");
              controller.close();
              return;
            }
            const bytes = translation === null ? chunk : translation.push(chunk);
            if (bytes === null) continue;
            controller.enqueue(bytes);
            return;
          }
        } catch {
          reader.cancel();
          end("incomplete");
          // A reset overtakes bytes that the client has not read yet: they get a moment.
          await Bun.sleep(RESET_DELAY_MS);
          // The client's connection breaks off, which is the truth. Without a reason, else the runtime prints it.
          controller.error(undefined);
        }
      },
      cancel() {
        reader.cancel();
        end("client_left");
      },
    },
    // Nothing is read that the client has not asked for.
    { highWaterMark: 0 },
  );
}

/** Bytes without a type would get one from the runtime; as a stream they stay without. */
function asBody(bytes: Uint8Array | null, headers: Headers): Uint8Array | ReadableStream | null {
  if (bytes === null || headers.has("content-type")) return bytes;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

function headersFor(exchange: Exchange, answer: Answer): Headers {
  const { response, target, model, firstByteMs, isTranslated } = answer;
  const headers = answeredHeaders(response.headers);
  const providerId = headers.get("x-request-id");
  if (providerId !== null) headers.set("X-GW-Provider-Request-Id", providerId);
  headers.set("X-Request-Id", exchange.requestId);
  headers.set("X-GW-Provider", headerText(target.provider));
  if (model !== null) headers.set("X-GW-Model", headerText(model));
  headers.set("X-GW-Attempts", String(exchange.attempts));
  const total = performance.now() - exchange.startedAt;
  headers.append("Server-Timing", `total;dur=${total.toFixed(1)}, upstream;dur=${firstByteMs.toFixed(1)}`);
  // The runtime frames the body; what the provider said of its length is true only where there is none.
  if (exchange.method !== "HEAD") headers.delete("content-length");
  if (isEventStream(response)) headers.set("X-Accel-Buffering", "no");
  else if (isTranslated && hasBody(answer)) headers.set("Content-Type", "application/json");
  if (isTranslated) headers.delete("content-encoding");
  return headers;
}

function hasBody({ body, reader }: Answer): boolean {
  return body !== null || reader !== null;
}

/** A name may be any text: what a header cannot hold is replaced. */
function headerText(text: string): string {
  return text.replaceAll(/[^\x20-\x7E]/g, "?").slice(0, 256);
}
