// Limits connections that are not authenticated yet: per network and in total. A new one is always admitted, since it
// may be an administrator's whose hello follows; the oldest one of the network with the most connections is evicted for
// it.

export interface AnonymousLimits {
  readonly max: number;
  readonly perNetworkMax: number;
}

/** The entry of one connection until it is authenticated or closed. */
export interface AnonymousPlace {
  /** Called when the connection is evicted; closes it. */
  onEvicted: () => void;
  /** Removes the entry; may be called more than once. */
  release(): void;
}

export class AnonymousPlaces {
  readonly #limits: AnonymousLimits;
  /** By network; each set is in order of arrival. */
  readonly #networks = new Map<string, Set<AnonymousPlace>>();
  #count = 0;

  constructor(limits: AnonymousLimits) {
    this.#limits = limits;
  }

  /** Adds a connection from this address (null: unknown), and evicts another one when the limit is reached. */
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

/**
 * Returns the network of an address: an IPv4 address itself; the first 64 bits of an IPv6 address, since one customer
 * has all the rest.
 */
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
