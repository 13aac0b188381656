// Ends a call of a hook with what the isolate has sent.
import { applyEffects, applyReports } from "./apply-effects.ts";
import type { HeldCalls } from "./held-calls.ts";
import { fromErrorData, type FromIsolate } from "./messages.ts";
import type { NoteIds } from "./note-ids.ts";
import type { RunningCall } from "./running-calls.ts";

/** `running` is undefined for a call that has ended already, because it was repeated elsewhere. */
export function finishCall(
  running: RunningCall | undefined,
  message: Extract<FromIsolate, { type: "done" }>,
  blobs: readonly Uint8Array[],
  { notes, held }: { readonly notes: NoteIds; readonly held: HeldCalls },
): void {
  if (running === undefined) return;
  const { hook, context, settled } = running;
  try {
    if (message.hasNotes) notes.watch(context);
    if (message.error === null) applyEffects(hook, context, message.effects, blobs);
    else applyReports(context, message.effects);
    if (message.isHeld && "holdResponse" in context) held.hold(message.call, context);
  } catch (error) {
    settled.reject(error);
    return;
  }
  if (message.error === null) settled.resolve(undefined);
  else settled.reject(fromErrorData(message.error));
}
