// Requests the models of a running gateway, and reports a key that it rejects or a model that it does not list.
import { z } from "zod";
import type { Access } from "./clients.ts";

const TIMEOUT_MS = 3000;
const MAX_LISTED = 20;
const modelsSchema = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Returns one line per finding. Never throws: the settings do not depend on whether the gateway is running. */
export async function checkAccess({ url, key, model }: Access): Promise<string[]> {
  try {
    const response = await fetch(`${url}/v1/models`, {
      headers: key === null ? {} : { Authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    if (!response.ok) {
      await response.body?.cancel();
      if (key === null) return [];
      return [`warning: the gateway at ${url} responds with ${response.status} to this key`];
    }
    const { data } = modelsSchema.parse(await response.json());
    return modelNotes(
      data.map(({ id }) => id),
      model,
    );
  } catch {
    return [`warning: no gateway responds at ${url}; start one, or give its address with --url`];
  }
}

function modelNotes(models: readonly string[], model: string | null): string[] {
  if (models.length === 0) return ["warning: the gateway lists no models for this key"];
  const more = models.length > MAX_LISTED ? ", …" : "";
  const list = models.slice(0, MAX_LISTED).join(", ") + more;
  if (model !== null && !models.includes(model))
    return [`warning: the gateway does not list the model "${model}"; it lists: ${list}`];
  return [`models: ${list}`];
}
