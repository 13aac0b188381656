// Starts the call of a plugin to a service: checks its options, counts it, and loads the code with the first call.
import { ServiceCallError } from "../../sdk/index.ts";
import type { CallService } from "../plugin-call.ts";
import { PluginWork } from "../plugin-work.ts";
import type { ServiceCallParts } from "./call-service.ts";

const DEFAULT_TIMEOUT_MS = 4000;
const MAX_TIMEOUT_MS = 30_000;

/** Counted as events of the plugin, with the result as kind. */
const EVENT = "service_call";

export function createCallService(parts: ServiceCallParts): CallService {
  return async (call, service, request, { timeoutMs = DEFAULT_TIMEOUT_MS, signal }) => {
    if (!Number.isFinite(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS)
      throw new ServiceCallError(
        "invalid",
        `timeoutMs is ${timeoutMs}; give a number from 1 to ${MAX_TIMEOUT_MS}`,
      );
    const { exchange: caller, run } = call;
    const work = PluginWork.of(caller);
    const controller = work.beginCall();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) abort();
    try {
      const { callService } = await import("./call-service.ts");
      const response = await callService(
        { caller, service, request, timeoutMs, signal: controller.signal },
        parts,
      );
      run.count(EVENT, response.status < 400 ? "ok" : "error", 1);
      return response;
    } catch (error) {
      run.count(EVENT, error instanceof ServiceCallError ? error.reason : "failed", 1);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      work.endCall(controller);
    }
  };
}
