/**
 * The token of a mailed link. It is in the fragment, which browsers do not send to servers, and leaves the address bar and
 * the history before anything else happens. From then on only the memory of this page has it.
 */
export const linkToken: string | null = takeToken()

/** The page that the link opened. */
const linkPage = location.pathname

function takeToken(): string | null {
  if (!location.hash.includes('token=')) return null
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  history.replaceState(null, '', location.pathname + location.search)
  return token === '' ? null : token
}

/** Puts the token back before a reload of a page that could not show its screen, and so has not used it. */
export function keepLinkToken(): void {
  if (linkToken === null || location.pathname !== linkPage) return
  history.replaceState(null, '', `${linkPage}${location.search}#${new URLSearchParams({ token: linkToken })}`)
}

// Opening another link in this tab changes only the fragment, so start again.
addEventListener('hashchange', () => {
  if (location.hash.includes('token=')) location.reload()
})
