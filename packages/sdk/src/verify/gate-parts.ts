import type { Shadow } from './shadow.ts'
import type { Refused, Verdict } from './verdict.ts'
import type { Requirements, Verify } from './verify.ts'

/** The vendor's own check of keys that a keyring does not know. */
export interface AsksVendor {
  /** @param refusal the verdict of the keyring: `unknown_key` or `malformed_key` */
  ask(key: string, requirements: Requirements, refusal: Refused): Promise<Verdict>
}

/** What a keyring has for gates, beside its verdicts. */
interface GateParts {
  /** With it a gate refuses nothing. */
  shadow?: Shadow | undefined
  unknownKeys?: AsksVendor | undefined
}

/** The field of a `verify` with the parts for gates. */
const parts = Symbol('keyrail:gate-parts')
interface Marked {
  readonly [parts]?: { readonly verify: Verify; readonly given: GateParts }
}

/** Lets gates find the parts. @returns the same function */
export const withGateParts = (verify: Verify, given: GateParts): Verify =>
  Object.defineProperty(verify, parts, { value: { verify, given } })

const none: GateParts = Object.freeze({})

/** None if `verify` is a function of the caller, or a proxy of the caller, which must not be bypassed. */
export function gatePartsOf(verify: Verify & Marked): GateParts {
  const found = verify[parts]
  return found?.verify === verify ? found.given : none
}
