// The notes of requests are kept in the isolate, because they may be values that no message can have. This names them, and notices
// when a request has ended.

export class NoteIds {
  readonly #ids = new WeakMap<object, number>();
  readonly #watched = new WeakSet<object>();
  #released: number[] = [];
  #last = 0;
  readonly #ended = new FinalizationRegistry<number>((id) => this.#released.push(id));

  /** `notes` is the map of the request, which stays empty. Entries of a plugin that share it share notes in the isolate. */
  idOf(notes: object): number {
    const known = this.#ids.get(notes);
    if (known !== undefined) return known;
    this.#ids.set(notes, ++this.#last);
    return this.#last;
  }

  /** The isolate has notes for it. */
  watch(notes: object): void {
    const id = this.#ids.get(notes);
    if (id === undefined || this.#watched.has(notes)) return;
    this.#watched.add(notes);
    this.#ended.register(notes, id);
  }

  /** Returns the ids of requests that have ended since the last call. */
  takeReleased(): readonly number[] {
    if (this.#released.length === 0) return this.#released;
    const released = this.#released;
    this.#released = [];
    return released;
  }
}
