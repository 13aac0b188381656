// What the supervisor keeps of the workers' last replies, so that what a worker has counted outlives it. The supervisor does not
// read the replies: the worker that collects them merges those of ended workers into one.

/** The last replies of all workers but the one that collects them. */
interface KeptReplies {
  readonly running: readonly unknown[];
  readonly ended: readonly unknown[];
  /** Changes with `ended`. */
  readonly version: number;
}

interface Topic {
  /** By worker number. */
  readonly running: Map<number, unknown>;
  /** At most one per worker and the merged one: a worker has a reply here only if its replies were collected. */
  ended: readonly unknown[];
  version: number;
}

export class ReplyKeeper {
  readonly #topics = new Map<string, Topic>();

  keep(topic: string, worker: number, reply: unknown): void {
    this.#topic(topic).running.set(worker, reply);
  }

  collect(topic: string, collector: number): KeptReplies {
    const { running, ended, version } = this.#topic(topic);
    const others = [...running].filter(([worker]) => worker !== collector).map(([, reply]) => reply);
    return { running: others, ended, version };
  }

  /** Replaces the replies of ended workers, unless another worker has ended or merged them in the meantime. */
  replaceEnded(topic: string, version: number, merged: unknown): void {
    const kept = this.#topic(topic);
    if (kept.version !== version) return;
    kept.ended = [merged];
    kept.version++;
  }

  endWorker(worker: number): void {
    for (const kept of this.#topics.values()) {
      if (!kept.running.has(worker)) continue;
      kept.ended = [...kept.ended, kept.running.get(worker)];
      kept.version++;
      kept.running.delete(worker);
    }
  }

  #topic(name: string): Topic {
    let topic = this.#topics.get(name);
    if (topic === undefined) this.#topics.set(name, (topic = { running: new Map(), ended: [], version: 0 }));
    return topic;
  }
}
