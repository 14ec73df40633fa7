// Types for a package that ships none.

declare module 'cluster-key-slot' {
  /** Returns the slot of a Redis Cluster that a key belongs to. */
  export default function calculateSlot(key: string): number;
}
