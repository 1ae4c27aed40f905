import { useCallback, useState } from 'react'

/** The rows of a list that a person has selected. */
export interface Selection {
  /** Names the list, with its filters. */
  readonly list: string
  readonly ids: ReadonlySet<string>
  readonly choose: (ids: readonly string[], isChosen: boolean) => void
  readonly clear: () => void
}

const none: ReadonlySet<string> = new Set()

/** @param list names what is listed, with its filters: another list begins without a selection */
export function useSelection(list: string): Selection {
  const [{ of, ids }, setChosen] = useState({ of: list, ids: none })
  const current = of === list ? ids : none
  const choose = useCallback(
    (some: readonly string[], isChosen: boolean) =>
      setChosen(before => {
        const next = new Set(before.of === list ? before.ids : none)
        for (const id of some) {
          if (isChosen) next.add(id)
          else next.delete(id)
        }
        return { of: list, ids: next }
      }),
    [list],
  )
  const clear = useCallback(() => setChosen({ of: list, ids: none }), [list])
  return { list, ids: current, choose, clear }
}
