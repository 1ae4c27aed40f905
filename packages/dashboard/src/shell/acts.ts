import type { Key } from '@keyrail/contract/vendor/keys'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { changesOf } from '../screens/keys/key-changes.ts'

/** What the palette offers to do with one thing. The page of the thing asks before it does so. */
export interface Act {
  /** In the address of the page, as `act`. */
  readonly act: string
  /** Before the name of the thing. */
  readonly label: string
  /** Other words for it. */
  readonly also: readonly string[]
}

const rotate = { act: 'rotate', label: 'Rotate', also: ['renew', 'replace'] } as const
const pause = { act: 'pause', label: 'Pause', also: ['disable', 'stop', 'suspend'] } as const
const resume = { act: 'resume', label: 'Resume', also: ['enable', 'unpause'] } as const
const revoke = { act: 'revoke', label: 'Revoke', also: ['delete', 'remove', 'end'] } as const
const edit = { act: 'edit', label: 'Edit', also: ['rename', 'change'] } as const
const endSessions = {
  act: 'end-sessions',
  label: 'End embed sessions of',
  also: ['sessions', 'sign'],
} as const

const suspend = { act: 'suspend', label: 'Suspend', also: ['pause', 'disable', 'block'] } as const
const resumeTenant = { act: 'resume-tenant', label: 'Resume', also: ['enable', 'unblock'] } as const

export const keyActs = [edit, rotate, pause, resume, revoke] as const
export const tenantActs = [suspend, resumeTenant, endSessions] as const
export type TenantAct = (typeof tenantActs)[number]['act']
/** What `act` in an address may say. */
export const acts: readonly string[] = [...keyActs, ...tenantActs].map(({ act }) => act)

/** What can be done with a key in its state. A key that was rotated is left to its page, which knows its successor. */
export const actsOnKey = (key: Key): readonly Act[] => {
  const changes = changesOf(key, key.rotated_to !== null)
  return keyActs.filter(({ act }) => changes.includes(act))
}

/** Another release of the service may not know suspensions. */
export const actsOnTenant = ({ suspended_at }: Tenant): readonly Act[] => [
  suspended_at ? resumeTenant : suspend,
  endSessions,
]

/** A text that asks to do something: "revoke billing". */
export interface Asked {
  readonly isAsked: (act: Act) => boolean
  /** What the thing is called; empty while it is not typed yet. */
  readonly name: string
}

/** As many letters begin a word for sure. */
const lettersMin = 3

/** @returns null where the text begins with no word for an act. */
export function readAsked(text: string): Asked | null {
  const [first = '', ...rest] = text.trimStart().toLowerCase().split(/\s+/)
  if (first.length < lettersMin || rest.length === 0) return null
  const isAsked = ({ label, also }: Act) =>
    [...label.toLowerCase().split(' ').slice(0, 1), ...also].some(word => word.startsWith(first))
  if (![...keyActs, ...tenantActs].some(isAsked)) return null
  return { isAsked, name: text.trim().split(/\s+/).slice(1).join(' ') }
}
