import type { Key } from '@keyrail/contract/vendor/keys'
import type { Project } from '@keyrail/contract/vendor/projects'
import type { Fact } from '../../components/facts.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { exactTime } from '../../components/time.ts'

const dayMs = 86_400_000

/** When a key ends by its own time, and from when on servers refuse it as too old, by the rule of its project. */
export function endsOf(key: Key, project: Project | undefined): Fact[] {
  const { expires_at, created_at } = key
  const expiry: Fact = {
    label: 'Expires',
    value: expires_at === null ? 'Never' : <Time at={expires_at} />,
  }
  const { max_key_lifetime_days: days, lifetime } = project ?? {}
  if (typeof days !== 'number' || lifetime !== 'refuse') return [expiry]
  const oldAt = Date.parse(created_at) + days * dayMs
  if (expires_at !== null && Date.parse(expires_at) <= oldAt) return [expiry]
  return [expiry, { label: 'Too old', value: <Time at={new Date(oldAt).toISOString()} /> }]
}

const Time = ({ at }: { readonly at: string }) => (
  <>
    <RelativeTime at={at} />, on {exactTime(at)}
  </>
)
