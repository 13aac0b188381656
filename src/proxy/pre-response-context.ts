// The context of pre_response hooks: reads and replaces one chunk of a response body, or the whole body.
import type { TextReader } from "../formats/text-channels.ts";
import type { ResponseBodyContext } from "../sdk/index.ts";
import type { FileTransport } from "../snapshot/rule-guards.ts";
import type { PluginCall } from "./plugin-call.ts";
import type { TextForm } from "./texts/text-form.ts";
import { CallContext } from "./plugin-context.ts";
import { checkBytes } from "./plugin-values.ts";

const decoder = new TextDecoder();

/** What produced a response: a target, or an MCP server. */
export interface ResponseOrigin {
  readonly target: { readonly provider: string };
  readonly model: string | null;
}

/** What plugins read of the response, whether it is a provider's or a kept one. */
export interface ResponseSource extends ResponseOrigin {
  /** The form in which plugins read the texts of the body; null if there are none. */
  readonly textForm: TextForm;
  /** A whole body has the format of the reader, or it is rejected. */
  readonly isStrict: boolean;
  /** As which transport of the rule the body would pass; absent or null if it is no file. */
  readonly transport?: FileTransport | null;
  /** Finds the texts in the response that the client gets. */
  readonly textReader: TextReader;
}

export class PreResponseContext extends CallContext implements ResponseBodyContext {
  readonly status: number;
  readonly isLast: boolean;
  readonly #call: PluginCall;
  readonly #response: ResponseOrigin;
  #chunk: Uint8Array;

  constructor(
    call: PluginCall,
    response: ResponseOrigin,
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
