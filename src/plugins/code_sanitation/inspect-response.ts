// Scans the text of responses for code, whole and streamed, and rejects the response or masks the code.
import {
  LARGE_BODY_BYTES,
  OffLoopError,
  type PluginHost,
  type ResponseTextContext,
} from "../../sdk/index.ts";
import type { PatternSelection } from "./compiled-patterns.ts";
import { compileDetector, type Detector } from "./detector.ts";
import type * as inspectTextTask from "./inspect-text-task.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText } from "./mask.ts";
import { RecordingDetector } from "./recording-detector.ts";
import type { CodeSanitationSettings } from "./settings.ts";
import { stepsFor, WorkExhausted } from "./work-budget.ts";

const TEXT_TASK = new URL("./inspect-text-task.ts", import.meta.url);
/** Below the time limit of a hook. */
const TASK_TIMEOUT_MS = 4000;
/** Code of this length is found across the events of a stream. */
const OVERLAP = 256;
/** A stream is scanned when this much text is new, so that a character is scanned a few times only. */
const SCANNED_AT = OVERLAP + 128;
const INCOMPLETE = "The response takes too much work to inspect.";
const IN_RESPONSE = () => ({ path: "response", role: null });

/** The text with code masked, or why there is none. */
type Inspected = { readonly text: string } | "found" | "incomplete";

/** Compiles the settings of a gateway into a hook for the text of responses. */
export function compileResponseInspection(
  settings: CodeSanitationSettings,
  host: PluginHost,
): (context: ResponseTextContext) => void | Promise<void> {
  const inspection = new ResponseInspection(settings, host);
  return (context) => inspection.run(context);
}

class ResponseInspection {
  readonly #settings: CodeSanitationSettings;
  readonly #host: PluginHost;
  readonly #patterns: readonly PatternSelection[];
  readonly #detector: Detector;
  /** The character that replaces code; null if code rejects the response. */
  readonly #mask: string | null;

  constructor(settings: CodeSanitationSettings, host: PluginHost) {
    this.#settings = settings;
    this.#host = host;
    this.#patterns = settings.languages.filter((entry) => entry.enabled);
    this.#detector = compileDetector(this.#patterns);
    this.#mask = settings.action === "sanitize" ? settings.sanitize_char : null;
  }

  run(context: ResponseTextContext): void | Promise<void> {
    const { text, isLast, isForced, channel } = context;
    const isEnd = isLast || isForced;
    // Arguments are inspected when they are whole: as the strings that their tool gets.
    if (!isEnd && (channel.kind === "tool_arguments" || text.length < SCANNED_AT)) {
      context.release(0);
      return;
    }
    const recorder = new RecordingDetector(this.#detector);
    if (text.length > LARGE_BODY_BYTES)
      return this.#inspectOffLoop(context, recorder).then((found) => this.#finish(context, recorder, found));
    this.#finish(context, recorder, this.#inspect(text, channel.isJson && isLast, recorder));
  }

  #inspect(text: string, isJson: boolean, recorder: RecordingDetector): Inspected {
    try {
      return recorder.limitWork(stepsFor(text.length * 2), () => this.#scan(text, isJson, recorder));
    } catch (error) {
      if (error instanceof WorkExhausted) return "incomplete";
      throw error;
    } finally {
      recorder.place(IN_RESPONSE);
    }
  }

  #scan(text: string, isJson: boolean, recorder: RecordingDetector): Inspected {
    const mask = this.#mask;
    if (mask === null) {
      const finding = isJson ? firstInJson(text, recorder, null) : recorder.first(text);
      return finding === null ? { text } : "found";
    }
    return { text: isJson ? maskJson(text, recorder, mask, null) : maskText(text, recorder, mask) };
  }

  async #inspectOffLoop(
    { text, channel, isLast }: ResponseTextContext,
    recorder: RecordingDetector,
  ): Promise<Inspected> {
    const input = {
      patterns: this.#patterns,
      mask: this.#mask,
      roles: null,
      text,
      isJson: channel.isJson && isLast,
      contentType: "text/plain",
      memory: this.#host.textMemory().scope,
    };
    try {
      const limits = { bytes: text.length, timeoutMs: TASK_TIMEOUT_MS };
      const { found, kind, masked } = await this.#host.runOffLoop<typeof inspectTextTask>(
        TEXT_TASK,
        input,
        limits,
      );
      recorder.add(found);
      if (kind === "found" || kind === "incomplete") return kind;
      return { text: masked ?? text };
    } catch (error) {
      if (error instanceof OffLoopError) return "incomplete";
      throw error;
    }
  }

  #finish(context: ResponseTextContext, recorder: RecordingDetector, inspected: Inspected): void {
    const { on_incomplete, status_code: status, error_message: message } = this.#settings;
    if (inspected === "found") context.reject({ status, code: "code_injection_detected", message });
    else if (inspected === "incomplete") {
      context.count("incomplete", "response");
      if (on_incomplete === "block")
        context.reject({ status, code: "inspection_incomplete", message: INCOMPLETE });
    } else release(context, inspected.text);
    recorder.report(context);
  }
}

/** Holds the last characters back: they may be the beginning of code. Masking keeps the length of a text that is no JSON. */
function release(context: ResponseTextContext, masked: string): void {
  const { text, isLast, isForced } = context;
  if (isLast || isForced) {
    context.release(text.length, masked);
    return;
  }
  let length = text.length - OVERLAP;
  // Not within code: its rest would not be recognized.
  while (length > 0 && masked.charCodeAt(length - 1) !== text.charCodeAt(length - 1)) length--;
  context.release(length, masked.slice(0, length));
}
