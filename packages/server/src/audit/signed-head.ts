import { serviceSecret } from '../platform/db/sealed/service-secret.ts'
import type { SealedStore } from '../platform/db/sealed/store.ts'
import { checkpointKeyOf, writeCheckpoint, writeVerifierKey } from './checkpoint.ts'
import type { DeriveChain, VerifyChain } from './verify.ts'

/** Signs heads of chains with a key of the service, which every process has. */
export interface SignHeads {
  /** The key that verifies the notes: name, id and key, in the form of C2SP. */
  verifierKey(): Promise<string>
  /** Verifies a chain and returns its head as a signed note; an invalid chain is not signed. */
  verifyChain: VerifyChain
}

/** @param publicUrl names the key: an old note is verified with the key that was published under this name. */
export function createSignHeads(
  store: SealedStore,
  publicUrl: string,
  randomBytes: (size: number) => Buffer,
  deriveChain: DeriveChain,
): SignHeads {
  // A name has no `+`, which separates the name of a key from its id.
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
    async verifyChain(workspaceId, watch) {
      const chain = await deriveChain(workspaceId, watch)
      const { valid, head_seq: seq, head_hash: hash } = chain
      if (!valid || seq === null || hash === null) return { ...chain, checkpoint: null }
      const head = { seq, hash: Buffer.from(hash, 'hex') }
      return { ...chain, checkpoint: writeCheckpoint(name, await seed(), workspaceId, head) }
    },
  }
}
