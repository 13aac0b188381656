// Searches a large body in a worker thread.
import { compileSearch, type SearchedBody } from "./mask-body.ts";
import type { PiiMaskSettings } from "./settings.ts";

interface Input {
  readonly settings: PiiMaskSettings;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  readonly key: string | null;
}

export function run({ settings, body, contentType, key }: Input): SearchedBody {
  return compileSearch(settings)(body, contentType, key);
}
