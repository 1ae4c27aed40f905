import type { Link } from './redis-link.ts'

/** How full the fullest server is. */
export interface RedisMemory {
  /** `maxmemory` in bytes; null: it has none. */
  readonly most: number | null
  /** The part of it that is used; null: it has none. */
  readonly usedPart: number | null
}

/** Asks every server. */
export async function readMemory(link: Pick<Link, 'masters'>): Promise<RedisMemory> {
  const nodes = await link.masters()
  const texts = await Promise.all(nodes.map(node => node.ask('INFO', 'memory')))
  let fullest: RedisMemory = { most: null, usedPart: null }
  for (const text of texts) {
    const most = numberOf(String(text), 'maxmemory')
    if (most === 0) continue
    const usedPart = numberOf(String(text), 'used_memory') / most
    if (fullest.usedPart === null || usedPart > fullest.usedPart) fullest = { most, usedPart }
  }
  return fullest
}

const numberOf = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
