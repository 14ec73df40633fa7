// Addresses and networks in settings.

/**
 * Returns whether a text is an IP address, or a network such as 10.0.0.0/8. `familyOf` returns 4 or 6 for an address, 0
 * for anything else.
 */
export function isAddressOrNetwork(text: string, familyOf: (address: string) => number): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
