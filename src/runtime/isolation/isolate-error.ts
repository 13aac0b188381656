// The failure of a hook whose worker thread or process could not run it to its end.

export class IsolateError extends Error {
  override readonly name: string = "IsolateError";

  constructor(isolation: "worker" | "process", reason: string) {
    super(
      `the ${isolation === "worker" ? "worker thread" : "process"} of the plugin cannot run the hook: ${reason}`,
    );
  }
}

/** How far a call was when its isolate was lost. */
export interface CallState {
  /** The hook had begun: the call may be why the isolate was lost. */
  readonly hasBegun: boolean;
  /** The hook was on the stack of the isolate: the call is why the isolate was lost, unless a timer is. */
  readonly wasRunning: boolean;
  /** False if the hook has called a service, has changed something outside of the isolate, or has no time left. */
  readonly isRepeatable: boolean;
  /** The hook was waiting at its deadline, in an isolate that reacted. */
  readonly isSlow: boolean;
}

/** The isolate ended, or does not react, before the hook did. */
export class LostCall extends IsolateError {
  readonly state: CallState;

  constructor(isolation: "worker" | "process", reason: string, state: CallState) {
    super(isolation, reason);
    this.state = state;
  }
}

export const NOT_BEGUN: CallState = { hasBegun: false, wasRunning: false, isRepeatable: true, isSlow: false };
