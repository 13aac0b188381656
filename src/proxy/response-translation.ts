// How the response to a request is translated to the format of the client.
import type { Format } from "../formats/format.ts";
import type { InboundTranslator, ResponseContext } from "../formats/translator.ts";

export interface ResponseTranslation {
  /** The format of the endpoint at the target. */
  readonly from: Format;
  /** The format of the client, with its translator. */
  readonly to: Format;
  readonly inbound: InboundTranslator;
  readonly context: ResponseContext;
}
