import type { CommonNeeds } from '../gate/common-needs.ts'
import type { Endings } from './endings.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface SecretKeyNeeds extends CommonNeeds {
  readonly config: { readonly maxActiveSecretKeys: number }
  /** Ends what revoked keys have made. */
  readonly endings: Pick<Endings, 'follow'>
}
