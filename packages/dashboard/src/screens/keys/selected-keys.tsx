import type { Env } from '@keyrail/contract/shared'
import type { BulkAction, KeyFilter } from '@keyrail/contract/vendor/bulk'
import type { Key } from '@keyrail/contract/vendor/keys'
import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { countKeys } from '../../api/keys.ts'
import { counted, figure } from '../../components/figures.ts'
import { type Many, ManyDialog } from '../../components/many-dialog.tsx'
import { manyWords } from '../../components/many-words.ts'
import type { Selection } from '../../components/selection.ts'
import { shownWorkspaceId } from '../../session/workspace.ts'
import type { KeyFilters } from './key-filters.ts'
import { stateOf } from './key-words.ts'
import classes from './selected-keys.module.css'

/** How many rows one call takes. */
const rowsMax = 200

/** What can be done to all keys that the filters match: the service's own filter says the same. */
function actionsOfAll({ q, status, hygiene }: KeyFilters): readonly BulkAction[] {
  if (q !== undefined) return []
  // Of keys to look after none is paused.
  if (hygiene !== undefined) return ['disable', 'revoke']
  if (status === undefined) return ['disable', 'enable', 'revoke']
  return status === 'active' ? ['disable'] : status === 'disabled' ? ['enable'] : []
}

const doesSomething: Readonly<Record<BulkAction, (key: Key) => boolean>> = {
  disable: key => ['Active', 'Expires soon'].includes(stateOf(key)),
  enable: key => stateOf(key) === 'Paused',
  revoke: key => key.revoked_at === null,
}

interface SelectedKeysProps {
  readonly selection: Selection
  readonly rows: readonly Key[]
  readonly filters: KeyFilters
  readonly env: Env
}

/** What a person can do with the rows that are selected, or with all keys that the filters match. */
export function SelectedKeys({ selection, rows, filters, env }: SelectedKeysProps) {
  /** How many rows were selected when a person chose all that match. */
  const [allOf, setAllOf] = useState(-1)
  const [asked, setAsked] = useState<{ readonly action: BulkAction; readonly of: Many } | null>(null)
  const [isOpen, setOpen] = useState(false)
  const chosen = rows.filter(key => selection.ids.has(key.id))
  const ofAll = actionsOfAll(filters)
  const filter: KeyFilter = {
    env,
    ...(filters.project !== undefined && { project_id: filters.project }),
    ...(filters.tenant !== undefined && { tenant_id: filters.tenant }),
    ...(filters.hygiene !== undefined && { hygiene: filters.hygiene }),
  }
  const [counting] = ofAll.toReversed()
  const all = useQuery({
    queryKey: ['keys', 'count', shownWorkspaceId(), counting, { filter }],
    queryFn: ({ signal }) => countKeys({ body: { action: counting ?? 'revoke', filter } }, { signal }),
    enabled: chosen.length > 0 && counting !== undefined,
  })
  const count = all.data?.count ?? 0
  // Whoever takes a row out again no longer means all, nor whoever then chooses another one.
  if (allOf !== -1 && allOf !== chosen.length) setAllOf(-1)
  const isWhole = allOf === chosen.length && ofAll.length > 0
  const manyOf = (action: BulkAction): Many | null => {
    if (isWhole) return ofAll.includes(action) ? { filter } : null
    const ids = chosen.filter(doesSomething[action]).map(key => key.id)
    return ids.length === 0 || ids.length > rowsMax ? null : { ids }
  }
  const clear = () => {
    setAllOf(-1)
    selection.clear()
  }
  /** The boxes of the rows that are here say so too. */
  const chooseAll = () => {
    selection.choose(
      rows.map(key => key.id),
      true,
    )
    setAllOf(rows.length)
  }
  const ask = (action: BulkAction) => {
    const of = manyOf(action)
    if (of === null) return
    setAsked({ action, of })
    setOpen(true)
  }
  return (
    <>
      {chosen.length === 0 ? null : (
        <section className={classes.bar} aria-label="Selected keys">
          <p aria-live="polite">
            {isWhole ? `All ${counted(count, 'key')} that match` : `${figure(chosen.length)} selected`}
          </p>
          {!isWhole && count > chosen.length ? (
            <Button variant="subtle" size="compact-sm" onClick={chooseAll}>
              Select all {figure(count)} that match
            </Button>
          ) : null}
          {chosen.length > rowsMax && !isWhole ? <p>At most {rowsMax} rows change at once.</p> : null}
          <Group gap="xs" className={classes.acts}>
            {(['disable', 'enable', 'revoke'] as const).map(action => (
              <Button
                key={action}
                size="xs"
                disabled={manyOf(action) === null}
                onClick={() => ask(action)}
                {...(action === 'revoke' ? { variant: 'outline', color: 'red' } : { variant: 'default' })}
              >
                {manyWords[action].verb}
              </Button>
            ))}
            <Button variant="subtle" size="xs" onClick={clear}>
              Clear
            </Button>
          </Group>
        </section>
      )}
      {asked === null ? null : (
        <ManyDialog
          {...asked}
          where="that match"
          isOpen={isOpen}
          onClose={() => setOpen(false)}
          onChanged={clear}
        />
      )}
    </>
  )
}
