import { TextInput, VisuallyHidden } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { Spotlight } from '@mantine/spotlight'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { palette, paletteStore } from '../components/palette-store.ts'
import { textOf } from '../components/trouble.tsx'
import { SearchIcon } from '../icons.tsx'
import { partOfKey, useWholeKey } from '../screens/keys/use-whole-key.ts'
import { mayBeSecret, wholeKeyIn } from '../screens/keys/whole-key.ts'
import { type Entry, type EntryGroup, useOwnEntries } from './own-entries.ts'
import classes from './palette.module.css'
import { useFound } from './use-found.ts'

/**
 * Finds keys, tenants, projects and people, places and actions: ⌘K, or Ctrl+K. The list is our own, because screen readers
 * do not hear which action Mantine's has chosen.
 */
export function Palette() {
  const toggle = () => {
    // Another dialog may show a secret, or what a person has typed.
    const isOther = document.querySelector(`[role="dialog"]:not([aria-label="${label}"])`) !== null
    if (!isOther) palette.toggle()
  }
  useHotkeys([['mod+K', toggle]], [])
  return (
    <Spotlight.Root
      store={paletteStore}
      shortcut={null}
      centered={false}
      attributes={{ content: { 'aria-label': label } }}
    >
      <Finder />
    </Spotlight.Root>
  )
}

const label = 'Find'
const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

function Finder() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const own = useOwnEntries(text)
  const found = useFound(text)
  const whole = useWholeKey()
  const id = useId()
  // What the service finds comes last, so that an answer moves nothing that the person is about to choose.
  const groups = [...own, ...found.groups].filter(({ entries }) => entries.length > 0)
  const entries = groups.flatMap(group => group.entries)
  const at = Math.min(chosen, entries.length - 1)
  const idOf = (entry: Entry | undefined) =>
    entry === undefined ? undefined : `${id}-${entries.indexOf(entry)}`
  const type = (typed: string) => {
    const key = wholeKeyIn(typed)
    setText(key === null ? typed : '')
    setChosen(0)
    whole.setFault(null)
    if (key !== null) void whole.open(key).then(opens => opens && palette.close())
  }
  const choose = ({ run, fills }: Entry) => {
    if (fills !== undefined) return type(fills)
    palette.close()
    run()
  }
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const entry = entries[at]
    const step = steps[event.key]
    if (step !== undefined) setChosen((at + step + entries.length) % Math.max(entries.length, 1))
    else if (event.key === 'Enter' && entry !== undefined) choose(entry)
    else return
    event.preventDefault()
  }
  const fault = whole.fault ?? (mayBeSecret(text) ? partOfKey : null)
  const status = found.isSearching ? 'Searching' : entries.length === 0 ? 'Nothing found' : null
  return (
    <>
      <TextInput
        data-autofocus
        role="combobox"
        aria-label={label}
        aria-expanded
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={idOf(entries[at])}
        className={classes.field}
        variant="unstyled"
        size="md"
        leftSection={<SearchIcon />}
        placeholder="Find a key, tenant, project, person or action"
        autoComplete="off"
        spellCheck={false}
        maxLength={512}
        value={text}
        error={fault}
        onChange={event => type(event.currentTarget.value)}
        onKeyDown={press}
      />
      <Options
        id={id}
        groups={groups}
        idOf={idOf}
        chosen={entries[at]}
        onPoint={entry => setChosen(entries.indexOf(entry))}
        onChoose={choose}
      />
      {found.error === null ? null : (
        <p className={classes.title} role="alert">
          {textOf(found.error)}
        </p>
      )}
      <div role="status">
        {status === null ? (
          <VisuallyHidden>{entries.length} found</VisuallyHidden>
        ) : (
          <p className={classes.title}>{status}</p>
        )}
      </div>
    </>
  )
}

interface OptionsProps {
  readonly id: string
  readonly groups: readonly EntryGroup[]
  readonly idOf: (entry: Entry) => string | undefined
  readonly chosen: Entry | undefined
  readonly onPoint: (entry: Entry) => void
  readonly onChoose: (entry: Entry) => void
}

function Options({ id, groups, idOf, chosen, onPoint, onChoose }: OptionsProps) {
  return (
    <div id={id} role="listbox" aria-label="Found" className={classes.list}>
      {groups.map(({ title, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no group of a listbox.
        <div key={title} role="group" aria-label={title}>
          <div className={classes.title} aria-hidden="true">
            {title}
          </div>
          {entries.map(entry => (
            <Option
              key={entry.id}
              id={idOf(entry)}
              entry={entry}
              isChosen={entry === chosen}
              onPoint={() => onPoint(entry)}
              onChoose={() => onChoose(entry)}
            />
          ))}
        </div>
      ))}
    </div>
  )
}

interface OptionProps {
  readonly id: string | undefined
  readonly entry: Entry
  readonly isChosen: boolean
  readonly onPoint: () => void
  readonly onChoose: () => void
}

function Option({ id, entry: { label, note, Icon }, isChosen, onPoint, onChoose }: OptionProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its keys choose.
    <div
      ref={element}
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      className={classes.option}
      onMouseMove={isChosen ? undefined : onPoint}
      // The focus stays in the field.
      onMouseDown={event => event.preventDefault()}
      onClick={onChoose}
    >
      <Icon />
      <span>{label}</span> <span className={classes.note}>{note}</span>
    </div>
  )
}
