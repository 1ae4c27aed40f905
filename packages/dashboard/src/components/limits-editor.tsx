import type { RateLimit } from '@keyrail/contract/shared'
import { Button, NativeSelect, TextInput } from '@mantine/core'
import { type ReactNode, useId } from 'react'
import { PlusIcon } from '../icons.tsx'
import { faultsOf, type LimitDraft, limitsMax, newDraft, ruleOf } from './limit-draft.ts'
import classes from './limits-editor.module.css'
import { limitInWords, windowUnits } from './limits-in-words.ts'

interface LimitsEditorProps {
  readonly label: string
  readonly value?: readonly LimitDraft[]
  readonly onChange: (drafts: LimitDraft[]) => void
  /** The fault that a form found. The fields are marked too. */
  readonly error?: ReactNode
  /** From `getInputProps`: a form finds the field by it. */
  readonly 'data-path'?: string
}

/** The choices, in the words of the form. A further algorithm or scope of the contract does not compile without its words. */
const choicesOf = <Value extends string>(words: Record<Value, string>) =>
  Object.entries<string>(words).map(([value, label]) => ({ value: value as Value, label }))
const algorithms = choicesOf<RateLimit['algorithm']>({ sliding: 'sliding', fixed: 'fixed' })
const scopes = choicesOf<RateLimit['scope']>({ key: 'per key', tenant: 'per tenant' })

/**
 * Edits rate limits, each of which also stands in words. In a controlled form:
 * `<LimitsEditor label="Limits" {...form.getInputProps('rate_limits')} />`.
 */
export function LimitsEditor({ label, value = [], onChange, error, 'data-path': path }: LimitsEditorProps) {
  const id = useId()
  const isMarked = error !== undefined && error !== null && error !== false
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset inside of a fieldset repeats its name for every field.
    <div role="group" aria-labelledby={id} className={classes.editor} tabIndex={-1} data-path={path}>
      <span id={id} className={classes.label}>
        {label}
      </span>
      {value.length === 0 ? <p className={classes.none}>No limits.</p> : null}
      {value.map(draft => (
        <Rule
          key={draft.key}
          draft={draft}
          all={value}
          isMarked={isMarked}
          onChange={next => onChange(value.map(one => (one.key === draft.key ? next : one)))}
          onRemove={() => onChange(value.filter(one => one.key !== draft.key))}
        />
      ))}
      {isMarked ? (
        <p className={classes.error} role="alert">
          {error}
        </p>
      ) : null}
      {value.length >= limitsMax ? (
        <p className={classes.none}>{limitsMax} limits are the most.</p>
      ) : (
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<PlusIcon size={14} />}
            onClick={() => onChange([...value, newDraft(value)])}
          >
            Add limit
          </Button>
        </div>
      )}
    </div>
  )
}

interface RuleProps {
  readonly draft: LimitDraft
  readonly all: readonly LimitDraft[]
  readonly isMarked: boolean
  readonly onChange: (draft: LimitDraft) => void
  readonly onRemove: () => void
}

function Rule({ draft, all, isMarked, onChange, onRemove }: RuleProps) {
  const rule = ruleOf(draft, all)
  const faults = isMarked ? faultsOf(draft, all) : {}
  return (
    <fieldset className={classes.rule}>
      <legend className={classes.words}>{rule === null ? 'An incomplete limit' : limitInWords(rule)}</legend>
      <div className={classes.fields}>
        <TextInput
          label="Requests"
          inputMode="numeric"
          value={draft.limit}
          error={faults.limit}
          onChange={event => onChange({ ...draft, limit: event.currentTarget.value })}
        />
        <TextInput
          label="Every"
          inputMode="decimal"
          value={draft.amount}
          error={faults.amount}
          onChange={event => onChange({ ...draft, amount: event.currentTarget.value })}
        />
        <NativeSelect
          label="Unit"
          value={draft.unit}
          data={windowUnits.map(({ name }) => ({ value: name, label: `${name}s` })).toReversed()}
          onChange={event => {
            const unit = windowUnits.find(({ name }) => name === event.currentTarget.value)
            if (unit !== undefined) onChange({ ...draft, unit: unit.name })
          }}
        />
        <NativeSelect
          label="Window"
          value={draft.algorithm}
          data={algorithms}
          onChange={event => {
            const chosen = algorithms.find(({ value }) => value === event.currentTarget.value)
            if (chosen !== undefined) onChange({ ...draft, algorithm: chosen.value })
          }}
        />
        <NativeSelect
          label="Counted"
          value={draft.scope}
          data={scopes}
          onChange={event => {
            const chosen = scopes.find(({ value }) => value === event.currentTarget.value)
            if (chosen !== undefined) onChange({ ...draft, scope: chosen.value })
          }}
        />
        <TextInput
          label="Limit name"
          value={draft.id}
          error={faults.id}
          autoCapitalize="none"
          spellCheck={false}
          onChange={event => onChange({ ...draft, id: event.currentTarget.value })}
        />
      </div>
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        aria-label={`Remove the limit ${draft.id}`}
        onClick={onRemove}
      >
        Remove
      </Button>
    </fieldset>
  )
}
