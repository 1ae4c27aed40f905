import { Input, SegmentedControl, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { NetworksDraft } from '../../components/networks-draft.ts'
import { faultOfRanges } from '../../components/ranges.ts'
import { RangesField } from '../../components/ranges-field.tsx'
import { relativeTime } from '../../components/time.ts'
import classes from './limits-choice.module.css'

interface NetworksChoiceProps {
  readonly value: NetworksDraft
  readonly onChange: (next: NetworksDraft) => void
  readonly error?: ReactNode
  /** What the key inherits; undefined while it is not known. */
  readonly inherited: readonly string[] | undefined
  /** When the key was last used; null: never, or it is new. */
  readonly lastUsedAt: string | null
}

const dayMs = 86_400_000

/** From where a key may be used: what its tenant allows, anywhere, or from its own networks. */
export function NetworksChoice({ value, onChange, error, inherited, lastUsedAt }: NetworksChoiceProps) {
  const { kind, ranges } = value
  return (
    <Input.Wrapper label="Works from" labelElement="div">
      <Stack gap="xs">
        <SegmentedControl
          aria-label="Works from"
          value={kind}
          onChange={next => onChange({ ...value, kind: next as NetworksDraft['kind'] })}
          data={[
            { value: 'inherit', label: 'Tenant’s' },
            { value: 'any', label: 'Anywhere' },
            { value: 'own', label: 'Own' },
          ]}
        />
        {kind === 'inherit' ? <p className={classes.words}>{sayInherited(inherited)}</p> : null}
        {kind === 'any' ? (
          <p className={classes.words}>The key works from every address, whatever its tenant allows.</p>
        ) : null}
        {kind === 'own' ? (
          <>
            <RangesField
              label="Own networks"
              description="Addresses or ranges of the servers that use the key. Enter adds one."
              value={ranges}
              onChange={next => onChange({ kind, ranges: next, fault: faultOfRanges(next) })}
              error={error}
              data-path="allowed_cidrs"
            />
            <InUse at={lastUsedAt} />
          </>
        ) : null}
      </Stack>
    </Input.Wrapper>
  )
}

/** The service does not learn from where a key is used, so a person has to know. */
function InUse({ at }: { readonly at: string | null }) {
  if (at === null || Date.parse(at) < Date.now() - dayMs) return null
  return (
    <Text size="sm" role="status">
      This key was used {relativeTime(at, Date.now())}, and Keyrail does not learn from which address. Once
      you save, nodes refuse it from every other address with 403 within seconds.
    </Text>
  )
}

function sayInherited(inherited: readonly string[] | undefined): string {
  if (inherited === undefined) return 'The key works from the networks of its tenant.'
  if (inherited.length === 0) return 'Its tenant allows every address.'
  return `Its tenant allows ${inherited.join(', ')}.`
}
