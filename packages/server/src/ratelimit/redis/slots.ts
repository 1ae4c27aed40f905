/** Slots of a Redis Cluster, by its specification: the slot of a tag, and the master that owns it. */
const slotCount = 16_384

/** CRC-16 (XMODEM) of an ASCII tag, modulo the number of slots. */
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
 * Reads the master of each slot from the answer to `CLUSTER SLOTS`.
 * @param asked the place of the node that answered. A master without a name has the same host.
 */
export function ownersOf(table: unknown, asked: string): Owners {
  const owners: Owners = new Array(slotCount).fill(undefined)
  for (const [from, to, [host, port]] of table as SlotRange[])
    owners.fill(placeFrom(host, port, asked), from, to + 1)
  return owners
}

type SlotRange = [from: number, to: number, master: [host: string | null, port: number]]

export type Redirection = { kind: 'MOVED' | 'ASK'; place: string } | { kind: 'TRYAGAIN'; place: string }

/** Reads the error by which a server redirects a command that it did not run. */
export function redirectionOf(error: unknown, asked: string): Redirection | null {
  const [kind, , target = ''] = (error instanceof Error ? error.message : '').split(' ')
  if (kind === 'TRYAGAIN') return { kind, place: asked }
  if (kind !== 'MOVED' && kind !== 'ASK') return null
  const cut = target.lastIndexOf(':')
  return { kind, place: placeFrom(target.slice(0, cut), Number(target.slice(cut + 1)), asked) }
}

const placeFrom = (host: string | null, port: number, asked: string): string =>
  `${host || asked.slice(0, asked.lastIndexOf(':'))}:${port}`
