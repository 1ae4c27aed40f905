import { type MouseEvent, useRef } from 'react'
import classes from './row-boxes.module.css'
import type { Selection } from './selection.ts'

interface BoxProps {
  readonly label: string
  readonly isChecked: boolean
  /** Some of what the box stands for is selected. */
  readonly isPart?: boolean
  readonly onClick: (isChecked: boolean, withShift: boolean) => void
}

/** The label is as large as a finger needs. */
const Box = ({ label, isChecked, isPart = false, onClick }: BoxProps) => (
  <label className={classes.place}>
    <input
      type="checkbox"
      className={classes.box}
      aria-label={label}
      checked={isChecked}
      ref={box => {
        if (box !== null) box.indeterminate = isPart && !isChecked
      }}
      // A change has no shift key; React wants a handler beside `checked`.
      onChange={() => {}}
      onClick={(event: MouseEvent<HTMLInputElement>) => onClick(event.currentTarget.checked, event.shiftKey)}
    />
  </label>
)

/**
 * The boxes with which a person selects rows. With Shift, a click on a box selects all rows from the last one that was
 * clicked; by keyboard, Space does what a click does.
 */
export function useRowBoxes(ids: readonly string[], selection: Selection | undefined) {
  const last = useRef<string | null>(null)
  if (selection === undefined) return null
  const chosen = ids.filter(id => selection.ids.has(id))
  const click = (id: string) => (isChecked: boolean, withShift: boolean) => {
    const [from, to] = [ids.indexOf(last.current ?? ''), ids.indexOf(id)]
    const some = withShift && from !== -1 ? ids.slice(Math.min(from, to), Math.max(from, to) + 1) : [id]
    selection.choose(some, isChecked)
    last.current = id
  }
  return {
    head: (
      <Box
        label="Select all rows"
        isChecked={ids.length > 0 && chosen.length === ids.length}
        isPart={chosen.length > 0}
        onClick={isChecked => selection.choose(ids, isChecked)}
      />
    ),
    row: (id: string, name: string) => (
      <Box label={`Select ${name}`} isChecked={selection.ids.has(id)} onClick={click(id)} />
    ),
  }
}
