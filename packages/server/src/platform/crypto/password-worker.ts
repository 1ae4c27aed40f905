import { hashSync, verifySync } from '@node-rs/argon2'
import { lowerPriority } from '../concurrency/lower-priority.ts'

/**
 * The thread that hashes passwords: a flood of sign-ins may delay persons, but not a vendor's customers.
 */
const refusal = lowerPriority()

/** The error with which the system refused the priority; null: the priority is set. */
export const priorityRefusal = (): string | null => refusal

/** argon2id with the parameters of OWASP's Password Storage Cheat Sheet: 19 MiB (in KiB), two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hash = ({ password, salt }: { password: string; salt: Uint8Array }): string =>
  hashSync(password, { ...cost, salt })

/**
 * @returns null if the stored value is not a hash. The library's error stays here, because it might quote the
 * value.
 */
export function verify({ phc, password }: { phc: string; password: string }): boolean | null {
  try {
    return verifySync(phc, password)
  } catch {
    return null
  }
}
