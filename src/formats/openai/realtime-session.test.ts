// The output limit of a session.
import { expect, test } from "bun:test";
import { clientEventIn } from "./realtime-requests.ts";
import { RealtimeSession, sessionEventIn } from "./realtime-session.ts";

function report(session: RealtimeSession, type: string, settings: object): void {
  const event = sessionEventIn(JSON.stringify({ type: `session.${type}`, session: settings }));
  if (event !== null) session.addServerEvent(event);
}

function update(session: RealtimeSession, settings: object): void {
  const event = clientEventIn(JSON.stringify({ type: "session.update", session: settings }));
  if (event !== null && event !== "invalid") session.addClientEvent(event);
}

test("is that which the provider reports, once nothing of the client is unconfirmed", () => {
  const session = new RealtimeSession();
  report(session, "created", { max_output_tokens: "inf" });
  expect([session.maxOutputTokens, session.wasLimited]).toEqual([null, false]);
  update(session, { max_output_tokens: 1 });
  expect([session.maxOutputTokens, session.wasLimited]).toEqual([null, true]);
  report(session, "updated", { max_output_tokens: 1 });
  expect(session.maxOutputTokens).toBe(1);
  update(session, { max_output_tokens: "inf" });
  expect(session.maxOutputTokens).toBeNull();
  report(session, "updated", { max_output_tokens: "inf" });
  expect([session.maxOutputTokens, session.wasLimited]).toEqual([null, true]);
});

test("is the larger one of both names, and none if one is no number", () => {
  const session = new RealtimeSession();
  report(session, "created", { max_response_output_tokens: 70, max_output_tokens: 50 });
  expect([session.maxOutputTokens, session.wasLimited]).toEqual([70, true]);
  report(session, "updated", { max_response_output_tokens: "inf", max_output_tokens: 50 });
  expect(session.maxOutputTokens).toBeNull();
});
