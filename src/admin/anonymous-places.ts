// Bounds connections that have not said yet who they are: so many for a network, so many in all. A new one always gets its place, since it may be
// an administrator's whose hello follows; the oldest one of whoever has most makes room for it.

export interface AnonymousLimits {
  readonly max: number;
  readonly perNetworkMax: number;
}

/** The place of one connection until it is known, or gone. */
export interface AnonymousPlace {
  /** Called when the place is taken away; ends the connection. */
  onEvicted: () => void;
  /** Gives the place back; may be called more than once. */
  release(): void;
}

export class AnonymousPlaces {
  readonly #limits: AnonymousLimits;
  /** By network; each set is in the order of its arrivals. */
  readonly #networks = new Map<string, Set<AnonymousPlace>>();
  #count = 0;

  constructor(limits: AnonymousLimits) {
    this.#limits = limits;
  }

  /** Takes a place for a connection from this address (null: it is not known), and evicts another one where there is none left. */
  take(address: string | null, onEvicted: () => void): AnonymousPlace {
    const network = address === null ? '' : networkOf(address);
    const { max, perNetworkMax } = this.#limits;
    if ((this.#networks.get(network)?.size ?? 0) >= perNetworkMax) this.#evictFrom(network);
    else if (this.#count >= max) this.#evictFrom(this.#largestNetwork());
    const place: AnonymousPlace = { onEvicted, release: () => this.#release(network, place) };
    const places = this.#networks.get(network) ?? new Set();
    this.#networks.set(network, places.add(place));
    this.#count += 1;
    return place;
  }

  #release(network: string, place: AnonymousPlace): void {
    const places = this.#networks.get(network);
    if (places?.delete(place) !== true) return;
    this.#count -= 1;
    if (places.size === 0) this.#networks.delete(network);
  }

  #evictFrom(network: string): void {
    const [oldest] = this.#networks.get(network) ?? [];
    oldest?.release();
    oldest?.onEvicted();
  }

  #largestNetwork(): string {
    let largest = '';
    let most = 0;
    for (const [network, { size }] of this.#networks) {
      if (size > most) [largest, most] = [network, size];
    }
    return largest;
  }
}

/** An IPv4 address itself; the first 64 bits of an IPv6 address, of which a single customer has all the rest. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(Math.max(0, zeros)).fill('0'), ...groups(tail ?? '')];
  return all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
