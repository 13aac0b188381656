// Translations of a large request body, prepared in worker threads before the first attempt: an attempt encodes its request
// without waiting, in the same turn of the event loop in which its target was picked.
import { GatehouseError } from "../base/errors.ts";
import { formatNamed } from "../formats/registry.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../off-loop/large-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { RequestBody } from "./request-body.ts";
import type { TranslatedRequest, TranslationTask } from "./translate-request.ts";
import type * as translateRequestTask from "./translate-request-task.ts";
import { isUntranslatable } from "./untranslatable.ts";

const TASK = new URL("./translate-request-task.ts", import.meta.url);

export class Translations {
  /** By task. An error means that the format of the target cannot express the request. */
  readonly #results = new Map<string, TranslatedRequest | GatehouseError>();

  static async prepare(
    { bytes }: RequestBody,
    tasks: readonly TranslationTask[],
    offLoop: OffLoop,
  ): Promise<Translations> {
    const translations = new Translations();
    const byKey = new Map(tasks.map((task) => [keyOf(task), task]));
    await Promise.all([...byKey].map(([key, task]) => translations.#add(key, task, bytes, offLoop)));
    return translations;
  }

  /** Returns undefined if the translation was not prepared. Throws the error. */
  get(task: TranslationTask): TranslatedRequest | undefined {
    const result = this.#results.get(keyOf(task));
    if (result instanceof GatehouseError) throw result;
    return result;
  }

  async #add(key: string, task: TranslationTask, bytes: Uint8Array, offLoop: OffLoop): Promise<void> {
    const limits = { bytes: bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    try {
      this.#results.set(key, await offLoop.run<typeof translateRequestTask>(TASK, { bytes, task }, limits));
    } catch (error) {
      if (!isUntranslatable(error)) throw error;
      this.#results.set(key, error);
    }
  }
}

/** Whether the body is so large that its translations have to be prepared. */
export function isLarge(body: RequestBody | null): body is RequestBody {
  return body !== null && isLargeBody(body.bytes);
}

/** Targets with the same format and model share a translation, unless it depends on the target. */
function keyOf({ from, to, pathNamesFormat, model, targetTag }: TranslationTask): string {
  const tag = formatNamed(to).outbound.dependsOnTarget ? targetTag : "";
  return `${from} ${to} ${pathNamesFormat} ${tag} ${model ?? ""}`;
}
