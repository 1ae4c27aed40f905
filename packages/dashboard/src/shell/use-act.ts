import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { shellRoute } from './shell-route.tsx'

/**
 * What the page shall open a dialog for. `?act=…` opens it, and leaves the address at once.
 */
export function useAct<Act extends string>(): readonly [Act | null, (act: Act | null) => void] {
  const { act } = shellRoute.useSearch()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Act | null>(null)
  useEffect(() => {
    if (act === undefined) return
    setOpen(act as Act)
    const search = (now: object) => ({ ...now, act: undefined })
    void navigate({ to: '.', search, replace: true, resetScroll: false })
  }, [act, navigate])
  return [open, setOpen]
}
