// Calls that lose something recorded: asks for the plan, and confirms it.
import { expect } from "bun:test";
import type { ApiResponse, RunningGatehouse } from "./gatehouse-process.ts";

/**
 * Sends the call, and confirms the losses that its first response names, if any. A figure that grows
 * meanwhile is confirmed again.
 */
export async function confirmed(
  gatehouse: Pick<RunningGatehouse, "api">,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  let response = await gatehouse.api("POST", path, body, headers);
  for (let tries = 0; tries < 5 && response.body?.code === "confirmation_required"; tries++) {
    expect(response.status).toBe(409);
    response = await gatehouse.api("POST", `${path}?confirm=${response.body.confirm}`, body, headers);
  }
  return response;
}
