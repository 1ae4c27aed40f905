/** Slots of a Redis Cluster, as its specification has them: which one a tag has, and who owns it. */
const slotCount = 16_384

/** CRC-16 (XMODEM) of a tag, which is ASCII, by the number of slots. */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++) {
    crc ^= tag.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc % slotCount
}

/** The place of each slot's master, by slot. */
export type Owners = (string | undefined)[]

/**
 * The master of each slot, from the answer to `CLUSTER SLOTS`.
 * @param asked the place of the node that gave it; a master without a name is found where that one is.
 */
export function ownersOf(table: unknown, asked: string): Owners {
  const owners: Owners = new Array(slotCount).fill(undefined)
  for (const [from, to, [host, port]] of table as SlotRange[])
    owners.fill(placeFrom(host, port, asked), from, to + 1)
  return owners
}

type SlotRange = [from: number, to: number, master: [host: string | null, port: number]]

export type Redirection = { kind: 'MOVED' | 'ASK'; place: string } | { kind: 'TRYAGAIN'; place: string }

/** Where an error sends what was not run there. */
export function redirectionOf(error: unknown, asked: string): Redirection | null {
  const [kind, , target = ''] = (error instanceof Error ? error.message : '').split(' ')
  if (kind === 'TRYAGAIN') return { kind, place: asked }
  if (kind !== 'MOVED' && kind !== 'ASK') return null
  const cut = target.lastIndexOf(':')
  return { kind, place: placeFrom(target.slice(0, cut), Number(target.slice(cut + 1)), asked) }
}

const placeFrom = (host: string | null, port: number, asked: string): string =>
  `${host || asked.slice(0, asked.lastIndexOf(':'))}:${port}`
