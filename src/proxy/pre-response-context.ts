// The context of pre_response hooks: reads and replaces one chunk of a response body, or the whole body.
import type { ResponseBodyContext } from "../sdk/index.ts";
import type { PluginCall } from "./plugin-call.ts";
import { CallContext } from "./plugin-context.ts";
import { checkBytes } from "./plugin-values.ts";
import type { TargetResponse } from "./target-response.ts";

const decoder = new TextDecoder();

export class PreResponseContext extends CallContext implements ResponseBodyContext {
  readonly status: number;
  readonly isLast: boolean;
  readonly #call: PluginCall;
  readonly #response: TargetResponse;
  #chunk: Uint8Array;

  constructor(
    call: PluginCall,
    response: TargetResponse,
    status: number,
    chunk: Uint8Array,
    isLast: boolean,
  ) {
    super(call);
    this.#call = call;
    this.#response = response;
    this.status = status;
    this.#chunk = chunk;
    this.isLast = isLast;
  }

  get chunk(): Uint8Array {
    return this.#chunk;
  }
  get provider(): string {
    return this.#response.target.provider;
  }
  get model(): string | null {
    return this.#response.model;
  }
  get text(): string {
    return decoder.decode(this.#chunk);
  }
  replaceChunk(chunk: string | Uint8Array): void {
    const { parts, run } = this.#call;
    this.#chunk = checkBytes("a chunk", chunk, parts.maxBodyBytes);
    run.verdict = "changed";
  }
}
