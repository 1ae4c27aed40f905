import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { shellRoute } from './shell-route.tsx'

/**
 * Whether the dialog that creates something is open. `?create=open` opens it, and leaves the address at once.
 *
 * @param isAllowed whether the role of the person allows it
 */
export function useCreating(isAllowed: boolean): readonly [boolean, (isOpen: boolean) => void] {
  const { create } = shellRoute.useSearch()
  const navigate = useNavigate()
  const [isCreating, setCreating] = useState(false)
  useEffect(() => {
    if (create === undefined) return
    setCreating(true)
    const search = (now: object) => ({ ...now, create: undefined })
    void navigate({ to: '.', search, replace: true, resetScroll: false })
  }, [create, navigate])
  return [isCreating && isAllowed, setCreating]
}
