// One turn of a realtime conversation with the official client.
import OpenAI from "openai";
import { OpenAIRealtimeWebSocket } from "openai/realtime/websocket";

export const REALTIME_MODEL = "gpt-realtime-fake";

interface RealtimeTurn {
  /** Still open. */
  readonly realtime: OpenAIRealtimeWebSocket;
  readonly text: string;
  readonly response: OpenAI.Realtime.RealtimeResponse;
}

/** Says "Good morning" and resolves when the response is complete. `baseURL` is an http address. */
export async function realtimeTurn(baseURL: string, apiKey: string): Promise<RealtimeTurn> {
  const onURL = (url: URL): void => {
    url.protocol = "ws:";
  };
  const client = new OpenAI({ apiKey, baseURL });
  const realtime = new OpenAIRealtimeWebSocket({ model: REALTIME_MODEL, onURL }, client);
  const done = Promise.withResolvers<OpenAI.Realtime.ResponseDoneEvent>();
  let text = "";
  realtime.on("error", done.reject);
  realtime.on("response.output_text.delta", ({ delta }) => (text += delta));
  realtime.on("response.done", done.resolve);
  realtime.on("session.created", () => {
    const content = [{ type: "input_text" as const, text: "Good morning" }];
    realtime.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
    realtime.send({ type: "response.create" });
  });
  const { response } = await done.promise;
  return { realtime, text, response };
}
