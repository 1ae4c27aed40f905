import type { Member } from '@keyrail/contract/vendor/members'
import type { Descendants } from '@keyrail/contract/vendor/secret-keys'

export const personOf = ({ name, email }: Pick<Member, 'name' | 'email'>): string => name ?? email

/** What a person leaves behind: secret keys that they made, which still work. */
export interface Leftover {
  readonly of: string
  readonly keys: Descendants
}
