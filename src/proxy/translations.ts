// Translations of a large request body, prepared in worker threads before the first attempt: an attempt encodes its request
// without waiting, in the same turn of the event loop in which its target was picked.
import { GatehouseError } from "../base/errors.ts";
import type { FormatName } from "../formats/format-names.ts";
import { isOtherEndpoint } from "../formats/registry.ts";
import { LARGE_BODY_BYTES, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { BodyFields, RequestBody } from "./request-body.ts";
import type * as translateRequestTask from "./translate-request-task.ts";

const TASK = new URL("./translate-request-task.ts", import.meta.url);

/** Whether the body may have to be translated for the target. */
export function needsTranslation(
  { isObject, hasMessages }: BodyFields,
  path: string,
  target: CompiledTarget,
): boolean {
  return target.format.translator !== null && isObject && hasMessages && !isPassedOn(path, target);
}

/** Whether the client chooses the endpoint of the target, and chose one that is not the chat endpoint of the target's format. */
export function isPassedOn(path: string, target: CompiledTarget): boolean {
  return target.path === null && isOtherEndpoint(path, target.format);
}

export class Translations {
  /** By format and model. An error means that the format cannot express the request. */
  readonly #results = new Map<string, Uint8Array | GatehouseError | null>();

  /** Translates the body for all targets. `modelFor` returns the model that is sent to a target. */
  static async prepare(
    body: RequestBody,
    targets: readonly CompiledTarget[],
    modelFor: (target: CompiledTarget) => string | null,
    offLoop: OffLoop,
  ): Promise<Translations> {
    const translations = new Translations();
    await Promise.all(
      targets.map((target) => translations.#add(body, target.format.name, modelFor(target), offLoop)),
    );
    return translations;
  }

  /** Returns the translated body, null if the body already has the format, or undefined if it was not prepared. Throws the error. */
  get(format: FormatName, model: string | null): Uint8Array | null | undefined {
    const result = this.#results.get(keyOf(format, model));
    if (result instanceof GatehouseError) throw result;
    return result;
  }

  async #add(
    { bytes }: RequestBody,
    format: FormatName,
    model: string | null,
    offLoop: OffLoop,
  ): Promise<void> {
    const key = keyOf(format, model);
    if (this.#results.has(key)) return;
    this.#results.set(key, null);
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    try {
      this.#results.set(
        key,
        await offLoop.run<typeof translateRequestTask>(TASK, { bytes, format, model }, limits),
      );
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== "untranslatable") throw error;
      this.#results.set(key, error);
    }
  }
}

/** Whether the body is so large that its translations have to be prepared. */
export function isLarge(body: RequestBody | null): body is RequestBody {
  return body !== null && body.bytes.byteLength > LARGE_BODY_BYTES;
}

function keyOf(format: FormatName, model: string | null): string {
  return `${format} ${model ?? ""}`;
}
