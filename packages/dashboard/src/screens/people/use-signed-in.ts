import type { Me } from '@keyrail/contract/people'
import { useEffect, useState } from 'react'
import { getMe } from '../../api/people.ts'
import { currentToken, onToken } from '../../session/token.ts'

/**
 * The signed-in person of this browser, where a mailed link opens. A session that has ended counts as none: the link may
 * be for another person, and then nothing may ask for a sign-in as the last one. So does one that another tab has replaced:
 * the page would act as another person than it shows.
 *
 * @returns the person, and a function that shows the forms in place of the person
 */
export function useSignedIn(): [me: Me | null, forgetMe: () => void] {
  const [me, setMe] = useState<Me | null>(null)
  useEffect(() => {
    const token = currentToken()
    const show = (found: Me) => void (currentToken() === token && setMe(found))
    if (token !== null) getMe({}, { isSilent: true }).then(show, () => {})
    return onToken(() => setMe(null))
  }, [])
  return [me, () => setMe(null)]
}
