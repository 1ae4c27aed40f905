import { useState } from 'react'

/** The state of an action that a form or a button began. */
export interface Sending {
  readonly isBusy: boolean
  /** The failure that no field shows; null if there is none. */
  readonly trouble: unknown
}

/**
 * Runs one action at a time. While one runs, another call does nothing.
 *
 * @param onFailure takes what the action threw and returns what remains to be shown; null if it has shown all of it
 */
export function useSending(
  onFailure: (error: unknown) => unknown = error => error,
): [Sending, (action: () => Promise<void>) => Promise<void>] {
  const [isBusy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState<unknown>(null)
  const send = async (action: () => Promise<void>) => {
    if (isBusy) return
    setBusy(true)
    setTrouble(null)
    try {
      await action()
    } catch (error) {
      setTrouble(onFailure(error))
    } finally {
      setBusy(false)
    }
  }
  return [{ isBusy, trouble }, send]
}
