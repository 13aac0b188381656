// Inspects a large text of a response in a worker thread: encodes and decodes it there too.
import { run as inspectBytes } from "./inspect-body-task.ts";

type Input = Omit<Parameters<typeof inspectBytes>[0], "body"> & { readonly text: string };

interface Output extends Pick<ReturnType<typeof inspectBytes>, "found"> {
  readonly kind: ReturnType<typeof inspectBytes>["verdict"]["kind"];
  /** The masked text; null if it stays as it is. */
  readonly masked: string | null;
}

export function run({ text, ...input }: Input): Output {
  const { found, verdict } = inspectBytes({ ...input, body: Buffer.from(text) });
  const masked = verdict.kind === "masked" ? Buffer.from(verdict.body).toString() : null;
  return { found, kind: verdict.kind, masked };
}
