// Scans the configured parts of a request for code of the configured languages, and blocks the request or masks the code. Large bodies
// are scanned in a worker thread.
import {
  isLargeBody,
  OffLoopError,
  type PluginHost,
  type RequestContext,
  type TextMemory,
} from "../../sdk/index.ts";
import { CleanTexts } from "./clean-texts.ts";
import type { PatternSelection } from "./compiled-patterns.ts";
import { compileDetector, type Detector } from "./detector.ts";
import type * as inspectBodyTask from "./inspect-body-task.ts";
import type { BodyVerdict, Unreadable } from "./inspect-body.ts";
import { headSizeOf, isCodeInHead, maskHead } from "./inspect-head.ts";
import { roleSetOf, type RoleSet } from "./json-roles.ts";
import { inspectAndRecordBody } from "./record-body.ts";
import { RecordingDetector, type FindingDetail } from "./recording-detector.ts";
import { RunEnds } from "./run-ends.ts";
import { ROLES, type CodeSanitationSettings } from "./settings.ts";
import { TurnWork } from "./turn-work.ts";
import { stepsFor, stepsForBody, WorkExhausted } from "./work-budget.ts";

const BODY_TASK = new URL("./inspect-body-task.ts", import.meta.url);
/** Below the time limit of a hook, so that `on_incomplete` decides about a slow inspection. */
const TASK_TIMEOUT_MS = 4000;

/** Shared by all gateways: they use the same event loop. */
const turnWork = new TurnWork();

type Part = CodeSanitationSettings["content_to_check"][number];
/** Why an inspection is incomplete. */
type Incomplete = "budget" | "timeout" | "crash";
const CLEAN: BodyVerdict = { kind: "clean" };
type Verdict =
  BodyVerdict | { readonly kind: "incomplete"; readonly why: Incomplete } | { readonly kind: "overloaded" };

/** Limits the steps of an inspection on the event loop. */
function limited(
  recorder: RecordingDetector,
  steps: number,
  inspect: () => BodyVerdict,
  texts: CleanTexts | null = null,
): Verdict {
  try {
    return recorder.limitWork(steps, inspect);
  } catch (error) {
    if (error instanceof WorkExhausted) return { kind: "incomplete", why: "budget" };
    throw error;
  } finally {
    turnWork.add(recorder.workDone - (texts?.savedSteps ?? 0));
  }
}

/** Counts the texts that were scanned, and those that were known to be clean. */
function countTexts(context: RequestContext, texts: Pick<CleanTexts, "remembered" | "inspected">): void {
  if (texts.remembered > 0) context.count("texts", "remembered", texts.remembered);
  if (texts.inspected > 0) context.count("texts", "inspected", texts.inspected);
}

/** Compiles the settings of a gateway into a function that inspects one request. */
export function compileInspection(
  settings: CodeSanitationSettings,
  host: PluginHost,
): (context: RequestContext) => void | Promise<void> {
  const inspection = new Inspection(settings, host);
  return (context) => inspection.run(context);
}

class Inspection {
  readonly #settings: CodeSanitationSettings;
  readonly #host: PluginHost;
  readonly #patterns: readonly PatternSelection[];
  readonly #detector: Detector;
  readonly #memory: TextMemory;
  readonly #runEnds = new RunEnds();
  readonly #parts: { readonly headers: boolean; readonly path: boolean; readonly body: boolean };
  /** The character that replaces code; null if code blocks the request. */
  readonly #mask: string | null;
  /** The messages that are inspected; null for every string of the body. */
  readonly #roles: RoleSet | null;

