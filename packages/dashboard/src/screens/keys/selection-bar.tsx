import { type ComponentProps, lazy, Suspense, useState } from 'react'

const SelectedKeys = lazy(async () => ({ default: (await import('./selected-keys.tsx')).SelectedKeys }))

/** Loads what can be done with selected keys when a person selects the first. */
export function SelectionBar(props: ComponentProps<typeof SelectedKeys>) {
  // What a person does with rows goes on when the rows are no longer selected.
  const [hasSelected, setSelected] = useState(false)
  if (props.selection.ids.size > 0 && !hasSelected) setSelected(true)
  if (!hasSelected) return null
  return (
    <Suspense fallback={null}>
      <SelectedKeys key={props.selection.list} {...props} />
    </Suspense>
  )
}
