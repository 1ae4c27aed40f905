/**
 * The token of the link that led here. It comes behind the `#`, which no browser sends to a server, and leaves the
 * address bar and the history before anything else happens. From now on it is in this page's memory alone.
 *
 * @type {string | null}
 */
export const linkToken = takeToken()

function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  history.replaceState(null, '', location.pathname)
  return token === '' ? null : token
}

// Another link opened in this very tab changes nothing but what stands behind the `#`: it begins anew.
addEventListener('hashchange', () => {
  if (location.hash !== '') location.reload()
})
