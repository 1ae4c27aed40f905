import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { explainKeyText } from '../../api/keys.ts'
import { textOf } from '../../components/trouble.tsx'

/** Opens the page of a key by the key itself, which goes to the service in a body. `fault`: why it could not. */
export function useWholeKey() {
  const navigate = useNavigate()
  const [fault, setFault] = useState<string | null>(null)
  /** @returns whether the page opens */
  async function open(key: string): Promise<boolean> {
    setFault(null)
    try {
      const { key: found, reasons } = await explainKeyText({ body: { key } })
      if (found === null) {
        setFault(reasons.find(({ applies }) => applies)?.detail ?? 'No such key is in the workspace.')
        return false
      }
      const search = { env: found.env === 'test' ? ('test' as const) : undefined }
      void navigate({ to: '/keys/$keyId', params: { keyId: found.id }, search })
      return true
    } catch (error) {
      const isMember = error instanceof ApiError && error.code === 'forbidden'
      if (isMember) setFault('Only admins and owners can find a key by the whole of it.')
      else setFault(textOf(error))
      return false
    }
  }
  return { open, fault, setFault }
}

export const partOfKey =
  'This is more of a key than is stored as text. Paste the whole key, or its first four characters.'
