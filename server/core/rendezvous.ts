/** Chooses one member for a name, so that everybody chooses the same, and a member that comes or goes moves only its own names. */

/** The member with the greatest hash together with the name; null if there are none. */
export function homeAmong(name: string, members: readonly string[]): string | null {
  const hashed = hashOf(name);
  let home: string | null = null;
  let most = -1;
  for (const member of members) {
    const weight = mix(hashed ^ hashOf(member));
    if (weight < most || (weight === most && home !== null && home < member)) continue;
    home = member;
    most = weight;
  }
  return home;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a of the UTF-16 code units, in 32 bits without a sign. */
export function hashOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return hash >>> 0;
}

/** The finalizer of MurmurHash3: each bit of the input changes half of the output. */
function mix(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
