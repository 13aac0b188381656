// The failure of a hook whose worker thread or process could not run it to its end.

export class IsolateError extends Error {
  override readonly name = "IsolateError";

  constructor(isolation: "worker" | "process", reason: string) {
    super(
      `the ${isolation === "worker" ? "worker thread" : "process"} of the plugin cannot run the hook: ${reason}`,
    );
  }
}
