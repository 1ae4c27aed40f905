import type { Fleet, FleetNode } from './feed-fleet.ts'

const everyMs = 10
/** Between reading a node's age and reading the clock. */
const readingMs = 1

/** A revoked key, on the clock of `performance.now()`. */
interface RevokedKey {
  key: string
  /** When the service had answered the revocation. */
  acknowledgedAt: number
}

export interface FleetWatch {
  /** Verifications so far. */
  readonly verified: number
  /** Correctly refused as `stale`. */
  readonly stale: number
  /** What contradicts the promise, a line each. */
  readonly broken: readonly string[]
  /** A key that every node must accept while its policy is fresh. */
  sound(key: string): void
  /** A key that no node may accept once it has got an answer of the service after the revocation. */
  revoked(name: string, key: RevokedKey): void
  /** When a node first refused a revoked key, in ms after the acknowledgement; below 0 before it. */
  refusedAfterMs(node: FleetNode, name: string): number | undefined
  /** The greatest age of a node's policy, in ms, at which it still accepted the sound key; 0 before. */
  oldestServedMs(node: FleetNode): number
  stop(): void
}

/**
 * Verifies keys on every node, again and again, and judges each verdict by what the node can know: when it last got an
 * answer from the service, and how old its policy may become. No rule depends on the load of the machine.
 */
export function watchFleet({ nodes }: Pick<Fleet, 'nodes'>): FleetWatch {
  const broken: string[] = []
  const revoked = new Map<string, RevokedKey>()
  const refused = new Map<string, number>()
  const oldest = new Map<string, number>()
  let soundKey: string | undefined
  let verified = 0
  let stale = 0

  /** The verdict, with the least and greatest age of the node's policy at that moment. */
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
      broken.push(`${node.name} judges a sound key ${code}, ${Math.round(least)} ms after its last answer`)
  }

  const judgeRevoked = (node: FleetNode, name: string, { key, acknowledgedAt }: RevokedKey) => {
    const { code, least, most } = verify(node, key)
    const now = performance.now()
    const at = `${node.name} ${name}`
    if (code === 'valid') {
      if (refused.has(at)) broken.push(`${at}: accepted again after it was refused`)
      if (now - most - readingMs > acknowledgedAt)
        broken.push(`${at}: accepted after a poll since the revocation`)
      if (least >= node.cachedTtlMs)
        broken.push(`${at}: accepted ${Math.round(least)} ms after its last answer`)
    } else if (code === 'revoked_key') {
      if (!refused.has(at)) refused.set(at, now - acknowledgedAt)
    } else if (code !== 'stale' || most < node.cachedTtlMs) {
      broken.push(`${at}: judged ${code}, ${Math.round(most)} ms after its last answer`)
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
