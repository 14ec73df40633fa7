// Keeps the first bytes of an answer's body in one buffer that grows with it, however small the pieces it comes in.

const EMPTY = Buffer.alloc(0);

export class BodyKeeper {
  private buffer = EMPTY;
  private length = 0;

  constructor(private readonly maxBytes: number) {}

  /**
   * Copies what still fits and returns the number of bytes that did not. The copy frees the larger buffer that the
   * socket was read into.
   */
  add(chunk: Buffer): number {
    const taken = Math.min(chunk.length, this.maxBytes - this.length);
    if (taken > 0) {
      const needed = this.length + taken;
      if (needed > this.buffer.length) {
        const grown = Buffer.allocUnsafe(Math.min(this.maxBytes, Math.max(needed, this.buffer.length * 2)));
        this.buffer.copy(grown, 0, 0, this.length);
        this.buffer = grown;
      }
      chunk.copy(this.buffer, this.length, 0, taken);
      this.length = needed;
    }
    return chunk.length - taken;
  }

  /** Returns the bytes kept. */
  body(): Buffer {
    return this.buffer.length === this.length ? this.buffer : this.buffer.subarray(0, this.length);
  }
}
