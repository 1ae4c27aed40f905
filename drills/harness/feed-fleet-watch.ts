import type { Fleet, FleetNode } from './feed-fleet.ts'

const everyMs = 10
/** Between reading a node's age and reading the clock. */
const readingMs = 1

/** A key that was revoked, by the clock of `performance.now()`. */
interface RevokedKey {
  key: string
  /** When the service had answered that it is revoked. */
  acknowledgedAt: number
}

export interface FleetWatch {
  /** Verifications so far. */
  readonly verified: number
  /** Refused as `stale`, and rightly. */
  readonly stale: number
  /** What contradicts the promise, a line each. */
  readonly broken: readonly string[]
  /** A key that every node must let pass for as long as what it knows is fresh. */
  sound(key: string): void
  /** A key that no node may let pass once it has heard of the service after the revocation. */
  revoked(name: string, key: RevokedKey): void
  /** When a node first refused a revoked key, in ms after the acknowledgement; below 0 before it. */
  refusedAfterMs(node: FleetNode, name: string): number | undefined
  /** How old what it knew was when a node was last seen to let the sound key pass, at most, in ms; 0 before. */
  oldestServedMs(node: FleetNode): number
  stop(): void
}

/**
 * Verifies keys on every node, again and again, and judges each verdict by what the node itself may know: when it
 * last heard of the service, and how old that may become. No rule of it depends on how busy the machine is.
 */
export function watchFleet({ nodes }: Pick<Fleet, 'nodes'>): FleetWatch {
  const broken: string[] = []
  const revoked = new Map<string, RevokedKey>()
  const refused = new Map<string, number>()
  const oldest = new Map<string, number>()
  let soundKey: string | undefined
  let verified = 0
  let stale = 0

  /** The verdict, with how old the node's knowledge was at least and at most when it fell. */
  const verify = ({ keyring }: FleetNode, key: string) => {
    const least = keyring.stats().confirmedAgeMs ?? Number.POSITIVE_INFINITY
    const { code } = keyring.verify(key)
    const most = keyring.stats().confirmedAgeMs ?? Number.POSITIVE_INFINITY
    verified += 1
    if (code === 'stale') stale += 1
    return { code, least, most }
  }

  const judgeSound = (node: FleetNode, key: string) => {
    const { code, least, most } = verify(node, key)
    if (code === 'valid') oldest.set(node.name, Math.max(oldest.get(node.name) ?? 0, least))
    const isRight = code === 'valid' ? least < node.cachedTtlMs : code === 'stale' && most >= node.cachedTtlMs
    if (!isRight)
      broken.push(`${node.name} judges a sound key ${code}, ${Math.round(least)} ms after it heard`)
  }

  const judgeRevoked = (node: FleetNode, name: string, { key, acknowledgedAt }: RevokedKey) => {
    const { code, least, most } = verify(node, key)
    const now = performance.now()
    const at = `${node.name} ${name}`
    if (code === 'valid') {
      if (refused.has(at)) broken.push(`${at}: let pass again after it was refused`)
      if (now - most - readingMs > acknowledgedAt)
        broken.push(`${at}: let pass after a poll since the revocation`)
      if (least >= node.cachedTtlMs) broken.push(`${at}: let pass ${Math.round(least)} ms after it heard`)
    } else if (code === 'revoked_key') {
      if (!refused.has(at)) refused.set(at, now - acknowledgedAt)
    } else if (code !== 'stale' || most < node.cachedTtlMs) {
      broken.push(`${at}: judged ${code}, ${Math.round(most)} ms after it heard`)
    }
  }

  const sample = () => {
    for (const node of nodes) {
      if (soundKey !== undefined) judgeSound(node, soundKey)
      for (const [name, key] of revoked) judgeRevoked(node, name, key)
    }
  }
  const timer = setInterval(sample, everyMs)

  return {
    get verified() {
      return verified
    },
    get stale() {
      return stale
    },
    broken,
    sound(key) {
      soundKey = key
    },
    revoked(name, key) {
      revoked.set(name, key)
      sample()
    },
    refusedAfterMs: (node, name) => refused.get(`${node.name} ${name}`),
    oldestServedMs: node => oldest.get(node.name) ?? 0,
    stop: () => clearInterval(timer),
  }
}
