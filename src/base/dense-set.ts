// A set for members that come and go with every request. In a JavaScript Set, the tables that it outgrew link to their
// successors, so that an old one keeps all removed members in memory until the next full garbage collection.

export interface DenseSetMember {
  /** Maintained by the set; NOT_A_MEMBER before and after. A member can be in one set at a time. */
  setPosition: number;
}

export const NOT_A_MEMBER = -1;

export class DenseSet<M extends DenseSetMember> {
  readonly #members: M[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** In no particular order. Must not be changed while it is read; `forEach` allows that. */
  get members(): readonly M[] {
    return this.#members;
  }

  add(member: M): void {
    if (member.setPosition !== NOT_A_MEMBER) return;
    member.setPosition = this.#members.length;
    this.#members.push(member);
  }

  /** Returns whether it was a member. */
  delete(member: M): boolean {
    const position = member.setPosition;
    if (position === NOT_A_MEMBER) return false;
    member.setPosition = NOT_A_MEMBER;
    const last = this.#members.pop();
    if (last === undefined || last === member) return true;
    this.#members[position] = last;
    last.setPosition = position;
    return true;
  }

  /**
   * Calls `visit` for every member. It may add and delete members: added ones may be visited too, and one that is still a
   * member may be visited twice if others are deleted.
   */
  forEach(visit: (member: M) => void): void {
    // From the end: a deletion moves the last member, which has been visited, to a lower position.
    for (let position = this.#members.length - 1; position >= 0; position--) {
      const member = this.#members[position];
      if (member !== undefined) visit(member);
    }
  }
}
