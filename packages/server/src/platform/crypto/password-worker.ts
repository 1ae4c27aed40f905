import { getPriority, setPriority } from 'node:os'
import { hashSync, verifySync } from '@node-rs/argon2'

/**
 * The thread in which passwords are hashed, far behind those that answer requests: a flood of sign-ins may keep
 * people waiting, but not a vendor's customers. In nice levels; 10 behind, it leaves nine tenths of a core to others.
 */
const niceness = 10

// On Linux this is the calling thread's priority; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, Math.min(19, getPriority() + niceness))

/** argon2id as OWASP's Password Storage Cheat Sheet has it: 19 MiB (in KiB), two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hash = ({ password, salt }: { password: string; salt: Uint8Array }): string =>
  hashSync(password, { ...cost, salt })

/** @returns null when what is stored is no hash at all. The library's error is left here, for it might quote. */
export function verify({ phc, password }: { phc: string; password: string }): boolean | null {
  try {
    return verifySync(phc, password)
  } catch {
    return null
  }
}
