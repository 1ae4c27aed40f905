import type { SealedStore } from '../platform/db/sealed-store.ts'
import { serviceSecret } from '../platform/db/service-secret.ts'
import { checkpointKeyOf, writeCheckpoint, writeVerifierKey } from './checkpoint.ts'
import type { DeriveChain, VerifyChain } from './verify.ts'

/** Signs heads of chains with a key of the service's own, the same in every process. */
export interface SignHeads {
  /** What verifies the notes: name, id and key, as C2SP writes them. */
  verifierKey(): Promise<string>
  /** A chain that holds, with its head as a signed note; one that does not is not signed. */
  verifyChain: VerifyChain
}

/** @param publicUrl whose host and path name the key: an old note is verified with the key that was published then. */
export function createSignHeads(
  store: SealedStore,
  publicUrl: string,
  randomBytes: (size: number) => Buffer,
  deriveChain: DeriveChain,
): SignHeads {
  // No `+` in a name: it parts a key's name from its id.
  const name = `${publicUrl.replace(/^https?:\/\//, '').replaceAll('+', '%2B')}/audit`
  let known: Promise<Buffer> | null = null
  const seed = () => {
    known ??= serviceSecret(store, 'audit_checkpoint', randomBytes).catch(error => {
      known = null
      throw error
    })
    return known
  }
  return {
    verifierKey: async () => writeVerifierKey(checkpointKeyOf(name, await seed())),
    async verifyChain(workspaceId) {
      const chain = await deriveChain(workspaceId)
      const { valid, head_seq: seq, head_hash: hash } = chain
      if (!valid || seq === null || hash === null) return { ...chain, checkpoint: null }
      const head = { seq, hash: Buffer.from(hash, 'hex') }
      return { ...chain, checkpoint: writeCheckpoint(name, await seed(), workspaceId, head) }
    },
  }
}
