// The types of a package that brings none.

declare module 'cluster-key-slot' {
  /** The slot of a Redis Cluster that a key belongs to. */
  export default function calculateSlot(key: string): number;
}