  constructor(settings: CodeSanitationSettings, host: PluginHost) {
    this.#settings = settings;
    this.#host = host;
    this.#patterns = settings.languages.filter((entry) => entry.enabled);
    this.#detector = compileDetector(this.#patterns);
    this.#memory = host.textMemory();
    const { roles = ROLES } = settings;
    this.#roles = ROLES.every((role) => roles.includes(role)) ? null : roleSetOf(roles);
    this.#mask = settings.action === "sanitize" ? settings.sanitize_char : null;
    const isChecked = (part: Part) =>
      settings.content_to_check.includes(part) || settings.content_to_check.includes("all");
    this.#parts = {
      headers: isChecked("headers"),
      path: isChecked("path_and_query"),
      body: isChecked("body"),
    };
  }

  run(context: RequestContext): void | Promise<void> {
    const recorder = new RecordingDetector(this.#detector);
    const verdict = this.#inspectOnLoop(context, recorder);
    if (verdict === null) return this.#inspectOffLoop(context, recorder);
    this.#finish(context, recorder, verdict);
  }

  /** Returns null if the body should be inspected in a worker thread. */
  #inspectOnLoop(context: RequestContext, recorder: RecordingDetector): Verdict | null {
    const { headers, path } = this.#parts;
    const head: Verdict = headers || path ? this.#inspectHead(context, recorder) : CLEAN;
    if (head.kind === "incomplete" && this.#settings.on_incomplete === "continue")
      // A hostile header must not switch the inspection of the body off.
      this.#reportIncomplete(context, recorder, head.why);
    else if (head.kind !== "clean") return head;
    if (!this.#parts.body) return CLEAN;
    const { bodySize, bodyView } = context;
    if (turnWork.isExhaustedFor(bodySize) || (bodyView !== null && isLargeBody(bodyView))) return null;
    const texts = new CleanTexts(this.#memory, this.#runEnds);
    const inspect = () => inspectAndRecordBody(context, recorder, this.#mask, this.#roles, texts);
    const verdict = limited(recorder, stepsForBody(bodySize, context.isJson), inspect, texts);
    countTexts(context, texts);
    return verdict;
  }

  /** Inspects path, query and headers, whose size the HTTP server limits. Masks them in place. */
  #inspectHead(context: RequestContext, recorder: RecordingDetector): Verdict {
    const verdict = limited(recorder, stepsFor(headSizeOf(context, this.#parts)), () => {
      const isBlocked =
        this.#mask === null
          ? isCodeInHead(context, recorder, this.#parts)
          : maskHead(context, recorder, this.#parts, this.#mask);
      return isBlocked ? { kind: "found" } : CLEAN;
    });
    if (verdict.kind === "incomplete") recorder.place(() => ({ path: "headers", role: null }));
    return verdict;
  }

  async #inspectOffLoop(context: RequestContext, recorder: RecordingDetector): Promise<void> {
    this.#finish(context, recorder, await this.#verdictOfTask(context, recorder));
  }

  /** Never rejects because of a thread: then the plugin would fail, and `on_error` could skip the inspection. */
  async #verdictOfTask(context: RequestContext, recorder: RecordingDetector): Promise<Verdict> {
    // The thread gets a copy.
    const { bodyView: body, isJson } = context;
    if (body === null) return CLEAN;
    const contentType = context.headers.get("content-type");
    const input = {
      patterns: this.#patterns,
      mask: this.#mask,
      roles: this.#roles,
      body,
      isJson,
      contentType,
      memory: this.#memory.scope,
    };
    const limits = { bytes: body.length, timeoutMs: TASK_TIMEOUT_MS };
    try {
      const output = await this.#host.runOffLoop<typeof inspectBodyTask>(BODY_TASK, input, limits);
      recorder.add(output.found);
      if (output.texts !== undefined) countTexts(context, output.texts);
      const { verdict } = output;
      return verdict.kind === "incomplete" ? { ...verdict, why: "budget" } : verdict;
    } catch (error) {
      if (!(error instanceof OffLoopError)) throw error;
      if (error.code === "overloaded" && error.reason !== "timed_out") return { kind: "overloaded" };
      return { kind: "incomplete", why: error.reason === "timed_out" ? "timeout" : "crash" };
    }
  }

  #finish(context: RequestContext, recorder: RecordingDetector, verdict: Verdict): void {
    const { on_incomplete, status_code } = this.#settings;
    if ("files" in verdict) recorder.addRemark(`content of files not inspected (${verdict.files})`);
    switch (verdict.kind) {
      case "masked":
        if (!isBodyReplaced(context, verdict.body)) this.#block(context, recorder);
        break;
      case "found":
        this.#block(context, recorder);
        break;
      case "unreadable":
        respondWith(context, 415, UNREADABLE[verdict.why], "unsupported_media_type");
        break;
      case "overloaded":
        context.setResponseHeader("Retry-After", "1");
        respondWith(context, 503, OVERLOADED, "overloaded");
        break;
      case "incomplete":
        this.#reportIncomplete(context, recorder, verdict.why);
        if (on_incomplete === "block") respondWith(context, status_code, INCOMPLETE, "inspection_incomplete");
        break;
      case "clean":
    }
    recorder.report(context);
    this.#log(context, recorder);
  }

  #block(context: RequestContext, recorder: RecordingDetector): void {
    const { status_code, error_message } = this.#settings;
    respondWith(context, status_code, error_message, "code_injection_detected", recorder.details);
  }

  #log({ requestId, gateway }: RequestContext, recorder: RecordingDetector): void {
    if (recorder.isEmpty) return;
    const { action } = this.#settings;
    this.#host.log("info", "code found in request", {
      request_id: requestId,
      gateway_id: gateway.id,
      action,
      findings: recorder.details,
    });
  }

  #reportIncomplete(context: RequestContext, recorder: RecordingDetector, why: Incomplete): void {
    const { on_incomplete } = this.#settings;
    context.count("incomplete", why);
    recorder.addRemark(
      `inspection incomplete (${why}), ${on_incomplete === "block" ? "blocked" : "continued"}`,
    );
  }
}

/** Returns false if the masked body cannot be sent: a mask that has to be encoded may make it larger than MAX_BODY_BYTES. */
function isBodyReplaced(context: RequestContext, body: string | Uint8Array): boolean {
  try {
    context.replaceBody(body);
    return true;
  } catch {
    return false;
  }
}

const UNREADABLE: Readonly<Record<Unreadable, string>> = {
  compressed: "The body is compressed, but Content-Encoding is missing. Send it without compression.",
  charset: "The charset in Content-Type cannot be inspected. Send the body in UTF-8.",
  inline_file: "A file in the request has text that cannot be inspected. Send its text in UTF-8.",
  utf32: "The body is in UTF-32, which cannot be inspected. Send it in UTF-8.",
  part_fields:
    "A part of the form is a form itself, or has a parameter that servers read differently (RFC 2231). Send plain parts.",
  part_encoding:
    "A part of the form has a Content-Transfer-Encoding or Content-Encoding, which cannot be inspected. Send its text without the field.",
  part_charset: "A part of the form is in a charset that cannot be inspected. Send its text in UTF-8.",
};
const OVERLOADED = "Too many large bodies are being processed. Retry later.";
const INCOMPLETE = "The request takes too much work to inspect. Send a smaller body.";

function respondWith(
  context: RequestContext,
  status: number,
  error: string,
  code: string,
  details?: readonly FindingDetail[],
): void {
  context.respond({ status, body: { error, code, ...(details !== undefined && { details }) } });
}
