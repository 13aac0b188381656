// An immutable index from a group key to the members of the group by id, e.g. from a gateway to its API keys. Adding or
// removing a member costs the same however many members the group has.
import { PersistentMap } from "./persistent-map.ts";

/** Changes of members: group key → member id → the member, or null to remove it. */
export class GroupChanges<V> {
  readonly byGroup = new Map<string, Map<string, V | null>>();

  set(group: string, id: string, member: V | null): void {
    const changes = this.byGroup.get(group) ?? new Map<string, V | null>();
    this.byGroup.set(group, changes.set(id, member));
  }
}

export class PersistentGroups<V> {
  readonly #groups: PersistentMap<PersistentMap<V>>;

  private constructor(groups: PersistentMap<PersistentMap<V>>) {
    this.#groups = groups;
  }

  static empty<V>(): PersistentGroups<V> {
    return new PersistentGroups<V>(PersistentMap.empty());
  }

  /** The number of groups. A group without members does not exist. */
  get size(): number {
    return this.#groups.size;
  }

  get(group: string): PersistentMap<V> | undefined {
    return this.#groups.get(group);
  }

  with({ byGroup }: GroupChanges<V>): PersistentGroups<V> {
    if (byGroup.size === 0) return this;
    const groups = new Map<string, PersistentMap<V> | null>();
    for (const [group, changes] of byGroup) {
      const members = (this.#groups.get(group) ?? PersistentMap.empty<V>()).with(changes);
      groups.set(group, members.size === 0 ? null : members);
    }
    return new PersistentGroups(this.#groups.with(groups));
  }
}
