import type { RateLimit } from '@keyrail/contract/shared'
import { Input, SegmentedControl, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { newDraft } from '../../components/limit-draft.ts'
import { LimitsEditor } from '../../components/limits-editor.tsx'
import { limitInWords } from '../../components/limits-in-words.ts'
import classes from './limits-choice.module.css'
import type { LimitsDraft } from './limits-value.ts'

interface LimitsChoiceProps {
  readonly value: LimitsDraft
  readonly onChange: (next: LimitsDraft) => void
  readonly error?: ReactNode
  /** What the key inherits; undefined while it is not known. */
  readonly inherited: readonly RateLimit[] | undefined
}

/** The limits of a key: those of its project, none, or its own, each in words. */
export function LimitsChoice({ value, onChange, error, inherited }: LimitsChoiceProps) {
  const { kind, rules } = value
  const choose = (next: string) =>
    onChange({
      kind: next as LimitsDraft['kind'],
      rules: next === 'own' && rules.length === 0 ? [newDraft([])] : rules,
    })
  return (
    <Input.Wrapper label="Limits" labelElement="div">
      <Stack gap="xs">
        <SegmentedControl
          aria-label="Limits"
          value={kind}
          onChange={choose}
          data={[
            { value: 'inherit', label: 'Project’s' },
            { value: 'none', label: 'None' },
            { value: 'own', label: 'Own' },
          ]}
        />
        {kind === 'inherit' ? <Inherited limits={inherited} /> : null}
        {kind === 'none' ? <p className={classes.words}>The key is never limited.</p> : null}
        {kind === 'own' ? (
          <LimitsEditor
            label="Own limits"
            value={rules}
            onChange={next => onChange({ kind, rules: next })}
            error={error}
          />
        ) : null}
      </Stack>
    </Input.Wrapper>
  )
}

function Inherited({ limits }: { readonly limits: readonly RateLimit[] | undefined }) {
  if (limits === undefined) return <p className={classes.words}>The key has the limits of its project.</p>
  if (limits.length === 0) return <p className={classes.words}>Its project sets no limits.</p>
  return (
    <ul className={classes.words}>
      {limits.map(rule => (
        <li key={rule.id}>{limitInWords(rule)}</li>
      ))}
    </ul>
  )
}
